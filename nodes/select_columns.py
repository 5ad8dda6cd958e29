"""Node: select the columns that generation sees."""

from typing import Any

from agent.services import Services
from agent.state import State


def select_columns(state: State, services: Services) -> dict[str, Any]:
    """Select columns of the relevant tables; all columns if they fit into the token budget."""
    source = services.source(state.get("source"))
    columns = services.roles.linker.link_columns(state["question"], source, state["relevant_tables"])
    return {"relevant_tables_with_rel_columns": columns}
