"""The two calls that are no tools: the model ends the analysis, or has the user asked."""

from typing import Annotated, Any

from pydantic import Field, ValidationError

from agent.analyst_state import AnalystState, Conclusion
from agent.answers.form import choose_output_type
from agent.audit.step import note
from agent.catalog.describe import one_line
from agent.charts.echarts import chart_of
from agent.clarify.askable import why_not_asked
from agent.clarify.types import ClarifyingQuestion, Option
from agent.errors import OffTopic, SpecProblem, ToolCallInvalid
from agent.failure import failure_of
from agent.models.formats import function_schema
from agent.models.schemas import AnalystStep
from agent.queryspec.problems import path_of
from agent.settings import Settings
from agent.tools.tool import Arguments, known

_LONGEST = 300
_Text = Annotated[str, Field(min_length=1, max_length=_LONGEST)]


class Finish(Arguments):
    """The end of the analysis."""

    answer: Annotated[str, Field(max_length=4_000)] = Field("", description="The answer in words.")
    result_ids: Annotated[list[str], Field(max_length=8)] = Field(
        [], description="The results that hold the answer, the main one first; left out: the last."
    )
    cannot_answer: Annotated[str, Field(max_length=500)] | None = Field(
        None, description="Why the data cannot answer the question."
    )


class AskUser(Arguments):
    """A question to the user."""

    question: _Text
    options: Annotated[list[_Text], Field(min_length=2, max_length=4)] = Field(
        description="The readings to choose from."
    )


CONTROLS: dict[str, tuple[str, type[Arguments]]] = {
    "finish": ("End the analysis with its answer.", Finish),
    "ask_user": ("Ask the user which reading is meant. The analysis ends until the answer comes.", AskUser),
}


def control_schemas(state: AnalystState, settings: Settings) -> list[dict[str, Any]]:
    """Return the two calls as OpenAI describes functions; nobody is asked where `clarify` is `never`."""
    names = ["finish", *(["ask_user"] if may_ask(state, settings) else [])]
    return [function_schema(name, CONTROLS[name][0], CONTROLS[name][1].model_json_schema()) for name in names]


def may_ask(state: AnalystState, settings: Settings) -> bool:
    """Return whether the user may be asked (again)."""
    mode, asked = state.get("clarify") or settings.clarify, state["clarification_count"]
    return mode != "never" and asked < settings.max_clarifications


def controlled(step: AnalystStep, state: AnalystState, settings: Settings) -> dict[str, Any]:
    """Return what a call of `finish` or `ask_user` changes in the state.

    Raises:
        ToolCallInvalid: its arguments are wrong; there is no result to end with; the user may not be asked (again).
        InvalidOutputType: the result cannot have the wanted form.
    """
    kind = CONTROLS[step.tool][1]
    try:
        read = kind.model_validate_json(step.arguments or "{}")
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        problems = tuple(SpecProblem(path_of(each["loc"]) or "arguments", each["msg"]) for each in found)
        raise ToolCallInvalid(step.tool, problems) from None
    if isinstance(read, AskUser):
        return _asked(read, state, settings)
    assert isinstance(read, Finish)
    return _finished(read, state)


def _finished(read: Finish, state: AnalystState) -> dict[str, Any]:
    if read.cannot_answer:
        note(f"the model finds that the data cannot answer: {read.cannot_answer}")
        return {"failure": failure_of(OffTopic())}
    if not state["results"]:
        reason = "there is no result yet: compute one with run_query, or say cannot_answer"
        raise ToolCallInvalid("finish", (SpecProblem("result_ids", reason),))
    ids = list(dict.fromkeys(read.result_ids)) or [list(state["results"])[-1]]
    for at, result_id in enumerate(ids):
        known("finish", f"result_ids[{at}]", result_id, tuple(state["results"]))
    _check_form(ids[0], state)
    return {"conclusion": Conclusion(answer=read.answer.strip(), result_ids=ids)}


def _check_form(result_id: str, state: AnalystState) -> None:
    result = state["results"][result_id]["result"]
    wanted = state.get("output_type")
    drawn = next((each["chart"] for each in state["drawn"]), None)
    choose_output_type(state["question"], result, wanted, drawn or chart_of(result, state["question"]))


def _asked(read: AskUser, state: AnalystState, settings: Settings) -> dict[str, Any]:
    question, labels = one_line(read.question, _LONGEST), [one_line(text, _LONGEST) for text in read.options]
    problem = why_not_asked(question, labels, state["clarifications"])
    if problem or not may_ask(state, settings):
        reason = "the user is not asked (again): take the likeliest reading and say so in the answer"
        raise ToolCallInvalid("ask_user", (SpecProblem("question", f"{reason}{problem and f' ({problem})' or ''}"),))
    asked = ClarifyingQuestion(
        question=question,
        ambiguity_type="AmbQuestion",
        options=[Option(label=text, reading=text, preview=None) for text in dict.fromkeys(labels) if text],
        about=state["question"],
        earlier=state["clarifications"],
        rejected_sql=[],
    )
    return {"clarification": asked}
