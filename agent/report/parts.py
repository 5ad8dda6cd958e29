"""The questions of a report, answered in parallel by runs of the SQL agent or the analyst with traces of their own."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import partial
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
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import Output, ReportState
from datasphinx.agent.types import (
    AnswerTable,
    Clarification,
    ClarifyingQuestion,
    PlannedQuestion,
    ReportPart,
    Result,
    masked_rows,
)

_MAX_AT_ONCE = 4
FURTHER = "bcdefgh"
"""Letters that follow the id of a question in those of the further tables of its answer."""
_READ = (*Output.__annotations__, "question", "result", "results", "attempts", "sql_request")
"""The keys of the final state of a run that a part is made of."""


def answer_parts(state: ReportState, services: Services) -> dict[str, Any]:
    """Return the outcomes of the questions that are not answered yet; each is also written to the stream of the run.

    Where some ask the user, their questions become one, which is asked at most once for a report.
    """
    parts, may_ask, language = dict(state["parts"]), not state["clarification_count"], language_in(state)
    write, step, datasets = get_stream_writer(), current_step.get(), state["dataset_ids"]
    assert step
    data = {"datasets": datasets} if datasets else {"source": state.get("source"), "effort": state.get("effort")}
    inputs = {**data, "clarify": state.get("clarify") if may_ask else "never"}
    answers = _answers(parts, state["clarifications"])
    answering = _Answering(inputs, partial(source_of, state, services), services, step, language)
    waiting = [each for each in state["plan"] if each["id"] not in parts or parts[each["id"]]["clarification"]]
    with ThreadPoolExecutor(_MAX_AT_ONCE, "datasphinx-report") as pool:
        started = [
            pool.submit(_detached().run, answering.parts, each, answers.get(each["id"], {}))
            for each in waiting
            if "change" not in each
        ]
        # Their statements are recorded with this step, so that they run in order.
        changes = ([answering.change(each)] for each in waiting if "change" in each)
        for answered in chain(changes, (future.result() for future in as_completed(started))):
            for part in answered:
                parts[part["id"]] = part
                write({"event": "part", "data": part})
    # Further tables of an answer follow its first one.
    numbers = {each["id"]: number for number, each in enumerate(state["plan"])}
    parts = dict(sorted(parts.items(), key=lambda item: (numbers[item[0].rstrip(FURTHER)], item[0])))
    for part in parts.values():
        record_event("part", _logged(part))
    asking = [part for part in parts.values() if part["clarification"]]
    if not asking or not may_ask:
        return {"parts": parts}
    about = state["question"] or ""
    return {"parts": parts, "clarification": _collected(asking, about, state["clarifications"], language)}


def _detached() -> Context:
    """Return the context of the current step for a run of its own, which is no part of this one for LangGraph."""
    context = copy_context()
    context.run(var_child_runnable_config.set, None)
    context.run(current_step.set, None)
    return context


@dataclass(frozen=True)
class _Answering:
    """The answering of the questions of a report, in the language of its texts."""

    inputs: Mapping[str, Any]
    """The inputs of each run besides its question."""
    open_source: Callable[[], Source]
    services: Services
    step: Step
    language: Language

    def change(self, planned: PlannedQuestion) -> ReportPart:
        """Return the outcome of a question about a change; an error is part of it."""
        try:
            text, result, sql = explained(planned["change"], self.open_source(), self.language)
        except DatasphinxError as error:
            return self._failed(planned, error)
        return ReportPart(**{**_unanswered(planned), "status": "ok", "answer": text, "result": result, "sql": sql})

    def parts(self, planned: PlannedQuestion, answer: Mapping[str, Any]) -> list[ReportPart]:
        """Return the outcome of a question, a part for each table; an error is part of it.

        `answer` are the inputs with the user's answer, if it asked.
        """
        try:
            self.step.check_budget(self.services.settings)
            own = self.services.of_part(planned["id"])
            if "datasets" in self.inputs:
                from datasphinx.agent.analyst import build_analyst

                graph: Any = build_analyst(own)
            else:
                graph = build_graph(own)
            config = RunnableConfig(configurable={CANCELLATION: self.step.cancellation, PART_OF: self.step})
            keys = [key for key in _READ if key in graph.channels]
            asked = {**self.inputs, "question": planned["question"], **answer}
            return _outcome(planned, graph.invoke(asked, config, output_keys=keys), self.open_source)
        except DatasphinxError as error:
            return [self._failed(planned, error)]

    def _failed(self, planned: PlannedQuestion, error: DatasphinxError) -> ReportPart:
        settings, is_trusted = self.services.settings, self.services.any_source
        info = error_info(failure_of(error) if is_trusted else client_failure(error, settings), self.language)
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


def _answers(parts: Mapping[str, ReportPart], clarifications: Sequence[Clarification]) -> dict[str, dict[str, Any]]:
    """Return the inputs for the parts that asked the user: the question, and its line of the answer, or all of it."""
    asked = {name: part["clarification"] for name, part in parts.items() if part["clarification"]}
    if not asked:
        return {}
    text = str(clarifications[-1]["answer"])
    lines = [line for line in text.splitlines() if line.strip()]
    answers = lines if len(lines) == len(asked) else [text] * len(asked)
    return {
        name: {"clarification": question, "clarification_answer": answer}
        for (name, question), answer in zip(asked.items(), answers, strict=True)
    }


def _outcome(planned: PlannedQuestion, final: dict[str, Any], open_source: Callable[[], Source]) -> list[ReportPart]:
    language, tables = language_in(final), [] if final["error"] else final["tables"]
    told = {render("assumed", language, assumptions=each) for each in final["audit"]["assumptions"]}
    paragraphs = [each for each in without_tables(final["answer"]).split("\n\n") if each not in told]
    charts = final["charts"] or [drawn_by_default(final, lambda _: open_source())] if tables else []
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


def _collected(
    asking: Sequence[ReportPart], about: str, earlier: list[Clarification], language: Language
) -> ClarifyingQuestion:
    """Return the clarifying questions of parts as one; several are answered line by line."""
    asked = [(part["question"], part["clarification"]) for part in asking if part["clarification"]]
    collected = ClarifyingQuestion(**{**asked[0][1], "about": about, "earlier": earlier, "language": language})
    if len(asked) == 1:
        return collected
    lines = [render("several_questions", language, count=len(asked))]
    for number, (question, clarification) in enumerate(asked, 1):
        options = CONVENTIONS[language].semicolon.join(option["label"] for option in clarification["options"])
        lines.append(f"{number}. {question} – {clarification['question']} ({options})")
    return ClarifyingQuestion(**{**collected, "question": "\n".join(lines), "options": []})
