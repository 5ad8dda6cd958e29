"""The questions of a report, answered in parallel by runs of the SQL agent or the analyst with traces of their own."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import Context, copy_context
from itertools import chain
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.config import get_stream_writer

from datasphinx.agent.answers.markdown import without_tables
from datasphinx.agent.answers.stored_chart import drawn_by_default
from datasphinx.agent.conversation.conversations import CANCELLATION, PART_OF
from datasphinx.agent.core.canonical import result_hashes
from datasphinx.agent.core.failure import client_failure, error_info, failure_of
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.graph import build_graph
from datasphinx.agent.messages import CONVENTIONS, Language, language_in, render
from datasphinx.agent.record.step import Step, current_step, record_event
from datasphinx.agent.report.changes import explained
from datasphinx.agent.report.plan import source_of
from datasphinx.agent.services import Services
from datasphinx.agent.state import Output, ReportState
from datasphinx.agent.types import AnswerTable, ClarifyingQuestion, PlannedQuestion, ReportPart, Result, masked_rows

_MAX_AT_ONCE = 4
FURTHER = "bcdefgh"
"""Letters that follow the id of a question in those of the further tables of its answer."""
_READ = (*Output.__annotations__, "question", "result", "results", "attempts", "sql_request")
"""The keys of the final state of a run that a part is made of."""


def answer_parts(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the outcomes of the questions that are not answered yet; each is also written to the stream of the run.

    Where some ask the user, their questions become one, which is asked at most once for a report.
    """
    parts, may_ask = dict(state["parts"]), not state["clarification_count"]
    waiting = [each for each in state["plan"] if each["id"] not in parts or parts[each["id"]]["clarification"]]
    write, step = get_stream_writer(), current_step.get()
    assert step
    with ThreadPoolExecutor(_MAX_AT_ONCE, "datasphinx-report") as pool:
        answering = [
            pool.submit(_detached().run, _part, each, state, services, step) for each in waiting if "change" not in each
        ]
        # Their statements are recorded with this step, so that they run in order.
        changes = ([_change(each, state, services)] for each in waiting if "change" in each)
        for answered in chain(changes, (future.result() for future in as_completed(answering))):
            for part in answered:
                parts[part["id"]] = part
                write({"event": "part", "data": part})
    # Further tables of an answer follow its first one.
    numbers = {each["id"]: number for number, each in enumerate(state["plan"])}
    parts = dict(sorted(parts.items(), key=lambda item: (numbers[item[0].rstrip(FURTHER)], item[0])))
    for part in parts.values():
        record_event("part", _logged(part))
    asking = [part for part in parts.values() if part["clarification"]]
    return {"parts": parts, **({"clarification": _collected(asking, state)} if asking and may_ask else {})}


def _change(planned: PlannedQuestion, state: ReportState, services: Services) -> ReportPart:
    """Return the outcome of a question about a change; an error is part of it."""
    language = language_in(state)
    try:
        text, result, sql = explained(planned["change"], source_of(state, services), language)
    except DatasphinxError as error:
        return _failed(planned, error, services, language)
    return ReportPart(**{**_unanswered(planned), "status": "ok", "answer": text, "result": result, "sql": sql})


def _detached() -> Context:
    """Return the context of the current step for a run of its own, which is no part of this one for LangGraph."""
    context = copy_context()
    context.run(var_child_runnable_config.set, None)
    context.run(current_step.set, None)
    return context


def _part(planned: PlannedQuestion, state: ReportState, services: Services, step: Step) -> list[ReportPart]:
    """Return the outcome of a question, a part for each table; an error is part of it."""
    try:
        step.check_budget(services.settings)
        own = services.of_part(planned["id"])
        if state["dataset_ids"]:
            from datasphinx.agent.analyst import build_analyst

            graph: Any = build_analyst(own)
        else:
            graph = build_graph(own)
        config = RunnableConfig(configurable={CANCELLATION: step.cancellation, PART_OF: step})
        keys = [key for key in _READ if key in graph.channels]
        final = graph.invoke(_inputs(planned, state), config, output_keys=keys)
        return _outcome(planned, final, state, own)
    except DatasphinxError as error:
        return [_failed(planned, error, services, language_in(state))]


def _failed(planned: PlannedQuestion, error: DatasphinxError, services: Services, language: Language) -> ReportPart:
    failure = failure_of(error) if services.any_source else client_failure(error, services.settings)
    info = error_info(failure, language)
    return ReportPart(**{**_unanswered(planned), "answer": info["message"], "error": info})


