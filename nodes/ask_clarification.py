"""Node: decide whether to ask the user a clarifying question."""

from typing import Any, cast

from datasphinx.agent.answers.texts_without_rows import said_about, supported_question
from datasphinx.agent.clarify.feedback import apply_user_input
from datasphinx.agent.clarify.review import put_question, review, shared_word_question
from datasphinx.agent.generation.question import question_of
from datasphinx.agent.proposals import propose_rejected
from datasphinx.agent.routes import clarify_of
from datasphinx.agent.services import Services
from datasphinx.agent.state import State


def ask_clarification(state: State, services: Services) -> dict[str, Any]:
    """Apply the user's answer or feedback, and return one clarifying question or none.

    Unless `clarify` is "never", a word of the question that several metrics or terms share is asked about without the
    model. With "always", the model reviews every question; with "never", none. With "auto", generation finds the
    readings of the question. For a model that cannot do that, the question is reviewed here, unless a reading was
    chosen.

    An answer that was rejected with a comment is listed for the reviewers of the source.
    """
    is_first = not state.get("sql_generate_count")
    may_remark = bool(state.get("relevant_tables_with_rel_columns"))
    user_input = apply_user_input(state, may_remark=may_remark) if is_first else {}
    feedback = state.get("feedback")
    if user_input.get("rejected_sql") and feedback and (reason := feedback.get("comment", "").strip()):
        propose_rejected(state["turns"][-1], reason, state.get("source") or services.choices[0], services)
    state = cast(State, {**state, **user_input})
    source, question = services.source(state.get("source")), question_of(state)
    count = state.get("clarification_count", 0)
    update = {**user_input, "clarification": None}
    mode, roles = clarify_of(state, services.settings), services.roles
    if mode != "never" and not user_input.get("sql_request"):
        shared = shared_word_question(question, source)
        if shared:
            return {**update, **put_question(count, shared, ())}
    is_reviewed = mode == "auto" and not roles.sql_writer.finds_alternatives and not user_input.get("sql_request")
    reviewer = roles.ambiguity_reviewer if mode == "always" or is_reviewed else None
    if not is_first or reviewer is None:
        return update
    outcome = review(question, source, reviewer, services.today_of(source))
    asked = supported_question(*outcome, said_about(question), source) if outcome else None
    return {**update, **put_question(count, *asked)} if asked else update
