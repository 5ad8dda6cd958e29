"""Final outputs of both graphs: an answer, an error or a clarifying question."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.answers.description import description_of
from agent.answers.filters import condition_words
from agent.answers.formats import answer_table, format_single
from agent.answers.sentences import sentence_of
from agent.answers.text import markdown_table, without_tables
from agent.charts.echarts import chart_of
from agent.charts.wording import requested_form
from agent.core.failure import error_info, full_text
from agent.errors import CannotAnswer, InvalidOutputType
from agent.messages import Language, language_of, render
from agent.record.step import note
from agent.run_events import LOGGED_ANSWER
from agent.sql.column_statistics import is_statistics
from agent.state import AnalystState, State
from agent.types import (
    AnswerChart,
    AnswerTable,
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
    max_rows: int,
    requested: OutputType | None,
    proposed: OutputType | None = None,
    sql: str,
    summary: QuerySummary,
    charts: Sequence[AnswerChart] = (),
    narrated: Callable[[], str | None] | None = None,
    has_text: bool = False,
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the output for `results`, which maps table names to results, the main result first.

    The text is a sentence built from the main result and from `summary`, the summary of its statement `sql`, and a
    Markdown table unless the output is a number or a text. For more than `max_rows` rows, for an output that is to be a
    text, and for a question that asks to describe several values, the text is that of `narrated`, unless it returns
    None; with `has_text`, always. Statistics of data are described in words without the model; `names` has the words
    for their tables.
    `requested` is the output type the user asked for, and `proposed` the one that the model of the statement returned.
    `charts` are existing charts; without them a chart is derived from the main result. The output contains values of
    secret columns; the model's prompt and the text under `LOGGED_ANSWER`, for the record and the thread, do not.

    Raises:
        InvalidOutputType: the main result cannot have the requested output type.
    """
    language = language_of(question)
    main = next(iter(results.values()))
    tables = [answer_table(name, result) for name, result in results.items()]
    chart = charts[0] if charts else chart_of(main, question, keys=summary["keys"])
    output_type = choose_output_type(question, main, requested, chart, proposed)
    if is_statistics(main):
        text = logged = description_of(results.values(), names or {}, language)
    else:
        in_words = requested == "string" or _ASKS_FOR_WORDS.search(question) is not None
        has_values = len(main["rows"]) > 1 or (len(main["rows"]) == 1 and len(main["columns"]) > 1)
        narration = None
        if narrated and (has_text or len(main["rows"]) > max_rows or (in_words and has_values)):
            narration = narrated()
        if narration and output_type == "string":
            narration = without_tables(narration)
        if narration:
            text = logged = narration
        else:
            form = _Form(question, summary, output_type, language, max_rows)
            text = logged = form.text(main)
            if main.get("secret"):
                logged = form.text(masked(main))
    notice = _truncation_notice(len(main["rows"]), language) if main["truncated"] else ""
    text, logged = f"{text}{notice}", f"{logged}{notice}"
    return {
        "answer": text,
        LOGGED_ANSWER: logged,
        "output_type": output_type,
        "value": value_of(output_type, main, text, tables[0], chart),
        "sql": sql,
        "tables": tables,
        "charts": list(charts) or ([chart] if chart and output_type == "plot" else []),
        "definitions": [],
        "filters": condition_words(summary["conditions"], language),
        "checked": False,
        "chosen": False,
        "verified": None,
        "clarification": None,
        "error": None,
    }


@dataclass(frozen=True)
class _Form:
    """The form of the text of an answer."""

    question: str
    summary: QuerySummary
    output_type: OutputType
    language: Language
    max_rows: int

    def text(self, result: Result) -> str:
        """Return the sentence about `result`, followed by a table unless the output has none."""
        is_text = self.output_type == "string"
        sentence = sentence_of(self.question, result, self.summary, self.language, complete=is_text)
        if is_text:
            count = format_single(len(result["rows"]), self.language)
            sentence = sentence or render("row_count", self.language, count=count)
        if not result["rows"] or (sentence and (_is_single_value(result) or is_text)):
            return sentence
        table = markdown_table(result, self.language, self.max_rows)
        return f"{sentence}\n\n{table}" if sentence else table


