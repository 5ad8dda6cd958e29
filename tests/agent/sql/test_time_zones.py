"""Today, and the days of moments, are those of one time zone: that of the session, which the answer states."""

import time
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import make_url

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.time_zones import depends_on_zone, is_zone_of_machine, today_in
from tests.agent.sql.engines import POSTGRES_URL, QUICK, over

RUNS = Table(
    "runs",
    (
        Column("id", "INTEGER"),
        Column("began", "TIMESTAMP WITH TIME ZONE"),
        Column("ended", "TIMESTAMPTZ"),
        Column("due", "TIMESTAMP"),
    ),
)


def far_zone() -> str:
    """Return a zone where it is another day now than in UTC."""
    return "Pacific/Kiritimati" if datetime.now(UTC).hour >= 10 else "Etc/GMT+12"


@over([name for name in QUICK if name not in {"redshift", "snowflake"}])
def test_today_is_that_of_the_engine(source: Source) -> None:
    if source.catalog.dialect == "sqlite":
        assert source.time_zone == "UTC"
    assert source.time_zone
    today = "CURRENT_DATE" if source.catalog.dialect != "clickhouse" else "today()"
    assert source.execute(f"SELECT {today} AS d")["rows"][0][0] == source.today().isoformat()


def test_a_zone_may_be_a_name_or_an_offset() -> None:
    now = datetime.now(UTC)
    assert today_in("Pacific/Kiritimati") == now.astimezone(ZoneInfo("Pacific/Kiritimati")).date()
    assert today_in("UTC+14:00") == (now + timedelta(hours=14)).date()
    assert today_in("UTC-12:00") == (now - timedelta(hours=12)).date()
    assert today_in("") == date.today()


@pytest.mark.parametrize(
    "sql, expected",
    [
        ("SELECT COUNT(*) FROM runs WHERE began >= '2026-03-15'", True),
        ("SELECT COUNT(*) FROM runs WHERE began BETWEEN '2026-03-01' AND '2026-03-31'", True),
        ("SELECT COUNT(*) FROM runs WHERE EXTRACT(HOUR FROM began) > 21", True),
        ("SELECT DATE_TRUNC('week', began) AS w, COUNT(*) FROM runs GROUP BY 1", True),
        ("SELECT TO_CHAR(began, 'YYYY-MM-DD') AS d, COUNT(*) FROM runs GROUP BY 1", True),
        ("SELECT COUNT(*) FROM runs WHERE began > CURRENT_TIMESTAMP - INTERVAL '30 days'", True),
        # A month has about as many rows in each zone.
        ("SELECT COUNT(*) FROM runs WHERE began >= '2026-03-01'", False),
        ("SELECT COUNT(*) FROM runs WHERE began >= '2025-01-01' AND began < DATE '2026-01-01'", False),
        ("SELECT EXTRACT(YEAR FROM began)::int AS y, COUNT(*) FROM runs GROUP BY 1 ORDER BY 1", False),
        ("SELECT DATE_TRUNC('month', began::date) AS m, COUNT(*) FROM runs GROUP BY 1", False),
        ("SELECT TO_CHAR(began, 'YYYY-MM') AS m, COUNT(*) FROM runs GROUP BY 1", False),
        ("SELECT EXTRACT(YEAR FROM CURRENT_DATE) - id AS age FROM runs", False),
        ("SELECT COUNT(*) FROM runs WHERE began >= DATE_TRUNC('year', CURRENT_DATE - INTERVAL '1 year')", False),
        # Moments beside moments, and the zone that the statement names.
        ("SELECT id FROM runs WHERE ended > began ORDER BY began DESC", False),
        ("SELECT MAX(began) AS last FROM runs", False),
        ("SELECT EXTRACT(EPOCH FROM ended) AS e FROM runs", False),
        ("SELECT COUNT(*) FROM runs WHERE (began AT TIME ZONE 'Europe/Berlin')::date = '2026-03-15'", False),
        ("SELECT DATE_TRUNC('day', began) AS d, COUNT(*) FROM runs GROUP BY 1", True),
        ("SELECT id FROM (SELECT id, CAST(began AS DATE) AS d FROM runs) AS t WHERE d = '2026-03-31'", True),
        ("SELECT COUNT(*) FROM runs WHERE due < CURRENT_DATE", True),
        ("SELECT began - due FROM runs", True),
        ("SELECT AVG(ended - began) AS duration FROM runs", False),
        ("SELECT id, began FROM runs", False),
        ("SELECT COUNT(began) FROM runs", False),
        ("SELECT COUNT(*) FROM runs WHERE began IS NOT NULL", False),
        ("SELECT COUNT(*) FROM runs WHERE due >= '2026-03-01'", False),
    ],
)
def test_statements_that_depend_on_the_zone(sql: str, expected: bool) -> None:
    assert depends_on_zone(sql, Catalog("postgres", {"runs": RUNS})) is expected


@pytest.mark.parametrize(
    ("zone", "local", "is_same"),
    [
        ("Etc/UTC", "UTC", True),
        ("UTC+00:00", "Etc/UTC", True),
        ("Europe/Berlin", "Europe/Paris", True),
        ("Etc/UTC", "Europe/London", False),
        ("Europe/Berlin", "Etc/UTC", False),
        ("UTC+01:00", "Europe/Berlin", False),
    ],
)
def test_a_zone_is_that_of_the_machine_if_its_days_are_the_same_all_year(
    zone: str, local: str, is_same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", local)
    time.tzset()
    try:
        assert is_zone_of_machine(zone) is is_same
    finally:
        monkeypatch.undo()
        time.tzset()


def test_days_between_two_moments_are_those_of_the_zone_on_duckdb() -> None:
    sql = "SELECT ended - began AS duration FROM runs"
    assert depends_on_zone(sql, Catalog("duckdb", {"runs": RUNS}))


@pytest.mark.postgres
@over(["postgres"])
def test_the_prompt_and_the_answer_name_the_zone(source: Source) -> None:
    zone = far_zone()
    url = make_url(POSTGRES_URL).update_query_dict({"options": f"-c timezone={zone}"})
    model = ScriptedModel(
        {"GeneratedSQL": [{"sql": "SELECT COUNT(*) FROM sphinx_orders WHERE created = CURRENT_DATE"}]}
    )
    settings = load_settings(allow_writable_account=True, enable_sql_validation=False)
    output = build_graph(Services(settings, model=model)).invoke(
        {"question": "How many orders today?", "source": url.render_as_string(hide_password=False)}
    )
    (prompt,) = (call.prompt for call in model.calls)
    assert f"{today_in(zone):%A, %Y-%m-%d} (time zone {zone}, weeks begin on Monday)" in prompt
    assert f"time zone {zone}" in output["answer"]
