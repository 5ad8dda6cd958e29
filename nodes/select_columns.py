"""Node: choose the columns that generation sees."""

from typing import Any

from agent.catalog.retrieval import link_columns
from agent.services import Services
from agent.state import State


def select_columns(state: State, services: Services) -> dict[str, Any]:
    """Choose columns of the relevant tables; all of them where they fit into the budget."""
    source = services.source(state.get("source"))
    columns = link_columns(state["question"], source, services, state["relevant_tables"])
    return {"relevant_tables_with_rel_columns": columns}
