"""Names of match rules, methods and oracles."""

from enum import StrEnum
from typing import Literal

MAX_ROUNDS = 4
"""Maximum rounds of feedback after the first answer, as in the paper."""
NO_AMBIGUITY = "NO AMBIGUITY"
"""Log entry for a review that found no ambiguity."""


class MatchRule(StrEnum):
    """The rule by which two results are equal; see `benchmarks.experiments.match`."""

    PROJECT = "project"
    PUBLISHED = "published"


Failed = Literal["Failed"]
FAILED: Failed = "Failed"
"""Replaces the number of questions if no round gave a match."""


class Method(StrEnum):
    """The procedure after a wrong first answer; see `benchmarks.experiments.rounds`."""

    BASELINE = "baseline"
    SIMPLE_FEEDBACK = "simple_feedback"
    CLARIFY = "clarify"
    CLARIFY_EARLY_STOP = "clarify_early_stop"


ASKING = (Method.CLARIFY, Method.CLARIFY_EARLY_STOP)
"""The methods that put questions to the user."""


class OracleName(StrEnum):
    """The oracle that answers clarifying questions."""

    MODEL = "model"
    RULE = "rule"
