"""Connections to Snowflake, Redshift, BigQuery, Databricks and SQL Server: logins, session settings and limits."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import SecretStr, ValidationError
from sqlalchemy import create_engine

from datasphinx.agent.engines import engine_called, engine_of, engines
from datasphinx.agent.errors import ConfigurationError, DatasphinxError, DriverMissing, StatementFailed
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.files import database_of
from datasphinx.agent.sources.source import open_source
from datasphinx.agent.sql.database import Database, parse_url
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.types import Limits
from tests.support.databases import open_url
from tests.support.loopback import Handler, LoopbackServer

LIMITS = Limits(2.5, 10, max_bytes_billed=20_000_000)
URLS = {
    "snowflake": "snowflake://reader:hunter22@account/shop/sales?warehouse=small&role=reader",
    "redshift": "redshift://reader:hunter22@cluster.example:5439/shop",
    "databricks": "databricks://token:hunter22@host.example?http_path=/sql/1.0/warehouses/1&catalog=main&schema=sales",
    "mssql": "mssql://reader:hunter22@host.example/shop",
}


def key_file(folder: Path) -> Path:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "key.p8"
    path.write_bytes(pem)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("name", ["snowflake", "redshift", "bigquery", "databricks", "mssql"])
def test_a_missing_driver_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> None:
        raise ModuleNotFoundError(package)

    monkeypatch.setattr("datasphinx.agent.sql.database.find_spec", missing)
    with pytest.raises(DriverMissing) as caught:
        parse_url(f"{name}://host/x")
    assert caught.value.extra == name


@pytest.mark.warehouse
@pytest.mark.parametrize("name", URLS)
def test_no_secret_is_in_the_name_of_a_source(name: str) -> None:
    for package in engines()[name].packages:
        pytest.importorskip(package, exc_type=ImportError)
    database = Database(URLS[name])
    assert "hunter22" not in f"{database.name} {database.identity} {database!r}"


@pytest.mark.parametrize("parameter", ["credentials_base64", "private_key_file_pwd", "token", "odbc_connect"])
def test_no_secret_parameter_is_in_the_name_of_a_source(parameter: str) -> None:
    pytest.importorskip("psycopg")
    database = Database(f"redshift://reader@host/shop?{parameter}=hunter22")
    assert "hunter22" not in f"{database.name} {database.identity}"


def test_arguments_of_the_driver_are_secret() -> None:
    arguments = {"private_key_file": "/k.p8", "private_key_file_pwd": "hunter22", "port": 443, "insecure": False}
    settings = SourceSettings.model_validate({"url": URLS["snowflake"], "connect_args": arguments})
    assert "hunter22" not in repr(settings)
    assert settings.connect_args["private_key_file_pwd"] == SecretStr("hunter22")
    assert (settings.connect_args["port"], settings.connect_args["insecure"]) == (443, False)
    with pytest.raises(ValidationError):
        SourceSettings.model_validate({"url": URLS["snowflake"], "connect_args": {"nested": {"a": 1}}})


def test_arguments_for_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="connect_args"):
        database_of(SourceSettings.model_validate({"url": "sqlite:///x.db", "connect_args": {"timeout": 1}}))


@pytest.mark.warehouse
def test_a_url_that_the_dialect_refuses_is_a_wrong_setting() -> None:
    pytest.importorskip("snowflake.sqlalchemy")
    with pytest.raises(ConfigurationError, match="private_key_file"):
        Database("snowflake://reader@account/shop?private_key_file=/k.p8")


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("redshift", ("SET LOCAL statement_timeout = 2500",)),
        ("snowflake", ("ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = 3",)),
        ("databricks", ("SET STATEMENT_TIMEOUT = 3",)),
    ],
)
def test_the_session_has_a_time_limit(dialect: str, expected: tuple[str, ...]) -> None:
    connection: Any = None
    assert engine_of(dialect).setup_statements(connection, LIMITS) == expected


@pytest.mark.warehouse
def test_sql_server_is_asked_for_a_read_only_replica() -> None:
    pytest.importorskip("pyodbc", reason="pyodbc or the library libodbc is missing", exc_type=ImportError)
    database = Database(f"{URLS['mssql']}?applicationIntent=ReadWrite&TrustServerCertificate=yes")
    ((connection,), arguments) = database.engine.dialect.create_connect_args(database.engine.url)
    assert "ApplicationIntent=ReadOnly" in connection and "ReadWrite" not in connection
    assert "TrustServerCertificate=yes" in connection and "ODBC Driver 18 for SQL Server" in connection


@pytest.mark.warehouse
def test_sql_server_without_an_odbc_driver_is_an_error_without_the_password() -> None:
    pytest.importorskip("pyodbc", reason="pyodbc or the library libodbc is missing", exc_type=ImportError)
    url = f"{URLS['mssql']}?driver=no+such+driver"
    with pytest.raises(DatasphinxError) as caught:
        open_source(SourceSettings.model_validate({"url": url}), LIMITS)
    assert "no such driver" in str(caught.value) and "hunter22" not in str(caught.value)


@pytest.mark.warehouse
def test_snowflake_logs_in_with_a_key_pair(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from tests.support.fakesnow_server import fakesnow_arguments

    key_pair = {"authenticator": "SNOWFLAKE_JWT", "private_key_file": str(key_file(tmp_path))}
    arguments = {**fakesnow_arguments(), **key_pair}
    source = open_url("snowflake://reader@fakesnow/shop/keys?warehouse=small", LIMITS, connect_args=arguments)
    assert source.execute("SELECT 1 AS a")["rows"] == [[1]]
    source.close()
    assert "PRIVATE KEY" not in caplog.text


@pytest.mark.warehouse
def test_snowflake_names_are_compared_without_case(tmp_path: Path) -> None:
    from tests.support.fakesnow_server import fakesnow_arguments

    arguments = fakesnow_arguments()
    url = "snowflake://reader:x@fakesnow/shop/names?warehouse=small"
    engine = create_engine(url, connect_args=arguments)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE OR REPLACE TABLE visits (id INTEGER, city VARCHAR)")
        connection.exec_driver_sql("INSERT INTO visits VALUES (1, 'Riga')")
        connection.commit()
    engine.dispose()
    source = open_url(url, LIMITS, connect_args=arguments)
    for sql in (
        'SELECT "city" FROM "visits"',
        "SELECT City FROM names.VISITS",
        "SELECT v.city FROM visits AS v LIMIT 1",
    ):
        assert source.execute(sql)["rows"] == [["Riga"]]
    source.close()


class BigQuery:
    """What a local server received in place of BigQuery; it answers queries with one row, or with `error`."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.error: dict[str, Any] | None = None

    def respond(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        if path.startswith("/token"):
            return 200, {"access_token": "granted", "expires_in": 3600, "token_type": "Bearer"}
        if method == "POST":
            job = json.loads(body)
            self.jobs.append(job)
            if self.error:
                return 400, {"error": self.error}
        reference = {"projectId": "project", "jobId": "job", "location": "EU"}
        fields = [{"name": "a", "type": "INTEGER", "mode": "NULLABLE"}]
        done = {"jobReference": reference, "jobComplete": True, "schema": {"fields": fields}, "totalRows": "1"}
        rows = [{"f": [{"v": "7"}]}]
        configuration = {"configuration": {"query": {"query": "", "destinationTable": None}, "jobType": "QUERY"}}
        return 200, {**done, "rows": rows, "status": {"state": "DONE"}, **configuration}


@pytest.fixture
def bigquery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[BigQuery, str]]:
    pytest.importorskip("sqlalchemy_bigquery")
    fake = BigQuery()

    class Service(Handler):
        def answer(self) -> None:
            status, value = fake.respond(self.command, self.path, self.body())
            self.reply(json.dumps(value).encode(), status, Content_Type="application/json")

        do_GET = do_POST = answer

    with LoopbackServer(Service) as server:
        place = server.url
        account = {
            "type": "service_account", "project_id": "project", "client_email": "reader@project",
            "token_uri": f"{place}/token", "private_key": key_file(tmp_path).read_text(), "private_key_id": "1",
        }  # fmt: skip
        path = tmp_path / "account.json"
        path.write_text(json.dumps(account))
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", place)
        yield fake, f"bigquery://project/sales?credentials_path={path}"


