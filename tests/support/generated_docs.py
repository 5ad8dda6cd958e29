"""Generation of the documentation parts that repeat the code. `make docs` writes them; a test compares them."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from datasphinx.agent.charts.plot_spec import plot_spec_schema
from datasphinx.agent.cli import app
from datasphinx.agent.graph import graph
from datasphinx.agent.knowledge.entries import json_schema as knowledge_schema
from datasphinx.agent.queryspec.schema import json_schema
from datasphinx.agent.settings import ServiceSettings, Settings
from datasphinx.agent.tools.toolbox import TOOLS
from tests.agent.llm.endpoint_behaviours import BEHAVIOURS
from tests.agent.llm.server_behaviours import SERVER_BEHAVIOURS

ROOT = Path(__file__).resolve().parents[2]
_DIRECTORIES = {"cache_dir": "the user's cache directory", "data_dir": "the user's data directory"}


def settings_table() -> str:
    """Return all settings with their defaults as a Markdown table, those of the server last."""
    lines = ["| setting | default | what it does |", "|---|---|---|"]
    fields = Settings.model_fields
    for name, field in sorted(fields.items(), key=lambda item: item[0] in ServiceSettings.model_fields):
        default = _DIRECTORIES.get(name) or field.get_default(call_default_factory=False)
        shown = default if default not in (None, "") else "–"
        lines.append(f"| `DATASPHINX_{name.upper()}` | {shown} | {field.description} |")
    return "\n".join(lines)


def commands(command: Any, path: str = "datasphinx") -> Iterator[tuple[str, Any]]:
    """Yield the commands below `command` that its help lists, each with its path."""
    for name, each in command.commands.items():
        if each.hidden:
            continue
        if hasattr(each, "commands"):
            yield from commands(each, f"{path} {name}")
        else:
            yield f"{path} {name}", each


def cli_table() -> str:
    """Return all commands with the first sentence of their help as a Markdown table."""
    lines = ["| command | what it does |", "|---|---|"]
    for path, command in commands(get_command(app)):
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        names = [each.name.upper() if each.required else f"[{each.name.upper()}]" for each in arguments]
        lines.append(f"| `{' '.join([path, *names])}` | {_first_sentence(command.help)} |")
    return "\n".join(lines)


def _first_sentence(text: str) -> str:
    """Return the first sentence of the help of a command."""
    return re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]


def mermaid(compiled: Any) -> str:
    """Return a compiled graph as a Mermaid diagram, without the descriptions of its nodes."""
    drawn = compiled.get_graph()
    drawn.nodes = {name: node._replace(metadata=None) for name, node in drawn.nodes.items()}
    return str(drawn.draw_mermaid())


def graph_picture() -> str:
    """Return the SQL agent as a Mermaid diagram."""
    return f"```mermaid\n{mermaid(graph).strip()}\n```"


def tools_table() -> str:
    """Return the analyst's tools with their arguments as a Markdown table."""
    lines = ["| tool | arguments | what it does |", "|---|---|---|"]
    for tool in TOOLS:
        names = ", ".join(f"`{name}`" for name in tool.arguments.model_fields)
        lines.append(f"| `{tool.name}` | {names} | {tool.description} |")
    return "\n".join(lines)


def behaviours_table() -> str:
    """Return the tested behaviours of endpoints by group as a Markdown table."""
    lines = ["| group | behaviour | outcome |", "|---|---|---|"]
    for behaviour in BEHAVIOURS:
        outcome = "one clear error" if behaviour.error else "works"
        lines.append(f"| {behaviour.group} | {behaviour.name.replace('|', chr(92) + '|')} | {outcome} |")
    return "\n".join(lines)


def server_behaviours_table() -> str:
    """Return the numbers of tested behaviours of common servers by group as a Markdown table."""
    lines = ["| group | works | one clear error |", "|---|---|---|"]
    for group in dict.fromkeys(behaviour.group for behaviour in SERVER_BEHAVIOURS):
        errors = [bool(behaviour.error) for behaviour in SERVER_BEHAVIOURS if behaviour.group == group]
        lines.append(f"| {group} | {errors.count(False)} | {errors.count(True)} |")
    return "\n".join(lines)


def plugin_example() -> str:
    """Return the code of the example of a plug-in."""
    return f"```python\n{(ROOT / 'tests/plugin/datasphinx_example.py').read_text(encoding='utf-8').strip()}\n```"


