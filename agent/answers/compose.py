"""The answer to a question that was computed: its form, its words, its value. Both graphs end here."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent.answers.form import choose_output_type, value_of
from agent.answers.narration import narrate
from agent.answers.text import plain_text
from agent.audit.bodies import LOGGED_ANSWER
from agent.audit.step import note
from agent.charts.echarts import chart_of
from agent.messages import Language, language_of, render
from agent.services import Services
from agent.sql.result import Result, masked
from agent.state import AnswerChart, OutputType, answer_table


def compose(
    question: str,
    results: Mapping[str, Result],
    services: Services,
    *,
    wanted: OutputType | None,
    sql: str,
    drawn: Sequence[AnswerChart] = (),
    draft: str = "",
) -> dict[str, Any]:
    """Return the output for `results`, the main one first, by the names that their tables are to have.

    `drawn` are charts that were made already, `draft` is an answer that a model has written; without one a model
    narrates only what is too long to be shown whole. Values of secret columns are in the output for the user, and not
    in what the model reads or in the text under `LOGGED_ANSWER`, which the record and the thread keep.

    Raises:
        InvalidOutputType: the main result cannot have the wanted form.
    """
    language, limit = language_of(question), services.settings.short_table_rows
    main = next(iter(results.values()))
    tables = [answer_table(name, each) for name, each in results.items()]
    chart = drawn[0] if drawn else chart_of(main, question)
    output_type = choose_output_type(question, main, wanted, chart)
    text = None
    if (draft or len(main["rows"]) > limit) and services.model.profile != "embedded":
        text = narrate(question, results, output_type, language, services.model, draft)
    logged = _with_cut(text or plain_text(masked(main), language, limit), main, language)
    text = _with_cut(text or plain_text(main, language, limit), main, language)
    return {
        "answer": text,
        LOGGED_ANSWER: logged,
        "output_type": output_type,
        "value": value_of(output_type, main, text, tables[0], chart),
        "sql": sql,
        "tables": tables,
        "charts": list(drawn) or ([chart] if chart and output_type == "plot" else []),
        "clarification": None,
        "error": None,
    }


def _with_cut(text: str, result: Result, language: Language) -> str:
    """Return `text` with what a reader has to know of a result that is cut."""
    if not result["truncated"]:
        return text
    cut = render("truncated", language, count=len(result["rows"]))
    note(cut)
    return f"{text}\n\n{cut}"
