"""Node: decide whether the user has to be asked."""

from typing import Any

from agent.services import Services
from agent.state import State


def ask_clarification(state: State, services: Services) -> dict[str, Any]:
    """Find nothing to ask: the likeliest reading is taken, and generation states what it assumed."""
    return {"clarification": None}