def _unanswered(planned: PlannedQuestion) -> ReportPart:
    return ReportPart(
        **planned,
        trace_id="",
        status="error",
        answer="",
        sql=None,
        result=None,
        chart=None,
        filters=[],
        remarks=[],
        clarification=None,
        error=None,
    )


def _inputs(planned: PlannedQuestion, state: ReportState) -> dict[str, Any]:
    """Return the input of the run for a question: the data of the report, and the user's answer if it asked."""
    datasets, part = state["dataset_ids"], state["parts"].get(planned["id"])
    asked = part and part["clarification"]
    answer = {"clarification": asked, "clarification_answer": _answer_to(planned, state)} if asked else {}
    return {
        "question": planned["question"],
        "clarify": "never" if state["clarification_count"] else state.get("clarify"),
        **({"datasets": datasets} if datasets else {"source": state.get("source"), "effort": state.get("effort")}),
        **answer,
    }


def _answer_to(planned: PlannedQuestion, state: ReportState) -> str:
    """Return the user's answer to the question of one part: its line, if there is one for each, or all of it."""
    text = str(state["clarifications"][-1]["answer"])
    asked = [name for name, part in state["parts"].items() if part["clarification"]]
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[asked.index(planned["id"])] if len(lines) == len(asked) else text


def _outcome(
    planned: PlannedQuestion, final: dict[str, Any], state: ReportState, services: Services
) -> list[ReportPart]:
    language, tables = language_in(final), [] if final["error"] else final["tables"]
    told = {render("assumed", language, assumptions=each) for each in final["audit"]["assumptions"]}
    paragraphs = [each for each in without_tables(final["answer"]).split("\n\n") if each not in told]
    charts = final["charts"] or [drawn_by_default(final, lambda _: source_of(state, services))] if tables else []
    part = ReportPart(
        **planned,
        trace_id=final["audit"]["trace_id"],
        status=final["status"],
        answer="\n\n".join(paragraphs),
        sql=final["sql"],
        result=_result_of(final, tables[0]) if tables else None,
        chart=charts[0] if charts else None,
        filters=final["filters"],
        remarks=final["audit"]["assumptions"],
        clarification=final["clarification"] if not final["error"] else None,
        error=final["error"],
    )
    own = ReportPart(**{**_unanswered(planned), "trace_id": part["trace_id"], "status": part["status"]})
    further = [
        ReportPart(
            **{
                **own,
                "id": planned["id"] + letter,
                "sql": final["results"][table["name"]]["sql"],
                "result": _result_of(final, table),
            }
        )
        for letter, table in zip(FURTHER, tables[1:], strict=False)
    ]
    return [part, *further]


def _result_of(final: dict[str, Any], table: AnswerTable) -> Result:
    """Return the rows of a table of an answer, with the formats of its columns."""
    kept = (final.get("results") or {}).get(table["name"], final)
    return cast(Result, {**kept["result"], "formats": table["formats"], "additive": table.get("additive", [])})


def _logged(part: ReportPart) -> dict[str, Any]:
    """Return what the record keeps of a part; its run has a trace of its own."""
    result, hashes = part["result"], None
    if result:
        hashes = result_hashes(result["columns"], masked_rows(result["rows"], set(result.get("secret") or ())))
    return {
        "id": part["id"],
        "question": part["question"],
        "trace_id": part["trace_id"],
        "status": part["status"],
        "sql": part["sql"],
        "error": part["error"],
        "result_hash": hashes and hashes[0],
        "unordered_hash": hashes and hashes[1],
    }


def _collected(asking: Sequence[ReportPart], state: ReportState) -> ClarifyingQuestion:
    """Return the clarifying questions of parts as one; several are answered line by line."""
    language = language_in(state)
    asked = [(part["question"], part["clarification"]) for part in asking if part["clarification"]]
    collected = ClarifyingQuestion(
        **{**asked[0][1], "about": state["question"] or "", "earlier": state["clarifications"], "language": language}
    )
    if len(asked) == 1:
        return collected
    lines = [render("several_questions", language, count=len(asked))]
    for number, (question, clarification) in enumerate(asked, 1):
        options = CONVENTIONS[language].semicolon.join(option["label"] for option in clarification["options"])
        lines.append(f"{number}. {question} – {clarification['question']} ({options})")
    return ClarifyingQuestion(**{**collected, "question": "\n".join(lines), "options": []})
