"""Configured sources: where they are set, the rights of their accounts, and messages about both."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url
from typer.testing import CliRunner

from datasphinx.agent.cli import app, main
from datasphinx.agent.engines.privileges import beyond_reading
from datasphinx.agent.errors import ConfigurationError, DatasphinxError, Refused, SourceNotFound, StatementRefused
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.names import SAMPLE
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.sql.engines import MYSQL_URL, POSTGRES_URL, mysql, postgres
from tests.support.databases import make_database, make_table, url


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def things(tmp_path: Path) -> str:
    return url(make_table(tmp_path, "name TEXT, size INTEGER", [("box", 3)]))


def configure(text: str) -> None:
    Path("datasphinx.toml").write_text(text, encoding="utf-8")


def test_sources_from_the_environment(monkeypatch: pytest.MonkeyPatch, things: str) -> None:
    sources = {"store": things, "other": {"url": things, "secret_columns": ["things.name"]}}
    monkeypatch.setenv("DATASPHINX_SOURCES", json.dumps(sources))
    services = Services(load_settings())
    assert services.choices == ("store", "other")
    assert services.source("store").execute("SELECT size FROM things")["rows"] == [[3]]
    assert services.settings.sources["other"].secret_columns == ("things.name",)


def test_sources_from_a_file(things: str) -> None:
    configure(f'row_limit = 7\n[sources]\nstore = "{things}"\n[sources.other]\nurl = "{things}"\n')
    settings = load_settings()
    assert settings.row_limit == 7
    assert set(settings.sources) == {"store", "other"}


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    configure("row_limit = 7\n")
    monkeypatch.setenv("DATASPHINX_ROW_LIMIT", "8")
    assert load_settings().row_limit == 8


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("row_limit = ", "datasphinx.toml"),
        ("[sources.a]\nurl = 'sqlite:///a.db'\nwritable = true\n", r"SOURCES.*a\.writable"),
        ("[sources.a]\nallow_writable_account = true\n", r"SOURCES.*a\.url"),
        ("row_limits = 5\n", "ROW_LIMITS"),
    ],
)
def test_a_mistake_in_the_file_is_named(text: str, reason: str) -> None:
    configure(text)
    with pytest.raises(ConfigurationError, match=f"(?s){reason}"):
        load_settings()


def test_sources_that_are_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_SOURCES", "sqlite:///shop.db")
    with pytest.raises(ConfigurationError, match="DATASPHINX_SOURCES.*JSON"):
        load_settings()


def test_a_password_is_nowhere() -> None:
    settings = load_settings(sources={"a": "postgresql://me:hunter2@db/x"})
    assert "hunter2" not in f"{settings!r} {settings.model_dump()} {settings.model_dump_json()}"


def test_an_unknown_name_lists_the_known_ones(things: str) -> None:
    services = Services(load_settings(sources={"store": things}))
    with pytest.raises(SourceNotFound, match="stor.*known: store, sample"):
        services.source("stor")


def test_where_urls_are_not_taken_names_are(things: str) -> None:
    services = Services(load_settings(sources={"store": things}), any_source=False)
    assert services.source("store").catalog.tables
    with pytest.raises(SourceNotFound):
        services.source(things)


def test_without_any_source_the_sample_is_asked(cache_dir: Path) -> None:
    services = Services(load_settings(cache_dir=cache_dir))
    assert services.choices == (SAMPLE,)
    assert "orders" in services.source().catalog.tables


# What accounts may do


@pytest.fixture
def reader() -> Iterator[str]:
    """The URL of a role of PostgreSQL that may only read one table."""
    with postgres(Path()) as server:
        clean = (
            "DROP TABLE IF EXISTS sphinx_read",
            "DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'sphinx_reader')"
            " THEN DROP OWNED BY sphinx_reader; DROP ROLE sphinx_reader; END IF; END $$",
        )
        make = (
            "CREATE TABLE sphinx_read (id INTEGER)",
            "CREATE ROLE sphinx_reader LOGIN",
            "GRANT SELECT ON sphinx_read TO sphinx_reader",
        )
        for statement in (*clean, *make):
            server.admin(statement)
        yield make_url(POSTGRES_URL).set(username="sphinx_reader").render_as_string(hide_password=False)
        for statement in clean:
            server.admin(statement)


@pytest.mark.postgres
def test_a_role_that_may_only_read_is_used(reader: str) -> None:
    source = Services(load_settings(sources={"dwh": reader})).source("dwh")
    assert source.execute("SELECT COUNT(*) FROM sphinx_read")["rows"] == [[0]]
    source.close()


@pytest.mark.postgres
def test_a_role_that_may_write_is_named_with_its_rights(reader: str) -> None:
    with postgres(Path()) as server:
        server.admin("GRANT DELETE ON sphinx_read TO sphinx_reader")
    with pytest.raises(Refused, match=r"DELETE on 1 tables, such as public\.sphinx_read"):
        Services(load_settings(sources={"dwh": reader})).source("dwh")
    allowed = {"dwh": {"url": reader, "allow_writable_account": True}}
    source = Services(load_settings(sources=allowed)).source("dwh")
    assert source.execute("SELECT COUNT(*) FROM sphinx_read")["rows"] == [[0]]
    source.close()


@pytest.mark.postgres
def test_a_superuser_is_refused_and_said_how_to_do_better() -> None:
    with pytest.raises(Refused, match="superuser"):
        Services(load_settings(source=POSTGRES_URL)).source()
    output = check(POSTGRES_URL, code=3)
    assert output["can_write"] is True
    assert "superuser" in output["beyond_reading"]
    assert output["open_to_all"] == ["advisory locks (pg_advisory_lock)", "large objects (lo_create)"]
    assert "GRANT SELECT" in output["advice"]


@pytest.mark.postgres
def test_check_of_a_reader(reader: str) -> None:
    assert check(reader, code=0)["beyond_reading"] == []


@pytest.mark.postgres
def test_a_role_that_may_run_programs_on_the_server(reader: str) -> None:
    with postgres(Path()) as server:
        server.admin("GRANT pg_write_server_files TO sphinx_reader")
        server.admin("ALTER ROLE sphinx_reader CREATEDB")
    assert check(reader, code=3)["beyond_reading"] == ["CREATEDB", "member of pg_write_server_files"]


@pytest.mark.mysql
def test_accounts_of_mariadb() -> None:
    with mysql(Path()) as server:
        server.admin("CREATE OR REPLACE USER 'sphinx_reader'@'127.0.0.1'")
        server.admin("CREATE OR REPLACE USER 'sphinx_reader'@'localhost'")
        server.admin("GRANT SELECT ON test.* TO 'sphinx_reader'@'127.0.0.1', 'sphinx_reader'@'localhost'")
        reader = make_url(MYSQL_URL).set(username="sphinx_reader").render_as_string(hide_password=False)
        assert check(reader, code=0)["open_to_all"] == ["named locks (GET_LOCK)"]
        server.admin("GRANT FILE ON *.* TO 'sphinx_reader'@'127.0.0.1', 'sphinx_reader'@'localhost'")
        assert check(reader, code=3)["beyond_reading"] == ["FILE on *.*"]
        server.admin("DROP USER 'sphinx_reader'@'127.0.0.1', 'sphinx_reader'@'localhost'")
    with pytest.raises(Refused, match="ALL PRIVILEGES"):
        Services(load_settings(source=MYSQL_URL)).source()


@pytest.mark.parametrize(
    ("line", "rights"),
    [
        ("GRANT USAGE ON *.* TO `a`@`%`", []),
        ("GRANT SELECT, SHOW VIEW ON `shop`.* TO `a`@`%`", []),
        ("GRANT SELECT (`a`, `b`), UPDATE (`b`) ON `shop`.`t` TO `a`@`%`", [("UPDATE", "`shop`.`t`")]),
        ("GRANT ALL PRIVILEGES ON *.* TO `a`@`%`", [("ALL PRIVILEGES", "*.*")]),
        ("GRANT SELECT ON *.* TO `a`@`%` WITH GRANT OPTION", [("GRANT OPTION", "*.*")]),
        ("GRANT `writers` TO `a`@`%`", []),
    ],
)
def test_a_line_of_show_grants(line: str, rights: list[tuple[str, str]]) -> None:
    assert beyond_reading(line) == rights


def test_check_of_a_file(things: str) -> None:
    result = CliRunner().invoke(app, ["source", "check", things])
    assert result.exit_code == 0
    assert "opened read-only" in result.stdout


def check(target: str, *, code: int) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["source", "check", target, "--json"])
    assert result.exit_code == code
    found: dict[str, Any] = json.loads(result.stdout)
    return found


# Which source a question is about


@pytest.fixture
def two(tmp_path: Path) -> dict[str, str]:
    """Two sources that have a table `names` each, and one table of their own."""
    zoo = make_database(tmp_path, "CREATE TABLE animals (species TEXT, weight REAL)", name="zoo.db")
    bank = make_database(tmp_path, "CREATE TABLE accounts (holder TEXT, balance REAL)", name="bank.db")
    return {"zoo": url(zoo), "bank": url(bank)}


@pytest.mark.parametrize(
    ("question", "sql", "chosen"),
    [
        ("What is the highest balance?", "SELECT MAX(balance) FROM accounts", "bank"),
        ("How much does the heaviest species weigh?", "SELECT MAX(weight) FROM animals", "zoo"),
    ],
)
def test_the_source_is_found_by_its_tables(
    scripted: Any, two: dict[str, str], question: str, sql: str, chosen: str
) -> None:
    output = scripted({"GeneratedSQL": [{"sql": sql}]}, sources=two).ask(question)
    assert output["error"] is None
    assert output["sql"] == sql
    assert f"asked the source {chosen}, chosen among zoo, bank" in output["audit"]["notes"]


def test_a_question_may_name_its_source(scripted: Any, two: dict[str, str]) -> None:
    agent = scripted({"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS n FROM animals"}]}, sources=two)
    output = agent.ask("How many holders have a balance?", source="zoo")
    assert output["value"] == 0
    assert not any("chosen among" in note for note in output["audit"]["notes"])


def test_a_source_that_cannot_be_opened_is_left_out(scripted: Any, two: dict[str, str]) -> None:
    sources = {"gone": "sqlite:///gone.db", **two}
    output = scripted({"GeneratedSQL": [{"sql": "SELECT MAX(balance) FROM accounts"}]}, sources=sources).ask(
        "What is the highest balance?"
    )
    assert output["error"] is None
    assert any(note.startswith("the source gone was left out") for note in output["audit"]["notes"])


def test_where_no_source_can_be_opened_the_first_says_why(scripted: Any) -> None:
    sources = {"gone": "sqlite:///gone.db", "lost": "sqlite:///lost.db"}
    output = scripted(sources=sources).ask("How many?")
    assert output["error"]["code"] == "source_not_found"
    assert "gone.db" in output["error"]["message"]


TOTAL = {"sql": "SELECT SUM(amount) AS total FROM orders"}


def test_row_rules_hold_in_answers_and_in_what_the_model_sees(scripted: Any, tmp_path: Path) -> None:
    path = make_table(tmp_path, "region TEXT, amount INTEGER", [("north", 5), ("south", 7)], table="orders")
    rules = {"row_rules": {"orders": "region = :region"}, "row_parameters": {"region": "north"}}
    agent = scripted(
        {"GeneratedSQL": [{"sql": "SELECT SUM(amount) AS total FROM orders"}]},
        sources={"s": {"url": url(path), **rules}},
    )
    output = agent.ask("What is the total amount of all orders?")
    assert output["value"] == 5
    seen = str([call.prompt for call in agent.model.calls])
    assert "north" in seen and "south" not in seen


def test_a_table_that_is_closed_is_not_permitted(scripted: Any, tmp_path: Path) -> None:
    path = make_table(tmp_path, "region TEXT, amount INTEGER", [("north", 5)], table="orders")
    agent = scripted({"GeneratedSQL": [TOTAL]}, sources={"s": {"url": url(path), "row_rules": {"orders": "deny"}}})
    assert agent.ask("What is the total amount of all orders?")["error"]["code"] == "not_permitted"


@pytest.mark.parametrize("budget", [100_000, 100])
def test_a_closed_table_is_not_offered(scripted: Any, tmp_path: Path, budget: int) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE salaries (id INTEGER PRIMARY KEY, amount INTEGER)",
        "CREATE TABLE bonuses (id INTEGER PRIMARY KEY, amount INTEGER, salary_id INTEGER REFERENCES salaries (id))",
        "CREATE VIEW all_salaries AS SELECT * FROM salaries",
        *(f"CREATE TABLE machine_{n:02} (id INTEGER PRIMARY KEY, voltage REAL)" for n in range(9)),
        "INSERT INTO bonuses VALUES (1, 5, 1)",
    )
    chosen = [{"tables": ["salaries", "all_salaries", "bonuses", "machine_01"]}]
    columns = [{"tables": [{"table": "bonuses", "columns": ["amount", "salary_id"]}]}]
    agent = scripted(
        {
            "GeneratedSQL": [{"sql": "SELECT SUM(amount) FROM bonuses"}],
            "TableSelection": chosen,
            "ColumnSelection": columns,
        },
        sources={"s": {"url": url(path), "row_rules": {"salaries": "FALSE"}}},
        schema_token_budget=budget,
    )
    output = agent.ask("What is the total amount of bonuses and salaries?")
    assert output["value"] == 5
    prompts = [str(call.prompt) for call in agent.model.calls]
    assert any("bonuses" in prompt for prompt in prompts)
    # The question and the correction repeat names that the user and the model wrote.
    schemas = "".join(prompts).replace("bonuses and salaries", "").replace("not exist: salaries, all_salaries", "")
    assert "salaries" not in schemas


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("SELECT wage_ban FROM staff", "payroll"),
        ("SELECT name FROM payrolls", r"payroll\b"),
        ("SELECT wage_ban FROM payroll", "wage_band"),
    ],
)
def test_errors_and_repairs_do_not_name_closed_tables(scripted: Any, tmp_path: Path, sql: str, name: str) -> None:
    path = make_database(
        tmp_path,
        "CREATE TABLE payroll (id INTEGER PRIMARY KEY, name TEXT, wage_band TEXT)",
        "CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT)",
    )
    agent = scripted(
        {"GeneratedSQL": [{"sql": sql}] * 4},
        sources={"s": {"url": url(path), "row_rules": {"payroll": "deny"}}},
        max_sql_generations=1,
    )
    output = agent.ask("What are the wages of the staff?")
    assert output["error"] is not None
    seen = json.dumps(output) + str([call.prompt for call in agent.model.calls])
    assert re.search(name, seen) is None


def test_a_closed_table_is_not_offered_to_the_embedded_model(tmp_path: Path) -> None:
    path = make_database(tmp_path, "CREATE TABLE salaries (amount INTEGER)", "CREATE TABLE bonuses (amount INTEGER)")
    model = ScriptedModel({"text": ["FROM bonuses SELECT SUM(amount)"]}, repeat_last=True)
    settings = load_settings(sources={"s": {"url": url(path), "row_rules": {"salaries": "deny"}}})
    graph = build_graph(Services(settings, model=model, embedded=EmbeddedOptions()))
    output = graph.invoke({"question": "What is the total amount of the bonuses?"})
    assert output["error"] is None
    assert "salaries" not in "".join(str(call) for call in model.calls)


# Settings of a source that do not fit


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"secret_columns": ["thing.name"]}, "there is no column thing.name"),
        ({"secret_columns": ["things.nam"]}, "there is no column things.nam"),
        ({"row_rules": {"thing": "size > 1"}}, "the table thing is not in the catalog"),
        ({"row_rules": {"things": "weight > 1"}}, "weight"),
        ({"row_rules": {"things": "size > :least"}}, "needs a value for least"),
        ({"url": "oracle://a@b/c"}, "the engine oracle is not supported"),
    ],
)
def test_a_setting_that_does_not_fit_is_said_before_a_question_costs_anything(
    things: str, settings: dict[str, Any], reason: str
) -> None:
    Path("datasphinx.toml").write_text("")
    given = load_settings(sources={"store": {"url": things, **settings}})
    with pytest.raises(DatasphinxError, match=reason):
        Services(given).source("store")


@pytest.mark.parametrize("patterns", [["things.name"], ["NAME"], ["*.name"], ["*phone*"], ["nothing.*"]])
def test_secret_columns_that_fit(things: str, patterns: list[str]) -> None:
    assert Services(load_settings(sources={"store": {"url": things, "secret_columns": patterns}})).source("store")


def test_check_looks_at_the_settings_too(things: str) -> None:
    configure(f'[sources.store]\nurl = "{things}"\nrow_rules = {{ thing = "deny" }}\n')
    result = CliRunner().invoke(app, ["source", "check", "store"])
    assert isinstance(result.exception, ConfigurationError)


def test_exit_codes(things: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, code in ((["nope"], 2), (["sqlite:///none.db"], 2), ([things], 0)):
        monkeypatch.setattr("sys.argv", ["datasphinx", "source", "check", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code


@pytest.mark.heavy
@pytest.mark.postgres
def test_a_system_catalog_is_asked_only_where_it_is_named(reader: str) -> None:
    sql = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'sphinx_read'"
    closed = Services(load_settings(sources={"dwh": reader})).source("dwh")
    with pytest.raises(StatementRefused, match="not in the catalog"):
        closed.execute(sql)
    closed.close()
    sources = {"dwh": {"url": reader, "schemas": ["public", "information_schema"]}}
    opened = Services(load_settings(sources=sources)).source("dwh")
    assert opened.execute(sql)["rows"] == [[1]]
    opened.close()
