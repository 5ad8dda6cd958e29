"""Planning with a model: the prompt of a step, and the calls besides tools that finish the analysis or ask the user."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import Annotated, Any, NamedTuple

from langchain_core.messages import BaseMessage
from pydantic import Field

from datasphinx import prompts
from datasphinx.agent.analysis.analysis import Analysis
from datasphinx.agent.analysis.earlier_results import earlier_results_text
from datasphinx.agent.answers.narration import facts_text, unverified
from datasphinx.agent.answers.outputs import choose_output_type
from datasphinx.agent.answers.references import fill
from datasphinx.agent.answers.result_facts import ResultFacts
from datasphinx.agent.charts.echarts import chart_of
from datasphinx.agent.clarify.review import question_problem
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.core.prompt_data import block, shortened
from datasphinx.agent.errors import InvalidOutputType, SpecProblem, ToolCallInvalid, Unanswered
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.formats import function_schema
from datasphinx.agent.llm.schemas import FINISH, ProposedOutputType, QuestionLanguage
from datasphinx.agent.record.step import remark
from datasphinx.agent.routes import may_correct_form
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.state import Conclusion, Observation, ToolCall
from datasphinx.agent.tools.arguments import read_arguments
from datasphinx.agent.tools.tool import Arguments, Workbench, check_known
from datasphinx.agent.types import Clarify, ClarifyingQuestion, Option, Result, Turn, clarified

_MAX_TEXT = 300
_MAX_REASON = 500
_SHOWN_COLUMNS = 8
_Text = Annotated[str, Field(min_length=1, max_length=_MAX_TEXT)]
_REMEDY = "refer to the results, and compute what they lack with run_query"
_REPLY_WITH_RESULTS = "there are results: write `answer` in its place, with references to them"
_MAX_CHARS = 40_000
"""Maximum length of all calls together, in characters; older calls are shown without their outcome."""
_CLARIFY_INSTRUCTIONS: dict[Clarify, str] = {
    "never": "Do not ask the user: take the likeliest reading, and say in the answer what you assumed.",
    "auto": "Where readings of the question would give different answers, call ask_user; else do not ask.",
    "always": "Where the question leaves anything open, call ask_user before you compute.",
}
_OUTPUT_INSTRUCTIONS = {
    "number": "The main result has to be one number: one row with one column.",
    "plot": "The answer has to be a chart.",
    "dataframe": "The answer has to be a table.",
    "string": "The answer has to be text.",
}
_HINT_OF_CHART = "compute a result that can be drawn and draw it with plot, or say in the answer why there is no chart"
_MAX_FACTS = 20
"""Computed facts of a result that the model sees."""


class Finish(Arguments):
    """The end of the analysis."""

    language: QuestionLanguage = None
    answer: Annotated[str, Field(max_length=4_000)] = Field("", description="Sentences with references.")
    formats: dict[str, str] = Field(
        {}, description="By column, where it is needed: currency EUR, percent (12.5 is 12.5 %), fraction (0.125 is so)."
    )
    result_ids: Annotated[list[str], Field(max_length=8)] = Field(
        [], description="The results that hold the answer, the main one first; default: the last."
    )
    output_type: ProposedOutputType = None
    reply: Annotated[str, Field(max_length=_MAX_REASON)] = Field(
        "", description="Instead, to thanks, a greeting or a why: a courtesy or what data cannot say."
    )
    cannot_answer: Annotated[str, Field(max_length=_MAX_REASON)] | None = Field(
        None, description="Why the data cannot answer."
    )


class AskUser(Arguments):
    """A question to the user."""

    question: _Text
    options: Annotated[list[_Text], Field(min_length=2, max_length=4)]
    language: QuestionLanguage = None


CONTROLS: dict[str, tuple[str, type[Arguments]]] = {
    FINISH: ("End the analysis.", Finish),
    "ask_user": ("Ask the user which reading is meant.", AskUser),
}


def control_schemas(*, may_ask: bool) -> list[dict[str, Any]]:
    """Return the control calls in the format of OpenAI's function calling; `ask_user` only if the user may be asked."""
    names = [FINISH, *(["ask_user"] if may_ask else [])]
    return [function_schema(name, CONTROLS[name][0], CONTROLS[name][1].shown_schema()) for name in names]


class ControlOutcome(NamedTuple):
    """The changes of the state by a call of `finish` or `ask_user`; with problems of its text, the text is left out."""

    update: dict[str, Any]
    problems: tuple[SpecProblem, ...] = ()


