"""What an experiment is made of, as it stands in its folder: a run that goes on has to be the same."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from agent.audit.canonical import value_hash
from agent.evals.datasets.dataset import Question
from agent.evals.match_rule import MatchRule
from agent.services import Services

_TAKEN = (
    "llm_temperature",
    "llm_structured_output",
    "enable_sql_validation",
    "sql_validation_max_retries",
    "max_sql_generations",
    "schema_token_budget",
)
"""Settings that can change what an answer is."""


def settings_of(
    services: Services, questions: Sequence[Question], *, method: str, oracle: str | None, rounds: int, rule: MatchRule
) -> dict[str, Any]:
    """Return the settings: how it is done, by which model, and the hash of all `questions` with their statements.

    How many questions are asked at once is not among them, nor where the database files lie.
    """
    settings, embedded = services.settings, services.embedded
    asked = [[question.id, question.db_id, question.asked, question.sql] for question in questions]
    return {
        "method": method,
        "rounds": rounds,
        "oracle": oracle,
        "match": rule.value,
        "model": services.model.name,
        "shots": 0 if embedded else settings.shots,
        "embedded": asdict(embedded) if embedded else None,
        **{name: getattr(settings, name) for name in _TAKEN},
        "n": len(questions),
        "questions": value_hash(asked),
    }
