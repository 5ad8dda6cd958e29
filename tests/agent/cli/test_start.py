"""The start of the command line: modules that it must not import, since each costs every command its time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fake_openai import FakeOpenAI

pytestmark = pytest.mark.process

_UNTIL_FIRST_CALL = """
import json, os, sys

def stop_at_first_connection(event, arguments):
    if event == "socket.connect":
        print(json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)

sys.addaudithook(stop_at_first_connection)
"""
_RUN = "from datasphinx.__main__ import main; main()"

_UNUSED = {
    # Other databases, providers and formats of files.
    "duckdb", "pandas", "psycopg", "pymysql", "clickhouse_connect", "chdb", "pyspark", "trino", "anthropic",
    "openpyxl", "python_calamine", "sqlglot.dialects.clickhouse", "sqlglot.dialects.duckdb", "sqlglot.dialects.mysql",
    "sqlglot.dialects.postgres", "sqlalchemy.dialects.mysql", "sqlalchemy.dialects.postgresql",
    # Prices are needed after a call, charts as pictures on request.
    "genai_prices", "quickjs", "resvg_py", "datasphinx.agent.charts.png",
    # Servers, the embedded model, and threads of servers.
    "fastapi", "uvicorn", "langserve", "mcp", "prometheus_client", "xllamacpp",
    "datasphinx.agent.embedded", "datasphinx.agent.server", "langgraph.checkpoint.postgres",
    # The analyst.
    "datasphinx.agent.analyst", "datasphinx.agent.tools", "datasphinx.agent.queryspec", "datasphinx.agent.analysis",
    # Measurements.
    "datasphinx.agent.evals",
}  # fmt: skip
_NOT_FOR_HELP = _UNUSED | {"langgraph", "langchain_core", "langsmith", "openai", "sqlalchemy", "sqlglot", "numpy"}


def imported(arguments: list[str], environment: dict[str, str]) -> set[str]:
    """Return the modules that `datasphinx` has imported when it first connects to a server, or at its end."""
    at_exit = "import atexit; atexit.register(lambda: print(json.dumps(sorted(sys.modules))))\n"
    code = f"{_UNTIL_FIRST_CALL}{at_exit}sys.argv = {['datasphinx', *arguments]!r}\n{_RUN}"
    command = [sys.executable, "-c", code]
    completed = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=120)
    assert completed.stdout, completed.stderr
    return set(json.loads(completed.stdout.splitlines()[-1]))


@pytest.mark.heavy
def test_ask_imports_no_unused_module_before_its_first_call(cache_dir: Path) -> None:
    with FakeOpenAI() as server:
        modules = imported(["ask", "--json", "How many customers are there?"], server.variables(cache_dir))

    assert "openai" in modules, "the model was not called"
    assert (modules & _UNUSED) == set()


@pytest.mark.parametrize(
    ("arguments", "unused"),
    # Settings are models of pydantic, which the help does not show.
    [(["--help"], _NOT_FOR_HELP | {"pydantic"}), (["source", "list"], _NOT_FOR_HELP)],
    ids=["help", "source list"],
)
def test_commands_that_ask_nothing_import_neither_graph_nor_client(arguments: list[str], unused: set[str]) -> None:
    modules = imported(arguments, {"DATASPHINX_SOURCES": '{"wide": "trino://reader@db.example/books"}'})

    assert "datasphinx.agent.cli" in modules
    assert modules & unused == set()
