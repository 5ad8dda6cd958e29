"""Hostile statements on views over files, with the guard and without it: neither layer alone is relied on."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from datasphinx.agent.errors import DatasphinxError, StatementError, Unanswered
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.types import Limits, Result
from tests.support.lakes import open_files, write_parquet

pytestmark = pytest.mark.integration

LIMITS = Limits(10, 100)

PATHS = [
    "SELECT * FROM read_parquet('{folder}/private/salaries.parquet')",
    "SELECT * FROM read_parquet('files://sales/**')",
    "SELECT * FROM read_parquet('files://sales/../private/salaries.parquet')",
    "SELECT * FROM parquet_scan('files:///{folder}/private/salaries.parquet')",
    "SELECT * FROM '{folder}/private/salaries.parquet'",
    "SELECT * FROM 'files://sales/a.parquet'",
    'SELECT * FROM "files://sales/a.parquet"',
    "SELECT * FROM sales, read_text('{folder}/private/notes.txt')",
    "SELECT (SELECT content FROM read_text('{folder}/private/notes.txt')) FROM sales",
    "SELECT * FROM sales WHERE region IN (SELECT content FROM read_blob('/etc/passwd'))",
    "SELECT * FROM read_csv('/etc/passwd', delim = '~')",
    "SELECT * FROM read_json('{folder}/private/notes.txt')",
    "SELECT * FROM read_ndjson_objects('{folder}/private/notes.txt')",
    "SELECT * FROM glob('{folder}/**')",
    "SELECT * FROM glob('files://sales/**')",
    "SELECT * FROM sniff_csv('{folder}/private/notes.txt')",
    "SELECT * FROM parquet_metadata('files://sales/a.parquet')",
    "SELECT * FROM parquet_schema('{folder}/private/salaries.parquet')",
    "SELECT * FROM parquet_kv_metadata('files://sales/a.parquet')",
    "SELECT * FROM delta_scan('{folder}/private')",
    "SELECT * FROM iceberg_scan('{folder}/private')",
    "SELECT * FROM read_parquet('s3://bucket/private/salaries.parquet')",
    "SELECT * FROM read_csv('https://example.org/x.csv')",
    "SELECT * FROM query('SELECT * FROM read_text(''{folder}/private/notes.txt'')')",
    "SELECT * FROM query_table('{folder}/private/salaries.parquet')",
    "WITH sales AS (FROM '{folder}/private/salaries.parquet') SELECT * FROM sales",
    "FROM '{folder}/private/salaries.parquet'",
    "DESCRIBE '{folder}/private/salaries.parquet'",
    "SUMMARIZE SELECT * FROM '{folder}/private/salaries.parquet'",
]
"""Statements that name a path, also one of a file of a view."""

CHANGES = [
    "COPY sales TO '{folder}/out.parquet'",
    "COPY sales TO '{folder}/sales/a.parquet'",
    "COPY sales TO 'files://sales/a.parquet' (USE_TMP_FILE false)",
    "COPY sales TO 'files://sales/b.parquet' (USE_TMP_FILE false)",
    "COPY (SELECT 1 AS year) TO '{folder}/sales' (PARTITION_BY year, FORMAT parquet, OVERWRITE)",
    "EXPORT DATABASE '{folder}/out'",
    "ATTACH '{folder}/other.duckdb'",
    "ATTACH 'files://sales/a.parquet' AS other",
    "DROP VIEW sales",
    "CREATE OR REPLACE VIEW sales AS SELECT 1 AS region",
    "ALTER VIEW sales RENAME TO others",
    "CREATE TABLE kept AS SELECT 1",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/private/notes.txt'",
    "SET enable_external_access = true",
    "SET allowed_directories = ['/']",
    "SET disabled_filesystems = ''",
    "RESET disabled_filesystems",
    "SET lock_configuration = false",
    "SET temp_directory = '{folder}'",
    "CREATE SECRET other (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "PRAGMA enable_external_access",
    "SELECT 1; DROP VIEW sales",
    "IMPORT DATABASE '{folder}'",
]
"""Statements that change files, views or settings."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    write_parquet(folder / "sales/a.parquet", "SELECT 'north' AS region, 10 AS amount")
    write_parquet(folder / "private/salaries.parquet", "SELECT 'secret' AS person, 1 AS salary")
    (folder / "private/notes.txt").write_text("secret notes")
    return folder


@pytest.fixture(scope="module")
def source(folder: Path) -> Iterator[Source]:
    with closing(open_files([f"{folder}/sales"], LIMITS)) as source:
        yield source


Ask = Callable[[str], Result]


@pytest.fixture
def ask_without_guard(source: Source, monkeypatch: pytest.MonkeyPatch) -> Ask:
    monkeypatch.setattr("datasphinx.agent.sql.execute.validated_sql", lambda sql, *_: sql)
    return lambda sql: execute(sql, source.database, source.catalog, LIMITS)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("sql", [*PATHS, *CHANGES])
def test_the_guard_refuses(source: Source, folder: Path, sql: str) -> None:
    with pytest.raises((StatementError, Unanswered)):
        source.execute(sql.format(folder=folder))


@pytest.mark.parametrize("sql", PATHS)
def test_without_the_guard_no_other_file_is_read(ask_without_guard: Ask, folder: Path, sql: str) -> None:
    try:
        result = ask_without_guard(sql.format(folder=folder))
    except DatasphinxError:
        return
    # Files of the views are readable anyway.
    assert "files://sales" in sql
    assert "secret" not in str(result["rows"])
    assert str(folder) not in str(result["rows"])


@pytest.mark.parametrize("sql", CHANGES)
def test_without_the_guard_nothing_changes(ask_without_guard: Ask, folder: Path, sql: str) -> None:
    before = content(folder)
    with pytest.raises(DatasphinxError):
        ask_without_guard(sql.format(folder=folder))
    assert content(folder) == before
    assert ask_without_guard("SELECT * FROM sales")["rows"] == [["north", 10]]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TEMP VIEW sales AS SELECT 'south' AS region, 0 AS amount",
        "CREATE TEMP TABLE sales AS SELECT 'south' AS region, 0 AS amount",
        "CREATE TEMP MACRO sum(x) AS 0",
    ],
)
def test_without_the_guard_temporary_objects_end_with_the_statement(ask_without_guard: Ask, sql: str) -> None:
    ask_without_guard(sql)
    assert ask_without_guard("SELECT region, sum(amount) FROM sales GROUP BY 1")["rows"] == [["north", 10]]


@pytest.mark.parametrize("sql", ["SELECT * FROM duckdb_secrets()", "SELECT * FROM duckdb_views()"])
def test_without_the_guard_no_path_is_shown(folder: Path, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.sql.execute.validated_sql", lambda sql, *_: sql)
    with closing(open_files([f"{folder}/sales"], LIMITS)) as source:
        found = str(execute(sql, source.database, source.catalog, LIMITS)["rows"])
    assert str(folder) not in found


def test_the_worker_writes_no_files_of_the_views(source: Source, folder: Path) -> None:
    from datasphinx.agent.sql.read_only_files import ReadOnlyFiles
    from datasphinx.agent.sql.view_files import view_url

    assert source.database.view_files
    files = ReadOnlyFiles(source.database.view_files)
    with pytest.raises(PermissionError):
        files.open(view_url("sales", "sales/a.parquet"), "wb")
    for path in (str(folder / "private/notes.txt"), "files://sales/../private/notes.txt", "files://sales/"):
        assert not files.exists(path)
        assert files.glob(path) == []
        with pytest.raises(PermissionError):
            files.open(path)
