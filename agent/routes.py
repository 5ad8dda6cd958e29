"""Routers of all graphs, and the limits of their loops: pure functions of the state.

A router returns the name of the next node. A node asks for a limit before it starts another round.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from datasphinx.agent.errors import InvalidOutputType
from datasphinx.agent.generation.attempts import current, has_outcome
from datasphinx.agent.settings import Settings
from datasphinx.agent.state import AnalystState, Observation, ReportState, State
from datasphinx.agent.types import Attempt, Clarify, Effort, Outcome

Router = Callable[[Any], str]

_MAX_REFUSALS = 3
_MAX_REVIEWS = 2
MAX_TEXTS = 2
"""How often a model writes a text that is shown only if its checks pass."""
_ERRORS: tuple[Outcome, ...] = ("unknown name", "failed", "wrong form", "unstored values", "objected")
"""Outcomes after which another statement is generated, besides a refusal by the guard."""


def effort_of(state: State, settings: Settings) -> Effort:
    """Return the effort of the question, by default that of `settings`."""
    return state.get("effort") or settings.effort


def validation_of(state: State, settings: Settings) -> Literal["never", "if doubtful", "always"]:
    """Return when a statement is validated: as `enable_sql_validation` says, else if doubtful; never at low effort."""
    requested = state.get("enable_sql_validation")
    is_enabled = settings.enable_sql_validation if requested is None else requested
    if is_enabled is None:
        return "never" if effort_of(state, settings) == "low" else "if doubtful"
    return "always" if is_enabled else "never"


def may_retrieve_again(state: State, settings: Settings) -> bool:
    """Return whether tables may be retrieved again."""
    return state["table_counter"] < settings.max_table_retrievals


def may_use_verified(state: State) -> bool:
    """Return whether a verified query may answer: none failed for the question, and the user has not corrected it."""
    was_used = has_outcome(state.get("attempts") or (), "not used")
    return not (was_used or state.get("clarifications") or state.get("rejected_sql"))


def may_be_refused_again(attempts: Sequence[Attempt]) -> bool:
    """Return whether another statement may be generated after the guard refused the last one of `attempts`."""
    return _refusals_left(attempts) > 0


def may_generate_again(attempts: Sequence[Attempt], settings: Settings) -> bool:
    """Return whether another statement is generated if the last of `attempts` ends in an error or an objection."""
    return _generations_left(attempts, settings) > 0


def statements_left(attempts: Sequence[Attempt], settings: Settings) -> int | None:
    """Return how many statements may follow the next one if it ends as the last of `attempts`; None if that is none."""
    if not attempts or attempts[-1]["outcome"] not in ("refused", *_ERRORS):
        return None
    is_refused = attempts[-1]["outcome"] == "refused"
    return _refusals_left(attempts) - 1 if is_refused else _generations_left(attempts, settings)


def _refusals_left(attempts: Sequence[Attempt]) -> int:
    return _MAX_REFUSALS - sum(attempt["outcome"] == "refused" for attempt in attempts)


def _generations_left(attempts: Sequence[Attempt], settings: Settings) -> int:
    return settings.max_sql_generations - sum(attempt["outcome"] in _ERRORS for attempt in attempts)


def may_reject_rows(outcome: Outcome, attempts: Sequence[Attempt], settings: Settings) -> bool:
    """Return whether a statement that has run may end with `outcome`, so that another one is generated: once each."""
    return may_generate_again(attempts, settings) and not has_outcome(attempts, outcome)


def may_read_schema_again(attempts: Sequence[Attempt]) -> bool:
    """Return whether an unknown name may be due to a changed schema: it is read again for the first one."""
    return not has_outcome(attempts, "unknown name")


def may_validate_again(attempts: Sequence[Attempt], settings: Settings) -> bool:
    """Return whether the model may validate another statement."""
    return validation_count(attempts) <= settings.sql_validation_max_retries


def validation_count(attempts: Sequence[Attempt]) -> int:
    """Return how many statements the model was asked to validate."""
    return sum(attempt.get("is_validated", False) for attempt in attempts)


def clarify_of(state: State | AnalystState, settings: Settings) -> Clarify:
    """Return when to ask the user: as `clarify` says, by default as `settings`; never after the last question."""
    may_ask_again = state.get("clarification_count", 0) < settings.max_clarifications
    return state.get("clarify") or settings.clarify if may_ask_again else "never"


def calls_left(state: AnalystState, settings: Settings) -> int:
    """Return how many more tool calls the model may choose."""
    return max(0, settings.max_steps - state["step_count"])


def may_correct_form(observations: Sequence[Observation]) -> bool:
    """Return whether a result that does not fit the output type may be returned to the model: once."""
    return not any(each["content"].get("error", {}).get("code") == InvalidOutputType.code for each in observations)


def may_return_draft(state: AnalystState) -> bool:
    """Return whether a conclusion whose text has problems may be returned to the model: once."""
    return not state["rejected"]


def may_review_again(state: ReportState) -> bool:
    """Return whether the answers of a report may be reviewed, which may add questions."""
    return state["review_count"] < _MAX_REVIEWS


def unless_failed(router: Router | str, answer_node: str) -> Router:
    """Return `router`, which may be the name of the only next node, with the edge of a failure to `answer_node`."""

    def next_node(state: Any) -> str:
        if state.get("failure"):
            return answer_node
        return router if isinstance(router, str) else router(state)

    return next_node


def after_begin(state: State) -> Literal["retrieve_tables", "ask_clarification", "keep_answer"]:
    """Retrieve tables for a question; go on with those of the thread after an answer or feedback of the user."""
    inputs = state["given"]
    feedback = inputs.get("feedback")
    if state["turns"] and isinstance(feedback, dict) and feedback.get("accepted") is True:
        return "keep_answer"
    return "ask_clarification" if "relevant_tables_with_rel_columns" in inputs else "retrieve_tables"


def after_retrieve_tables(state: State) -> Literal["answer", "select_columns", "retrieve_tables", "check_stop_words"]:
    """Check a statement that needs no model, of a verified query; retry if no table was retrieved.

    A question that changes only the form of the last result is answered at once.
    """
    if state.get("sql_request_is_valid"):
        return "answer"
    if _is_written(state):
        return "check_stop_words"
    return "retrieve_tables" if state.get("error") else "select_columns"


def after_ask_clarification(state: State) -> Literal["answer", "generate_sql", "check_stop_words"]:
    """Put an open question to the user; check the statement of a chosen reading; otherwise generate one."""
    if state.get("clarification"):
        return "answer"
    return "check_stop_words" if state.get("sql_request") else "generate_sql"


def after_generate_sql(state: State) -> Literal["answer", "retrieve_tables", "check_stop_words"]:
    """Put an open question to the user; retrieve more tables if the model reports that the question is off topic.

    A reply, and the last result in another form, are answers.
    """
    if state.get("clarification") or state.get("reply") or state["sql_request_is_valid"]:
        return "answer"
    return "retrieve_tables" if state.get("error") else "check_stop_words"


def after_check_stop_words(state: State) -> Literal["generate_sql", "validate_sql", "execute_sql", "check_stop_words"]:
    """Generate another statement if this one contains forbidden operations; execute one that needs no model."""
    if is_edited(state):
        return "check_stop_words"
    if state["stop_words"]:
        return "generate_sql"
    return "execute_sql" if _is_written(state) else "validate_sql"


def after_validate_sql(state: State) -> Literal["check_stop_words", "generate_sql", "execute_sql", "answer"]:
    """Check a correction again; generate another statement after an objection without a correction.

    A statement that was validated because of its result is answered with this result.
    """
    validation = state.get("validation")
    if is_edited(state) or (validation and validation["corrected_sql"]):
        return "check_stop_words"
    if validation and not validation["is_valid"] and state.get("sql_error_info"):
        return "generate_sql"
    return "answer" if state["sql_request_is_valid"] else "execute_sql"


def after_execute_sql(
    state: State,
) -> Literal["answer", "generate_sql", "validate_sql", "retrieve_tables", "check_stop_words"]:
    """Generate another statement after an error; validate a statement whose result is doubtful.

    After a verified query that cannot be used, the question starts again without it.
    """
    if is_edited(state):
        return "check_stop_words"
    if not state["sql_request_is_valid"]:
        return "retrieve_tables" if state["attempts"][-1]["outcome"] == "not used" else "generate_sql"
    return "validate_sql" if current(state["attempts"]).get("doubts") else "answer"


def is_edited(state: State) -> bool:
    """Return whether a person has replaced the statement in the state."""
    attempts, sql = state.get("attempts"), state.get("sql_request")
    return bool(sql and attempts) and current(attempts)["sql"] != sql


def _is_written(state: State) -> bool:
    """Return whether the statement is that of a verified query or of a person."""
    statement = current(state.get("attempts"))
    is_used = statement["outcome"] != "not used"
    return is_used and ("verified" in statement or statement["origin"] == "user")


def after_answer(state: State | AnalystState) -> Literal["await_clarification", "__end__"]:
    """Wait for the user if a clarifying question is open."""
    return "await_clarification" if state.get("clarification") else "__end__"


def after_await_clarification(state: State | AnalystState) -> Literal["begin", "__end__"]:
    """Start a new run with the user's answer, if there is one."""
    return "begin" if state.get("clarification_answer") is not None else "__end__"


def after_plan(state: AnalystState) -> Literal["narrate", "run_tool", "plan"]:
    """Run the planned call; narrate a conclusion or a question to the user; otherwise ask the model again."""
    if state.get("clarification") or state.get("conclusion") or state.get("reply"):
        return "narrate"
    return "run_tool" if state.get("call") else "plan"


def after_report_plan(state: ReportState) -> Literal["answer_parts", "write"]:
    """Put the plan to the user if it is to be approved."""
    return "write" if state.get("clarification") else "answer_parts"


def after_answer_parts(state: ReportState) -> Literal["review", "write"]:
    """Put the questions of the parts to the user; write the report after the last review."""
    return "write" if state.get("clarification") or not may_review_again(state) else "review"


def after_review(state: ReportState) -> Literal["answer_parts", "write"]:
    """Answer the questions that the review has added."""
    return "answer_parts" if any(each["id"] not in state["parts"] for each in state["plan"]) else "write"
