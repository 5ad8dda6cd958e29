"""What the driver sends to a ClickHouse server: each statement runs in a session with the limits, which is read-only.

The server here answers HTTP with ClickHouse's engine in the process, and notes the statements of each session.
"""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.database import Database
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.types import Limits
from tests.support.loopback import Handler, LoopbackServer

pytestmark = [pytest.mark.clickhouse, pytest.mark.server]
LIMITS = Limits(timeout_s=7, row_limit=20, memory_mb=64)
CATALOG = Catalog("clickhouse", {}, "default")
SQL = "SELECT number FROM numbers(1)"


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The URL of a server, and its sessions and statements in their order."""
    chdb = pytest.importorskip("chdb")
    pytest.importorskip("clickhouse_connect")
    received: list[tuple[str, str]] = []

    class ClickHouse(Handler):
        def do_POST(self) -> None:
            sql = self.body().decode()
            received.append((parse_qs(urlsplit(self.path).query).get("session_id", [""])[0], sql))
            self.reply(b"" if sql.startswith("SET ") else chdb.query(sql, "TabSeparated").bytes())

    with LoopbackServer(ClickHouse) as http:
        yield f"clickhouse://reader@127.0.0.1:{http.port}/default", received


def test_each_statement_runs_in_a_session_with_the_limits_that_is_read_only(
    server: tuple[str, list[tuple[str, str]]],
) -> None:
    url, received = server
    database = Database(url)
    for _ in range(2):
        assert execute(SQL, database, CATALOG, LIMITS)["rows"] == [[0]]
    database.engine.dispose()

    places = [at for at, (_, sql) in enumerate(received) if sql.startswith(SQL)]
    assert len(places) == 2
    for at in places:
        session = received[at][0]
        settings = [sql for _, sql in received[:at][-5:]]
        assert session and {each for each, _ in received[at - 5 : at]} == {session}
        assert settings == [
            "SET dialect = 'clickhouse'",
            "SET max_result_rows = 21, result_overflow_mode = 'break'",
            f"SET max_memory_usage = {64 << 20}, max_threads = 4",
            "SET max_execution_time = 7, timeout_overflow_mode = 'throw'",
            "SET readonly = 2",
        ]
