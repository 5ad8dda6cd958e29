"""Node: select the columns that generation sees."""

from typing import Any

from datasphinx.agent.generation.follow_ups import last_names, with_previous
from datasphinx.agent.services import Services
from datasphinx.agent.state import State


def select_columns(state: State, services: Services) -> dict[str, Any]:
    """Select columns of the relevant tables, with those of the last answer; all if they fit into the token budget."""
    source, tables, follows = services.source(state.get("source")), state["relevant_tables"], state.get("follows")
    columns = services.roles.linker.link_columns(with_previous(state["question"], follows), source, tables)
    known = last_names(follows, state.get("source"), source).columns
    if known:
        columns = {
            key: [name for name in names if name in columns.get(key, ()) or f"{key}.{name}" in known]
            for key, names in tables.items()
        }
        columns = {key: names for key, names in columns.items() if names}
    return {"relevant_tables_with_rel_columns": columns}
