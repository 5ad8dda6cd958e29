"""The parts of the documentation that are made from the code. `make docs` writes them; a test compares them."""

import json
import re
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from agent.analyst import graph as analyst
from agent.charts.plot_spec import plot_spec_schema
from agent.cli import app
from agent.graph import graph
from agent.queryspec.schema import json_schema
from agent.service_settings import ServiceSettings
from agent.settings import Settings
from agent.tools.toolbox import TOOLS

ROOT = Path(__file__).resolve().parents[1]
_COMMANDS = (
    ("ask",),
    ("demo",),
    ("serve",),
    ("guard",),
    ("source", "check"),
    ("eval", "replay"),
    ("eval", "run"),
    ("eval", "clarification"),
    ("eval", "compare"),
    ("examples", "add"),
    ("examples", "list"),
    ("examples", "remove"),
    ("examples", "import"),
    ("key", "new"),
    ("trace", "list"),
    ("trace", "show"),
    ("trace", "verify"),
    ("trace", "replay"),
)


_FOLDERS = {"cache_dir": "the user's cache directory", "data_dir": "the user's data directory"}


def settings_table() -> str:
    """Return every setting with its default as a Markdown table."""
    lines = ["| setting | default | what it does |", "|---|---|---|"]
    fields = Settings.model_fields
    # Those of the server come last.
    for name, field in sorted(fields.items(), key=lambda each: each[0] in ServiceSettings.model_fields):
        default = _FOLDERS.get(name) or field.get_default(call_default_factory=False)
        shown = default if default not in (None, "") else "–"
        lines.append(f"| `DATASPHINX_{name.upper()}` | {shown} | {field.description} |")
    return "\n".join(lines)


def cli_help() -> str:
    """Return the help of every command."""
    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "_TYPER_FORCE_DISABLE_TERMINAL": "1"})
    command = get_command(app)
    blocks = []
    for path in ((), *_COMMANDS):
        text = runner.invoke(app, [*path, "--help"], prog_name="datasphinx").output
        blocks.append("\n".join(line.rstrip() for line in text.strip().splitlines()))
    assert command.name == "datasphinx"
    return "```text\n" + "\n\n".join(blocks) + "\n```"


def graph_picture() -> str:
    """Return the graph as Mermaid."""
    return f"```mermaid\n{graph.get_graph().draw_mermaid().strip()}\n```"


def analyst_picture() -> str:
    """Return the graph of the analyst as Mermaid."""
    return f"```mermaid\n{analyst.get_graph().draw_mermaid().strip()}\n```"


def tools_table() -> str:
    """Return the tools of the analyst with their arguments as a Markdown table."""
    lines = ["| tool | arguments | what it does |", "|---|---|---|"]
    for tool in TOOLS:
        names = ", ".join(f"`{name}`" for name in tool.arguments.model_fields)
        lines.append(f"| `{tool.name}` | {names} | {tool.description} |")
    return "\n".join(lines)


PARTS = {
    "settings": (ROOT / "docs/settings.md", settings_table),
    "cli": (ROOT / "docs/cli.md", cli_help),
    "graph": (ROOT / "docs/graph.md", graph_picture),
    "analyst": (ROOT / "docs/analyst.md", analyst_picture),
    "tools": (ROOT / "docs/analyst.md", tools_table),
}
"""Each generated part: the file that holds it between its two markers, and what makes it."""


def _json(schema: dict[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


FILES = {
    "query_spec": (ROOT / "docs/query_spec.schema.json", lambda: _json(json_schema())),
    "plot_spec": (ROOT / "docs/plot_spec.schema.json", lambda: _json(plot_spec_schema())),
}
"""Each file that is generated as a whole, and what makes it."""


def with_part(text: str, name: str, part: str) -> str:
    """Return `text` with `part` between the markers of `name`.

    Raises:
        ValueError: the markers are missing.
    """
    pattern = re.compile(rf"(<!-- {name}: generated -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no markers for {name}")
    return pattern.sub(lambda match: match[1] + part + match[2], text)


def main() -> None:
    """Write every part into its file, and every file that is one part."""
    for name, (path, make) in PARTS.items():
        path.write_text(with_part(path.read_text(encoding="utf-8"), name, make()), encoding="utf-8")
    for path, make in FILES.values():
        path.write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
