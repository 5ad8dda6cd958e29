"""Ask your data a question and get an answer with the SQL and the rows that prove it.

    from datasphinx import chat

    response = chat("How many customers are there?")

The names below are imported at their first use. In a checkout, `agent`, `nodes` and `prompts` in this folder are links
to the folders at the top of the repository.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datasphinx.agent.analyst import graph as analyst
    from datasphinx.agent.chat import Agent, chat
    from datasphinx.agent.graph import build_graph, graph

    __version__: str

__all__ = ["Agent", "__version__", "analyst", "build_graph", "chat", "graph"]

_SOURCES = {
    "Agent": ("datasphinx.agent.chat", "Agent"),
    "analyst": ("datasphinx.agent.analyst", "graph"),
    "build_graph": ("datasphinx.agent.graph", "build_graph"),
    "chat": ("datasphinx.agent.chat", "chat"),
    "graph": ("datasphinx.agent.graph", "graph"),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("datasphinx")
    if name not in _SOURCES:
        raise AttributeError(f"module 'datasphinx' has no attribute {name!r}")
    module, attribute = _SOURCES[name]
    return getattr(import_module(module), attribute)


def load_ipython_extension(shell: Any) -> None:
    """Add the magic `%%ask` to IPython; called by `%load_ext datasphinx`."""
    from datasphinx import notebook

    notebook.load_ipython_extension(shell)