CLIENTS = {
    "langgraph-sdk": "the [Agent Server protocol](agent-server.md) from Python",
    "langgraph": "`RemoteGraph`, and a [graph of yours](inside-your-agent.md) with ours as a node",
    "langgraph-api": "[`langgraph dev`](studio.md)",
    "langchain": "a [tool of `create_agent`](inside-your-agent.md)",
    "langserve": "[`RemoteRunnable`](http-api.md#routes-of-langserve)",
    "openai": "[chat completions and responses](chat-clients.md#openai-compatible-api)",
    "openai-agents": "[agents](chat-clients.md#responses) with datasphinx as a model",
    "ag-ui-protocol": "[AG-UI](chat-clients.md#ag-ui)",
    "mcp": "[MCP](mcp.md)",
    "opentelemetry-exporter-otlp-proto-http": "[telemetry](telemetry.md)",
    "pandas": "[DataFrames](python.md)",
    "mypy": "the types of the Python API",
}
"""Client packages that tests use, and what for."""
NPM_CLIENTS = {
    "@langchain/langgraph-sdk": "the same protocol from JavaScript; `useStream` and the calls of Agent Chat UI",
    "@langchain/react": "`useStream` over [event streaming](agent-server.md#event-streaming)",
    "@ag-ui/client": "[AG-UI](chat-clients.md#ag-ui), which CopilotKit uses",
    "@modelcontextprotocol/sdk": "[MCP](mcp.md) from TypeScript",
    "@modelcontextprotocol/inspector-cli": "MCP's inspector",
}
"""The same for JavaScript."""
CLIENT_PROGRAMS = ROOT / "tests/fixtures/clients"
OTHER_CLIENTS = {
    "fastmcp": "[MCP](mcp.md), with clarifying questions as forms",
    "langchain-mcp-adapters": "MCP's tools in an [agent of LangChain](inside-your-agent.md#over-mcp)",
    "deepagents": "a [skill of a deep agent](inside-your-agent.md#as-a-skill-of-a-deep-agent)",
    "litellm": "chat completions",
    "llm": "chat completions on the command line",
    "polars": "[DataFrames](python.md)",
    "ibis-framework": "[expressions](python.md) as data of a question",
    "streamlit": "the [Python API](python.md) in an app",
    "gradio": "the Python API in an app",
    "marimo": "the Python API in a notebook",
    "pyright": "the types of the Python API",
}
"""The same, in an environment of their own."""


def clients_table() -> str:
    """Return the clients that tests use with their versions, from the lock file, as a Markdown table."""
    packages = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    versions = {package["name"]: package.get("version") for package in packages}
    npm = json.loads((ROOT / "tests/fixtures/npm/package.json").read_text(encoding="utf-8"))["dependencies"]
    rows = [(f"`{name}`", versions[name], use) for name, use in CLIENTS.items()]
    pins = [pin for path in CLIENT_PROGRAMS.glob("*.txt") for pin in path.read_text(encoding="utf-8").split()]
    own = {re.split(r"[\[=]", pin)[0]: pin.partition("==")[2] for pin in pins}
    rows += [(f"`{name}`", own[name], use) for name, use in OTHER_CLIENTS.items()]
    rows += [(f"`{name}` (npm)", npm[name], use) for name, use in NPM_CLIENTS.items()]
    lines = ["| client | version | for |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


PARTS = {
    "clients": (ROOT / "docs/compatibility.md", clients_table),
    "plugin": (ROOT / "docs/plugins.md", plugin_example),
    "graph": (ROOT / "docs/graph.md", graph_picture),
    "settings": (ROOT / "docs/settings.md", settings_table),
    "cli": (ROOT / "docs/cli.md", cli_table),
    "tools": (ROOT / "docs/query-specs.md", tools_table),
    "behaviours": (ROOT / "docs/research/endpoints.md", behaviours_table),
    "server-behaviours": (ROOT / "docs/research/endpoints.md", server_behaviours_table),
}
"""The generated parts by name: the file that contains the part between two markers, and its generator."""


def _json(schema: dict[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


FILES = {
    "query_spec": (ROOT / "docs/query_spec.schema.json", lambda: _json(json_schema())),
    "knowledge": (ROOT / "docs/knowledge.schema.json", lambda: _json(knowledge_schema())),
    "plot_spec": (ROOT / "docs/plot_spec.schema.json", lambda: _json(plot_spec_schema())),
}
"""The files that are generated as a whole, and their generators."""


def with_part(text: str, name: str, part: str) -> str:
    """Replace the text between the markers of `name` by `part`.

    Raises:
        ValueError: the markers are missing.
    """
    pattern = re.compile(rf"(<!-- {name}: generated -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no markers for {name}")
    return pattern.sub(lambda match: match[1] + part + match[2], text)


def main() -> None:
    """Write all generated parts and files."""
    for name, (path, make) in PARTS.items():
        path.write_text(with_part(path.read_text(encoding="utf-8"), name, make()), encoding="utf-8")
    for path, make in FILES.values():
        path.write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
