"""`datasphinx mcp` as a process, with the official client over standard input and output."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, ElicitResult

from tests.agent.server.mcp.clients import HELLO, MODES, User, code_of, content
from tests.agent.server.serving import ASKED, COUNT
from tests.conftest import VALID
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT
from tests.support.commands import Run
from tests.support.fake_openai import FakeOpenAI

COMMAND = str(Path(sys.executable).with_name("datasphinx"))

T = TypeVar("T")


def talk(script: Callable[[Client], Awaitable[T]], user: User, log: Path, mode: str, **settings: str) -> T:
    """Return the result of `script`, called with a client of a new process, whose standard error is `log`."""
    env = {**os.environ, **{f"DATASPHINX_{name.upper()}": value for name, value in settings.items()}}

    async def run() -> T:
        with log.open("w") as errors:
            transport = stdio_client(StdioServerParameters(command=COMMAND, args=["mcp"], env=env), errlog=errors)
            async with Client(transport, elicitation_callback=user, mode=mode) as client:
                return await script(client)

    return asyncio.run(run())


@pytest.mark.heavy
@pytest.mark.process
def test_a_client_starts_the_command_and_asks(tmp_path: Path, cache_dir: Path) -> None:
    async def script(client: Client) -> tuple[list[str], list[CallToolResult]]:
        names = [tool.name for tool in (await client.list_tools()).tools]
        results = [
            await client.call_tool("datasphinx_ask", dict(ASKED)),
            await client.call_tool("datasphinx_ask", {"question": BEST}),
            await client.call_tool("datasphinx_schema", {"tables": ["orders"]}),
            await client.call_tool("datasphinx_run_sql", {"sql": "SELECT COUNT(*) AS n FROM orders"}),
            await client.call_tool("datasphinx_run_sql", {"sql": "DROP TABLE orders"}),
        ]
        return names, results

    for mode in MODES:
        user = User(ElicitResult(action="accept", content={"option": "by amount"}))
        with FakeOpenAI([COUNT, ASKS], default=VALID) as model:
            settings = {
                "llm_base_url": model.base_url,
                "llm_model": "scripted",
                "cache_dir": str(cache_dir),
                "run_sql": "true",
            }
            names, results = talk(script, user, tmp_path / "log", mode, **settings)
        answer, clarified, described, ran, refused = results
        assert "datasphinx_run_sql" in names and len(user.forms) == 1
        assert content(answer)["rows"] == content(ran)["rows"] == [[10127]]
        assert content(clarified)["sql"] == BY_AMOUNT
        assert content(described)["tables"] == ["orders"]
        assert code_of(refused) == "statement_refused"
        assert (tmp_path / "log").read_text() == ""


class Kept(io.BytesIO):
    """A standard stream that stays readable when it is closed."""

    def close(self) -> None:
        pass


def test_the_command_answers_until_its_input_ends(run: Run, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    written = Kept()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Kept(json.dumps(HELLO).encode() + b"\n")))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written))
    assert run("mcp")[0] == 0
    (answer,) = map(json.loads, written.getvalue().splitlines())
    assert answer["id"] == 1 and answer["result"]["serverInfo"]["name"] == "datasphinx"


def test_wrong_settings_end_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value, expected in (
        ("ROW_LIMIT", "none", 2),
        ("RECORD_URL", "nowhere", 5),
        ("DATA_DIR", "/proc/none", 5),
    ):
        with monkeypatch.context() as patched:
            patched.setenv(f"DATASPHINX_{name}", value)
            code, out, err = run("mcp")
        assert (code, out) == (expected, "") and err, name
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    code, _, err = run("mcp")
    assert code == 5 and "mcp" in err