def apply_control(
    call: ToolCall, analysis: Analysis, bench: Workbench, verifier: ModelClient | None, *, may_ask: bool
) -> ControlOutcome:
    """Return the outcome of a call of `finish` or `ask_user`; `verifier` compares the text of an answer with the rows.

    Raises:
        ToolCallInvalid: the arguments are invalid, there is no result yet, or no further question is allowed.
        InvalidOutputType: the result does not have the requested output type.
    """
    arguments = read_arguments(call["tool"], CONTROLS[call["tool"]][1], call["arguments"])
    assert isinstance(arguments, Finish | AskUser)
    language = {"language": arguments.language} if arguments.language else {}
    analysis = replace(analysis, language=arguments.language or analysis.language)
    if isinstance(arguments, AskUser):
        outcome = ControlOutcome(_ask_user(arguments, analysis, may_ask))
    elif arguments.reply and not arguments.answer:
        outcome = _reply(arguments.reply, analysis)
    elif arguments.cannot_answer:
        outcome = _give_up(arguments.cannot_answer, analysis)
    else:
        outcome = _finish(arguments, analysis, bench, verifier)
    return outcome._replace(update={**outcome.update, **language})


def _give_up(text: str, analysis: Analysis) -> ControlOutcome:
    """Return the failure with the model's reason, or without one that has figures nobody gave."""
    reason = one_line(text, _MAX_REASON)
    found = analysis.problems_without_rows(reason, analysis.figures_of_schemas())
    reason = "" if found else reason
    remark(f"the model reports that the data cannot answer the question{': ' if reason else ''}{reason}")
    failure = failure_of(Unanswered("cannot_answer", reason=reason))
    return ControlOutcome({"failure": failure}, tuple(SpecProblem("cannot_answer", problem) for problem in found))


def _reply(text: str, analysis: Analysis) -> ControlOutcome:
    """Return the update for a reply without data.

    Raises:
        ToolCallInvalid: it has figures that nobody gave, or there are results, which an answer refers to.
    """
    problems = (_REPLY_WITH_RESULTS,) if analysis.results else analysis.problems_without_rows(text)
    if problems:
        raise ToolCallInvalid(FINISH, tuple(SpecProblem("reply", problem) for problem in problems))
    return ControlOutcome({"reply": text})


def _finish(arguments: Finish, analysis: Analysis, bench: Workbench, verifier: ModelClient | None) -> ControlOutcome:
    results = analysis.results
    if not results:
        reason = "there is no result yet: compute one with run_query, or say cannot_answer"
        raise ToolCallInvalid(FINISH, (SpecProblem("result_ids", reason),))
    ids = list(dict.fromkeys(arguments.result_ids)) or [list(results)[-1]]
    for at, result_id in enumerate(ids):
        check_known(FINISH, f"result_ids[{at}]", result_id, tuple(results))
    result = results[ids[0]]["result"]
    chart = next(iter(analysis.charts), None) or chart_of(result, analysis.question)
    requested, hint = analysis.output_type, ""
    proposed = requested or arguments.output_type
    if proposed == "number":
        hint = _hint_of_columns(ids[0], result, arguments.answer)
    elif proposed == "plot" and not chart:
        hint = _HINT_OF_CHART
    if hint and may_correct_form(analysis.observations):
        requested = proposed
    try:
        choose_output_type(result, requested, chart)
    except InvalidOutputType as error:
        if hint:
            error.add_note(hint)
        raise
    answer, problems = _checked(arguments, ids[0], analysis, bench, verifier)
    ids += [name for name in results if name not in ids and f"{name}." in arguments.answer]
    conclusion = Conclusion(answer=answer, result_ids=ids, output_type=arguments.output_type, formats=arguments.formats)
    return ControlOutcome({"conclusion": conclusion}, problems)


def _checked(
    arguments: Finish, main: str, analysis: Analysis, bench: Workbench, verifier: ModelClient | None
) -> tuple[str, tuple[SpecProblem, ...]]:
    """Return the answer with the values of its references, and its problems; with problems, it is empty."""
    if not arguments.answer.strip():
        return "", ()
    catalog = bench.open_source(bench.dataset_ids).catalog
    results = analysis.facts_of_results(catalog, arguments.formats)
    facts = replace(results[main], others=results)
    filled = fill(arguments.answer, facts, analysis.said)
    problems = filled.problems or (unverified(filled, facts, verifier, analysis.question) if verifier else ())
    if not problems:
        return filled.text, ()
    remark(f"answer refused: {'; '.join(problems)}")
    return "", tuple(SpecProblem("answer", problem) for problem in (*problems, _REMEDY))