def _truncation_notice(count: int, language: Language) -> str:
    """Return a paragraph that says how many rows of a truncated result were read; it also becomes a note."""
    notice = render("truncated", language, count=count)
    note(notice)
    return f"\n\n{notice}"


def failure_output(failure: dict[str, Any], state: State) -> dict[str, Any]:
    """Return the output for `failure`: the error message, and the statement and its rows if there are any.

    If the failed run was to answer a clarifying question, that question is open again.
    """
    language = language_of(str(state.get("question") or ""))
    error = error_info(failure, language)
    # Rows without a statement belong to the previous answer.
    result = state.get("result") if state.get("sql_request") else None
    table = result and answer_table("result", result)
    return {
        "failure": failure,
        "answer": full_text(failure, language) if failure["code"] in _WITH_REASON else error["message"],
        "output_type": None,
        "value": None,
        "sql": state.get("sql_request") or None,
        "tables": [table] if table else [],
        "charts": [],
        "confidence": None,
        "status": "error",
        "definitions": [],
        "filters": [],
        "checked": False,
        "chosen": False,
        "verified": None,
        "clarification": None,
        "error": error,
        **_reopened_clarification(state),
    }


def _reopened_clarification(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the clarification state as it was before a run that carried an answer or feedback; {} for other runs."""
    inputs = state.get("given") or {}
    is_reply = inputs.get("clarification_answer") is not None or inputs.get("feedback") is not None
    if not is_reply or not inputs.get("clarification"):
        return {}
    return {name: inputs[name] for name in _CLARIFICATION_KEYS if name in inputs}


def clarification_output(clarification: ClarifyingQuestion) -> dict[str, Any]:
    """Return the output that asks the user: the question and its options as text, and as `clarification`."""
    return {
        "answer": question_text(clarification),
        "output_type": None,
        "value": None,
        "sql": None,
        "tables": [],
        "charts": [],
        "confidence": None,
        "status": "clarification",
        "definitions": [],
        "filters": [],
        "checked": False,
        "chosen": False,
        "verified": None,
        "clarification": clarification,
        "error": None,
    }


def statement_output(sql: str, language: Language) -> dict[str, Any]:
    """Return the output for a statement that was written and checked, but not executed."""
    return {**text_output(render("not_executed", language)), "output_type": None, "value": None, "sql": sql}


def text_output(text: str) -> dict[str, Any]:
    """Return the output for a text without data."""
    return {
        "answer": text,
        "output_type": "string",
        "value": text,
        "sql": None,
        "tables": [],
        "charts": [],
        "confidence": None,
        "status": "ok",
        "definitions": [],
        "filters": [],
        "checked": False,
        "chosen": False,
        "verified": None,
        "clarification": None,
        "error": None,
    }


def analysis_failure_output(failure: dict[str, Any], state: AnalystState) -> dict[str, Any]:
    """Return the analyst's output for `failure`: the error message, and the results and charts computed so far.

    If the data cannot answer the question, the answer is the reason.
    """
    error = error_info(failure, language_of(str(state.get("question") or "")))
    reason = failure["facts"]["reason"] if failure["code"] == CannotAnswer.code else ""
    answer = reason or error["message"]
    output = {**_partial_output(state), "failure": failure, "answer": answer, "clarification": None, "error": error}
    output["status"] = "error"
    return {**output, **_reopened_clarification(state)}


def analysis_clarification_output(clarification: ClarifyingQuestion, state: AnalystState) -> dict[str, Any]:
    """Return the analyst's output that asks the user, with the results and charts computed so far."""
    text = question_text(clarification)
    partial = _partial_output(state)
    return {**partial, "answer": text, "status": "clarification", "clarification": clarification, "error": None}


def _partial_output(state: AnalystState) -> dict[str, Any]:
    results = state.get("results") or {}
    return {
        "output_type": None,
        "value": None,
        "sql": list(results.values())[-1]["sql"] if results else None,
        "tables": [answer_table(name, item["result"]) for name, item in results.items()],
        "charts": [drawing["chart"] for drawing in state.get("drawn") or ()],
        "confidence": None,
        "definitions": [],
        "filters": [],
        "checked": False,
        "chosen": False,
        "verified": None,
    }


def question_text(clarification: ClarifyingQuestion) -> str:
    """Return the question and its options, numbered from 1, in the language of the user's question."""
    language = language_of(clarification["about"])
    options = enumerate(clarification["options"], 1)
    lines = [f"{number}. {option_text(option, clarification)}" for number, option in options]
    return "\n".join([clarification["question"], *lines, f"({render('own_words', language)})"])


def option_text(option: Option, clarification: ClarifyingQuestion) -> str:
    """Return the label of `option` with a preview of its result, if known: row count and first value, or no rows."""
    language, preview = language_of(clarification["about"]), option["preview"]
    if preview is None:
        return option["label"]
    if preview["rows"] == 0:
        return f"{option['label']} ({render('preview_nothing', language)})"
    count = f"{format_single(preview['rows'], language)}{'+' if preview['more'] else ''}"
    if preview["first"] is None:
        return f"{option['label']} ({render('preview_rows', language, count=count)})"
    first = format_single(preview["first"], language)
    return f"{option['label']} ({render('preview_first', language, count=count, first=first)})"


_ASKS_FOR_WORDS = re.compile(
    r"\b(?:describe|explain|why|summari[sz]e|summary|in words)\b|"
    r"(?<!\w)(?:опиши|опишите|объясни\w*|поясни\w*|почему|расскажи\w*|словами|"
    r"beschreib\w*|erklär\w*|erläuter\w*|warum|weshalb|wieso|in worten|zusammenfassung)(?!\w)|"
    r"描述|解释|说明|为什么|为何|总结|概述",
    re.IGNORECASE,
)
_ASKS_WHO = re.compile(
    r"^\W*(?:(?:and|to|with|for|by|from) )?(?:who|whom|whose)\b"
    r"|^\W*(?:(?:а|и|с|у|от) )?(?:кто|кого|кому|кем|ком|чей|чья|чь[её]|чьи)\b|"
    r"^\W*(?:(?:und|mit|für|von) )?(?:wer|wen|wem|wessen)\b|谁|哪位|哪些人",
    re.IGNORECASE,
)
"""Questions for persons, which are answered by their names."""
_MAX_TEXT_ROWS = 20
_REQUIREMENTS: dict[OutputType | None, str] = {
    "number": "the answer has to be one number: one row with one column of numbers",
    "plot": "the answer has to be a chart: two rows at least, and a column of numbers",
}
"""Requirement of each output type on a result, as the model reads it; the other types accept any result."""

_NUMERIC = {"integer", "float", "decimal"}


def output_type_problem(question: str, result: Result, requested: OutputType | None) -> str | None:
    """Return a message for the model if `result` cannot be returned as `requested`; None if it can.

    Always None for `string`, `dataframe` and None, which accept any result.
    """
    if requested not in _REQUIREMENTS or requested in _possible_types(result, chart_of(result, question)):
        return None
    return f"it ran, but {_REQUIREMENTS[requested]}, and the result is {_shape(result)}"


def choose_output_type(
    question: str,
    result: Result,
    requested: OutputType | None,
    chart: AnswerChart | None,
    proposed: OutputType | None = None,
) -> OutputType:
    """Return `requested` if set; else `proposed`, the type that a model returned, if the rows allow it.

    Otherwise the type is `plot` if the question asks for a chart and there is one, and else the natural type. That of
    statistics of data, and of few rows that answer a question for persons, is a text.

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
    form = requested_form(question)
    if chart and form == "chart":
        return "plot"
    asks_who = form in {None, "chart"} and _ASKS_WHO.search(question) and 0 < len(result["rows"]) <= _MAX_TEXT_ROWS
    natural = _natural_type(result)
    return "string" if is_statistics(result) or (asks_who and natural == "dataframe") else natural


def value_of(output_type: OutputType, result: Result, text: str, table: AnswerTable, chart: AnswerChart | None) -> Any:
    """Return the value of the answer: the number, the text, the table or the chart."""
    if output_type in {"number", "string"}:
        value = result["rows"][0][0] if _is_single_value(result) else text
        return text if output_type == "string" and isinstance(value, int | float) else value
    return chart if output_type == "plot" else table


def _possible_types(result: Result, chart: AnswerChart | None) -> set[OutputType]:
    types: set[OutputType] = {"string", "dataframe", _natural_type(result)}
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
