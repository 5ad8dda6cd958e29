"""The effort of a question: which model calls besides the generation of a statement it may cost."""

from typing import Literal

from agent.settings import Settings
from agent.state import State
from agent.types import Effort


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