def _hint_of_columns(result_id: str, result: Result, answer: str) -> str:
    """Return how to select the number of a result with one row and several columns; empty for any other result.

    It is the only one that `answer` refers to, if there is one.
    """
    if len(result["rows"]) != 1 or len(result["columns"]) == 1:
        return ""
    cells = zip(result["columns"], result["rows"][0], strict=True)
    numbers = [name for name, cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]
    if not numbers:
        return ""
    told = [name for name in numbers if name in answer]
    names = ", ".join((told or numbers)[:_SHOWN_COLUMNS])
    query = {"from": result_id, "aggregations": [{"as": "number", "agg": "max", "col": names}]}
    return (
        f"{result_id} has one row with several columns: select the one that is the number ({names}) with run_query, "
        f"such as {json.dumps(query, ensure_ascii=False)}, and finish with that result"
    )


def _ask_user(arguments: AskUser, analysis: Analysis, may_ask: bool) -> dict[str, Any]:
    question, *labels = (one_line(text, _MAX_TEXT) for text in (arguments.question, *arguments.options))
    problem = question_problem(question, labels, analysis.clarifications)
    if typed := analysis.problems_without_rows("\n".join([question, *labels]), analysis.figures_of_schemas()):
        raise ToolCallInvalid("ask_user", tuple(SpecProblem("question", one) for one in typed))
    if problem or not may_ask:
        reason = "the user is not asked (again): take the likeliest reading and say so in the answer"
        raise ToolCallInvalid("ask_user", (SpecProblem("question", f"{reason}{problem and f' ({problem})' or ''}"),))
    clarification = ClarifyingQuestion(
        question=question,
        ambiguity_type="AmbQuestion",
        options=[Option(label=text, reading=text, preview=None) for text in dict.fromkeys(labels) if text],
        about=analysis.question,
        language=analysis.language,
        earlier=list(analysis.clarifications),
        rejected_sql=[],
    )
    return {"clarification": clarification}


def step_messages(
    analysis: Analysis, bench: Workbench, instructions: str, today: date, *, clarify: Clarify, calls_left: int
) -> list[BaseMessage]:
    """Return the messages that request the next call from the model; `instructions` are those of the operator."""
    answers = "".join(f"{clarified(each)}\n" for each in analysis.clarifications)
    return prompts.render(
        "analyse",
        instructions=instructions,
        today=today.isoformat(),
        clarify=_CLARIFY_INSTRUCTIONS[clarify],
        form=_OUTPUT_INSTRUCTIONS.get(str(analysis.output_type), ""),
        question=analysis.question,
        context=_conversation(analysis.turns) + answers + earlier_results_text(bench.earlier_results),
        calls="\n".join(_calls(analysis, bench)) or "none",
        left=str(calls_left),
    )


def _conversation(turns: Sequence[Turn]) -> str:
    """Return the part of the prompt about the questions before, which the question may continue; "" for the first."""
    if not turns:
        return ""
    told = [f"- {one_line(turn['question'], _MAX_TEXT)}" for turn in turns]
    answer = one_line(turns[-1]["answer"], _MAX_REASON)
    title = "The question may continue this conversation; what it does not change holds as in the last question:"
    return "\n".join([title, *told, f"The last answer: {answer}", ""])


def _calls(analysis: Analysis, bench: Workbench) -> list[str]:
    """Return one text block per call, oldest first; results are followed by facts computed from them."""
    observations, results = analysis.observations, dict[str, ResultFacts]()
    if analysis.results:
        results = analysis.facts_of_results(bench.open_source(bench.dataset_ids).catalog, {})
    blocks: list[str] = []
    left = _MAX_CHARS
    for number, observation in reversed(list(enumerate(observations, 1))):
        # The model wrote the arguments itself: it has to see all of an expression or a value to correct it.
        call = {"tool": observation["tool"], "arguments": observation["arguments"]}
        gave = shortened(_without_repetition(observation, observations))
        if facts := results.get(str(observation["content"].get("result_id"))):
            gave["facts"] = list(islice(facts_text(facts, f"{observation['content']['result_id']}."), _MAX_FACTS))
        text = block({**call, "gave": gave}, call=number)
        if len(text) > left:
            text = block(call, call=number)
        left -= len(text)
        blocks.insert(0, text)
    return blocks


def _without_repetition(observation: Observation, others: Sequence[Observation]) -> dict[str, Any]:
    """Return what a call gave, of a new dataset without what the call for its schema gave too."""
    content = observation["content"]
    schemas = [each["content"] for each in others if each["tool"] == "get_schema" and not each["failed"]]
    schema = next((each for each in schemas if each["dataset_id"] == content.get("dataset_id")), None)
    if observation["tool"] != "create_dataset" or schema is None:
        return content
    # The warnings are a proposal for the layout, if there is one, and the guesses in the language of the question.
    warnings = content["warnings"][: len(content["warnings"]) - len(schema.get("loaded", {}).get("guesses", ()))]
    kept = {name: value for name, value in content.items() if name not in {"schema", "warnings"}}
    return {**kept, **({"warnings": warnings} if warnings else {})}
