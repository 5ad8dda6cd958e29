"""Ask your data a question and get an answer with the SQL and the rows that prove it.

    from datasphinx import chat

    response = chat("How many customers are there?")

The names below are imported from the packages `agent`, `nodes` and `prompts` at their first use.
"""

from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent.analyst import graph as analyst
    from agent.chat import Agent, chat
    from agent.graph import build_graph, graph

    __version__: str

__all__ = ["Agent", "__version__", "analyst", "build_graph", "chat", "graph"]

_SOURCES = {
    "Agent": ("agent.chat", "Agent"),
    "analyst": ("agent.analyst", "graph"),
    "build_graph": ("agent.graph", "build_graph"),
    "chat": ("agent.chat", "chat"),
    "graph": ("agent.graph", "graph"),
}
_PACKAGES = ("agent", "nodes", "prompts")


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("datasphinx")
    if name not in _SOURCES:
        raise AttributeError(f"module 'datasphinx' has no attribute {name!r}")
    check_packages()
    module, attribute = _SOURCES[name]
    return getattr(import_module(module), attribute)


def load_ipython_extension(shell: Any) -> None:
    """Add the magic `%%ask` to IPython; called by `%load_ext datasphinx`."""
    check_packages()
    import_module("datasphinx.notebook").load_ipython_extension(shell)


def check_packages() -> None:
    """Check that the names `agent`, `nodes` and `prompts` lead to the packages installed with this one.

    Raises:
        ImportError: another package of one of these names comes first on `sys.path`.
    """
    folder = Path(__file__).resolve().parents[1]
    for name in _PACKAGES:
        spec = PathFinder.find_spec(name)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin != folder / name / "__init__.py":
            place = origin or (spec and spec.submodule_search_locations) or "nowhere"
            raise ImportError(
                f"datasphinx needs its own package {name!r}, but Python finds another one at {place}. Rename that "
                "package, or run Python from another directory or with the option -P."
            )
