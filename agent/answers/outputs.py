"""Final outputs of both graphs: an answer, an error or a clarifying question."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from datasphinx.agent.answers.answer import Answer
from datasphinx.agent.answers.markdown import SHORT_TABLE_ROWS, markdown_table, row_count, without_tables
from datasphinx.agent.charts.cells import axis_title
from datasphinx.agent.charts.echarts import asked_chart, chart_of
from datasphinx.agent.core.failure import error_info, full_text
from datasphinx.agent.errors import InvalidOutputType
from datasphinx.agent.formatting.filters import short_words
from datasphinx.agent.formatting.formats import (
    ColumnFormat,
    answer_table,
    format_rows,
    format_single,
    format_value,
    formats_of,
)
from datasphinx.agent.messages import CONVENTIONS, Language, language_in, render
from datasphinx.agent.record.step import note
from datasphinx.agent.types import (
    AnswerChart,
    AnswerTable,
    ChartForm,
    ClarifyingQuestion,
    Option,
    OutputType,
    QuerySummary,
    Result,
    masked,
)

_WITH_REASON = ("sql_not_generated", "off_topic")
_CLARIFICATION_KEYS = ("clarification", "clarifications", "clarification_count", "rejected_sql", "readings")


def compose_answer(
    question: str,
    results: Mapping[str, Result],
    *,
    language: Language,
    requested: OutputType | None,
    proposed: OutputType | None = None,
    sql: str,
    summary: QuerySummary,
    worded: Callable[[Result], str] = lambda result: "",
    charts: Sequence[AnswerChart] = (),
    chart_form: ChartForm | None = None,
    narrated: Callable[[], str | None] | None = None,
    has_text: bool = False,
) -> Answer:
    """Return the answer for `results`, which maps table names to results, the main result first.

    The text is that of `worded` for the main result, followed by a Markdown table unless the output is a number or a
    text. If it is empty, several values that are to be a text have the text of `narrated`, and others the plain form:
    the value with the name of its column, the rows as a table, or as lines below the names of the columns. With
    `has_text`, the text is that of `narrated` unless it returns None.
    `requested` is the output type the user asked for, and `proposed` the one that the model of the statement returned.
    `charts` are existing charts; without them the chart is that of `chart_form`, or derived from the main result. The
    answer contains values of secret columns; the model's prompt and `logged_answer` do not.

    Raises:
        InvalidOutputType: the main result cannot have the requested output type.
    """
    main = next(iter(results.values()))
    tables = [answer_table(name, result) for name, result in results.items()]
    proposed_chart = asked_chart(main, question, chart_form or {}, summary["keys"], language)
    chart = charts[0] if charts else proposed_chart or chart_of(main, question, chart_form, summary["keys"], language)
    output_type = choose_output_type(main, requested, chart, proposed)
    sentence, written = worded(main), ""
    if narrated and (
        has_text or (not sentence and output_type == "string" and main["rows"] and not _is_single_value(main))
    ):
        found = narrated()
        written = without_tables(found) if found and output_type == "string" else found or ""
    if output_type == "string" and not (requested or written or sentence or _is_single_value(main)):
        # A model has proposed a text, and none has been written: the values are rows.
        output_type = _natural_type(main)
    text = logged = written or _form_text(main, sentence, output_type, language)
    if main.get("secret") and not written:
        logged = _form_text(masked(main), worded(masked(main)), output_type, language)
    shown = charts or [one for one in [proposed_chart or (output_type == "plot" and chart)] if one]
    answer = Answer(
        text,
        language,
        logged,
        output_type=output_type,
        value=value_of(output_type, main, text, tables[0], chart),
        sql=sql,
        tables=tables,
        charts=list(shown),
        filters=short_words(summary["conditions"], language, has_more=summary["more_conditions"]),
    )
    if main["truncated"]:
        notice = render("truncated", language, count=len(main["rows"]))
        note(notice)
        answer.add(notice)
    return answer


def _form_text(result: Result, sentence: str, output_type: OutputType, language: Language) -> str:
    """Return `sentence` with the table of `result` unless the output has none; without one, the plain form."""
    if not result["rows"]:
        return sentence or render("no_rows", language)
    if sentence and (_is_single_value(result) or output_type == "string"):
        return sentence
    if _is_single_value(result):
        return _value_text(result, language)
    if output_type == "string":
        comma, count = CONVENTIONS[language].comma, len(result["rows"])
        names = [axis_title(name, language) for name in result["columns"]]
        lines = [comma.join(row) for row in [names, *format_rows(result, language, SHORT_TABLE_ROWS)]]
        more = [row_count(SHORT_TABLE_ROWS, count, language)] if count > SHORT_TABLE_ROWS else []
        return "\n".join([*lines, *more])
    table = markdown_table(result, language)
    return f"{sentence}\n\n{table}" if sentence else table


def _value_text(result: Result, language: Language) -> str:
    (name,), (value,) = result["columns"], result["rows"][0]
    label = axis_title(name, language)
    if value is None:
        return render("answer_field", language, label=label, value=render("answer_no_value", language))
    shown = format_value(value, formats_of(result)[0], language)
    # The database names a column without an alias by its expression.
    is_expression = re.search(r"\W", name.replace(" ", "")) is not None
    return shown if is_expression else render("answer_field", language, label=label, value=shown)


def failure_text(failure: dict[str, Any], language: Language) -> str:
    """Return the text of the answer for `failure`; a reason of the model stands alone."""
    if failure["code"] == "off_topic" and "reason" not in failure.get("messages", {}):
        return str(failure["facts"]["reason"])
    return full_text(failure, language) if failure["code"] in _WITH_REASON else error_info(failure, language)["message"]


def reopened_clarification(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the clarification of the state as it was before a run whose `inputs` answered it; {} for other runs."""
    is_reply = inputs.get("clarification_answer") is not None or inputs.get("feedback") is not None
    if not is_reply or not inputs.get("clarification"):
        return {}
    return {name: inputs[name] for name in _CLARIFICATION_KEYS if name in inputs}


