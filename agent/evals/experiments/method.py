"""The names of methods and oracles, apart from what they take to import."""

from enum import StrEnum
from typing import Literal

MOST_ROUNDS = 4
"""Rounds of feedback after the first answer, as in the paper."""
NO_AMBIGUITY = "NO AMBIGUITY"
"""What the log has where nothing was found to ask."""

Failed = Literal["Failed"]
FAILED: Failed = "Failed"
"""What stands in place of the number of questions where none of the rounds brought a match."""


class Method(StrEnum):
    """How a question is worked on after the first answer was wrong; `agent.evals.experiments.rounds` has each."""

    BASELINE = "baseline"
    SIMPLE_FEEDBACK = "simple_feedback"
    CLARIFY = "clarify"
    CLARIFY_EARLY_STOP = "clarify_early_stop"


ASKING = (Method.CLARIFY, Method.CLARIFY_EARLY_STOP)
"""Those that put questions to the user."""


class OracleName(StrEnum):
    """Who answers the clarifying questions."""

    MODEL = "model"
    RULE = "rule"