CATALOG = Catalog(
    "bigquery", {"orders": Table("orders", (Column("id", "INTEGER"), Column("status", "STRING")))}, "sales"
)


@pytest.mark.warehouse
@pytest.mark.server
def test_bigquery_limits_bytes_billed_and_time(bigquery: tuple[BigQuery, str]) -> None:
    fake, url = bigquery
    database = Database(url)
    sql = "SELECT id AS a FROM orders WHERE status LIKE '100%'"
    assert execute(sql, database, CATALOG, LIMITS)["rows"] == [[7]]
    (job,) = fake.jobs
    settings = job.get("configuration", {}).get("query", job)
    assert settings["query"] == sql
    assert settings["useLegacySql"] is False
    assert settings["maximumBytesBilled"] == "20000000"
    assert str((job.get("configuration") or job)["jobTimeoutMs"]) == "2500"
    database.engine.dispose()


@pytest.mark.warehouse
@pytest.mark.server
def test_bigquery_refuses_a_statement_that_costs_more(bigquery: tuple[BigQuery, str]) -> None:
    fake, url = bigquery
    text = "Query exceeded limit for bytes billed: 20000000. 31457280 or higher required."
    fake.error = {"code": 400, "message": text, "errors": [{"reason": "bytesBilledLimitExceeded", "message": text}]}
    database = Database(url)
    with pytest.raises(StatementFailed, match="bytes billed") as caught:
        execute("SELECT id FROM orders", database, CATALOG, LIMITS)
    assert caught.value.kind == "resource"
    database.engine.dispose()


@pytest.mark.warehouse
def test_bigquery_without_credentials_is_a_wrong_setting() -> None:
    pytest.importorskip("sqlalchemy_bigquery")
    with pytest.raises(ConfigurationError):
        Database("bigquery://project/sales?credentials_path=/no/such/file.json")


def test_the_status_of_an_engine_is_known_without_its_driver() -> None:
    statuses = {name: engine.status for name, engine in engines().items()}
    assert statuses["postgresql"] == "tested" and statuses["redshift"] == "emulated"
    assert {name for name, status in statuses.items() if status == "untested"} == {
        "trino", "bigquery", "databricks", "mssql"
    }  # fmt: skip
    assert engine_called("sqlserver+pyodbc") is engines()["mssql"]
    assert engine_called("oracle") is None


def test_documentation_has_the_status_of_every_engine() -> None:
    lines = (Path(__file__).resolve().parents[3] / "docs/databases.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    for name, engine in engines().items():
        assert [row[3] for row in rows if f"`{name}://" in row[1]] == [engine.status], name