def clarification_answer(clarification: ClarifyingQuestion) -> Answer:
    """Return the answer that asks the user: the question and its options as text, and as `clarification`."""
    text, language = question_text(clarification), language_in(clarification)
    return Answer(text, language, status="clarification", clarification=clarification)


def text_answer(text: str, language: Language) -> Answer:
    """Return the answer for a text without data."""
    return Answer(text, language, output_type="string", value=text)


def question_text(clarification: ClarifyingQuestion) -> str:
    """Return the question and its options, numbered from 1, in the language of the user's question."""
    language = language_in(clarification)
    options = enumerate(clarification["options"], 1)
    lines = [f"{number}. {option_text(option, clarification)}" for number, option in options]
    return "\n".join([clarification["question"], *lines, f"({render('own_words', language)})"])


def option_text(option: Option, clarification: ClarifyingQuestion) -> str:
    """Return the label of `option` with a preview of its result, if known: its row count, or the value of one row."""
    language, preview = language_in(clarification), option["preview"]
    if preview is None:
        return option["label"]
    if preview["rows"] == 0:
        return f"{option['label']} ({render('preview_nothing', language)})"
    if preview["rows"] == 1 and preview["first"] is not None:
        shown = format_value(preview["first"], ColumnFormat(**preview.get("format", {})), language)
        return f"{option['label']} ({shown})"
    count = f"{format_single(preview['rows'], language)}{'+' if preview['more'] else ''}"
    return f"{option['label']} ({render('preview_rows', language, count=count)})"


_REQUIREMENTS: dict[OutputType | None, str] = {
    "number": "the answer has to be one number: one row with one column of numbers",
    "plot": "the answer has to be a chart: two rows at least, and a column of numbers",
}
"""Requirement of each output type on a result, as the model reads it; the other types accept any result."""

_NUMERIC = {"integer", "float", "decimal"}


def output_type_problem(result: Result, requested: OutputType | None) -> str | None:
    """Return a message for the model if `result` cannot be returned as `requested`; None if it can.

    Always None for `string`, `dataframe` and None, which accept any result.
    """
    if requested not in _REQUIREMENTS or requested in _possible_types(result, chart_of(result, "")):
        return None
    return f"it ran, but {_REQUIREMENTS[requested]}, and the result is {_shape(result)}"


def choose_output_type(
    result: Result,
    requested: OutputType | None,
    chart: AnswerChart | None,
    proposed: OutputType | None = None,
) -> OutputType:
    """Return `requested` if set; else `proposed`, the type that a model returned, if the rows allow it.

    Otherwise it is the natural type.

    Raises:
        InvalidOutputType: the result cannot have the requested type.
    """
    possible = _possible_types(result, chart)
    if requested and requested not in possible:
        raise InvalidOutputType(requested, _shape(result))
    if requested:
        return requested
    if proposed in possible:
        return proposed
    return _natural_type(result)


def value_of(output_type: OutputType, result: Result, text: str, table: AnswerTable, chart: AnswerChart | None) -> Any:
    """Return the value of the answer: the number, the text, the table or the chart."""
    if output_type in {"number", "string"}:
        value = result["rows"][0][0] if _is_single_value(result) else text
        return text if output_type == "string" and isinstance(value, int | float) else value
    return chart if output_type == "plot" else table


def _possible_types(result: Result, chart: AnswerChart | None) -> set[OutputType]:
    types: set[OutputType] = {"string", "dataframe", _natural_type(result)}
    if _is_single_value(result) and result["rows"][0][0] is None:
        # The sum or average of no rows.
        types.add("number")
    return types | {"plot"} if chart else types


def _natural_type(result: Result) -> OutputType:
    if not _is_single_value(result):
        return "dataframe"
    value, kind = result["rows"][0][0], result["types"][0]
    # A number that a double cannot represent exactly is returned as text.
    return "number" if value is not None and kind in _NUMERIC else "string"


def _is_single_value(result: Result) -> bool:
    return len(result["rows"]) == 1 and len(result["columns"]) == 1


def _shape(result: Result) -> str:
    columns = ", ".join(f"{name} ({kind})" for name, kind in zip(result["columns"], result["types"], strict=True))
    return f"{len(result['rows'])} x [{columns}]"
