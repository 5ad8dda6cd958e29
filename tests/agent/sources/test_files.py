"""Sources over local Parquet and CSV files: views, their names, catalogs, refreshes and errors."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ConfigurationError, SourceFilesUnreadable, SourceNotFound
from datasphinx.agent.messages import LANGUAGES
from datasphinx.agent.settings import SourceSettings, load_settings
from datasphinx.agent.sources.account_check import check_source, format_report
from datasphinx.agent.sources.cache import fingerprint
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.sql.workers import shared_workers
from datasphinx.agent.types import Limits, Result
from tests.support.lakes import open_files, rows, write_parquet, write_sales

pytestmark = pytest.mark.integration


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_sales(tmp_path / "sales")
    (tmp_path / "regions.csv").write_text("region,manager\nnorth,Ann\nsouth,Bo\nwest,Cy\n")
    (tmp_path / "sales" / "_SUCCESS").touch()
    (tmp_path / "sales" / ".part-0.parquet.crc").touch()
    return tmp_path


def test_each_entry_is_a_view_named_by_its_file_or_folder(folder: Path) -> None:
    files = [f"{folder}/sales/**", f"{folder}/regions.csv"]
    with closing(open_files(files)) as source:
        assert list(source.catalog.tables) == ["regions", "sales"]
        sql = "SELECT r.manager, sum(s.amount) FROM sales s JOIN regions r USING (region) WHERE year = 2023 GROUP BY 1"
        assert sorted(rows(source, sql)) == [["Ann", 10.5], ["Bo", 21.0], ["Cy", 31.5]]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("sales", "sales"),
        ("sales/", "sales"),
        ("sales/**", "sales"),
        ("sales/*/*.parquet", "sales"),
        ("sales/year=2022/*.parquet", "sales"),
        ("sales/year=202[34]/part-?.parquet", "sales"),
        ("regions.csv", "regions"),
        ("reg*.csv", ""),
    ],
)
def test_names_and_patterns(folder: Path, path: str, name: str) -> None:
    with closing(open_files([f"{folder}/{path}"])) as source:
        (view,) = source.catalog.tables
        assert view == (name or folder.name)
        assert rows(source, f'SELECT count(*) > 0 FROM "{view}"') == [[True]]


def test_relative_paths_are_those_of_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with closing(open_files("sales")) as source:
        assert rows(source, "SELECT count(*) FROM sales") == [[9]]
        assert str(folder) in source.database.identity
        assert source.database.name == "sales"


def test_the_catalog_is_that_of_tables(folder: Path) -> None:
    files = {"sales": f"{folder}/sales", "region_managers": f"{folder}/regions.csv"}
    with closing(open_files(files)) as source:
        sales = source.catalog.tables["sales"]
        assert {column.name: column.type for column in sales.columns} == {
            "sale_id": "BIGINT", "region": "VARCHAR", "amount": "DECIMAL(22,1)", "year": "BIGINT",
        }  # fmt: skip
        assert (sales.rows, sales.is_view, sales.comment) == (9, False, None)
        assert source.catalog.values["sales", "region"] == ("north", "south", "west")
        assert [match.value for match in source.values.find("south")][:1] == ["south"]


def test_csv_has_the_declared_columns(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("zip;opened\n01234;2024-01-02\n04321;\n")
    columns = {"zip": "VARCHAR", "opened": "DATE"}
    with closing(open_files({"codes": {"path": f"{tmp_path}/codes.csv", "columns": columns}})) as source:
        assert [column.type for column in source.catalog.tables["codes"].columns] == ["VARCHAR", "DATE"]
        assert rows(source, "SELECT zip, opened FROM codes ORDER BY zip") == [["01234", "2024-01-02"], ["04321", None]]


def test_compressed_csv_without_an_extension_has_a_format(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"n,word\n1,one\n2,two\n"))
    (tmp_path / "export").write_text("n,word\n3,three\n")
    with closing(
        open_files({"packed": f"{tmp_path}/a.csv.gz", "plain": {"path": f"{tmp_path}/export", "format": "csv"}})
    ) as source:
        assert rows(source, "SELECT sum(n) FROM packed") == [[3]]
        assert rows(source, "SELECT word FROM plain") == [["three"]]


def test_partitions_that_a_condition_excludes_are_not_read(folder: Path) -> None:
    from datasphinx.agent.sql.read_only_files import close_views, open_views

    with closing(open_files([f"{folder}/sales"])) as source:
        assert source.database.view_files
        connection, _ = open_views(source.database.view_files)
        plan = connection.execute("EXPLAIN SELECT sum(amount) FROM sales WHERE year = 2023").fetchall()[0][1]
        close_views(connection)
        assert "Scanning Files: 1/3" in plan
        # The others are missing, and the statement does not miss them.
        for year in (2022, 2024):
            (folder / f"sales/year={year}/part-0.parquet").unlink()
        assert rows(source, "SELECT sum(amount) FROM sales WHERE year = 2023") == [[63.0]]


def test_new_and_removed_files_are_found_by_a_refresh(folder: Path) -> None:
    with closing(open_files([f"{folder}/sales"])) as source:
        before = fingerprint(source.catalog)
        write_sales(folder / "sales", (2025,))
        assert rows(source, "SELECT count(*) FROM sales WHERE year > 2022") == [[6]]
        (folder / "sales/year=2022/part-0.parquet").unlink()
        assert source.refresh() is None
        assert rows(source, "SELECT DISTINCT year FROM sales ORDER BY 1") == [[2023], [2024], [2025]]
        assert fingerprint(source.catalog) == before


def test_a_new_column_is_found_by_a_refresh(folder: Path) -> None:
    with closing(open_files([f"{folder}/regions.csv"])) as source:
        (folder / "regions.csv").write_text("region,manager,country\nnorth,Ann,Norway\n")
        refreshed = source.refresh()
        assert refreshed is not None
        assert rows(refreshed, "SELECT country FROM regions") == [["Norway"]]


def test_replaced_files_are_read_without_a_refresh(folder: Path) -> None:
    with closing(open_files([f"{folder}/sales/**/*.parquet"])) as source:
        assert rows(source, "SELECT count(*) FROM sales") == [[9]]
        for year in (2022, 2023, 2024):
            (folder / f"sales/year={year}/part-0.parquet").rename(folder / f"sales/year={year}/part-1.parquet")
        assert rows(source, "SELECT count(*) FROM sales WHERE amount > 0") == [[9]]


def test_the_cached_catalog_is_used_until_a_file_changes(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with closing(open_files([f"{folder}/sales"], cache_dir=cache)) as source:
        assert source.background is not None
        assert source.background.wait(60)
    with closing(open_files([f"{folder}/sales"], cache_dir=cache)) as again:
        assert again.background is None
        assert again.catalog.tables["sales"].rows == 9
    write_sales(folder / "sales", (2025,))
    with closing(open_files([f"{folder}/sales"], cache_dir=cache)) as changed:
        assert changed.background is not None
        assert changed.background.wait(60)
        assert rows(changed, "SELECT count(*) FROM sales") == [[12]]


def test_row_rules_apply_to_views_and_to_others_with_the_same_files(folder: Path) -> None:
    from datasphinx.agent.errors import NotPermitted

    files = {"sales": f"{folder}/sales", "late_sales": f"{folder}/sales/year=2024/*.parquet"}
    with closing(open_files(files, row_rules={"sales": "region = 'north'"})) as source:
        assert rows(source, "SELECT DISTINCT region FROM sales") == [["north"]]
        with pytest.raises(NotPermitted):
            source.execute("SELECT * FROM late_sales")


def test_secret_columns_of_views_are_not_sampled(folder: Path) -> None:
    with closing(open_files([f"{folder}/regions.csv", f"{folder}/sales"], secret_columns=["manager"])) as source:
        assert ("regions", "manager") not in source.catalog.values
        assert ("sales", "region") in source.catalog.values


def test_source_check_names_the_files(folder: Path) -> None:
    settings = SourceSettings.model_validate({"files": [f"{folder}/sales"]})
    report = check_source("lake", settings, Limits(10, 10))
    assert (report.dialect, report.tables, report.can_write) == ("duckdb", 1, False)
    assert f"{folder}/sales" in format_report(report)


def error_of(files: Any) -> Exception:
    with pytest.raises((SourceNotFound, SourceFilesUnreadable, ConfigurationError)) as caught:
        open_files(files).close()
    for language in LANGUAGES:
        assert caught.value.message(language)
    return caught.value


def test_missing_files_and_patterns_without_a_match(folder: Path) -> None:
    (folder / "empty").mkdir()
    missing = error_of([f"{folder}/none.parquet"])
    assert isinstance(missing, SourceNotFound)
    assert (missing.source, missing.reason) == (f"{folder}/none.parquet", "the file does not exist")
    for path in (f"{folder}/sales/*.csv", f"{folder}/empty"):
        unmatched = error_of([path])
        assert isinstance(unmatched, SourceNotFound)
        assert "no file matches" in unmatched.reason
    assert "файл не существует" in missing.message("ru")
    assert "文件不存在" in missing.message("zh")


@pytest.mark.parametrize("part", ["_delta_log/00000000000000000000.json", "metadata/v1.metadata.json"])
def test_a_lake_table_is_not_read_as_its_files(folder: Path, part: str) -> None:
    (folder / "sales" / part).parent.mkdir()
    (folder / "sales" / part).write_text("{}")
    error = error_of([f"{folder}/sales"])
    assert isinstance(error, ConfigurationError)
    assert "is a Delta or Iceberg table" in error.reason


def test_a_damaged_file_is_named(folder: Path) -> None:
    (folder / "sales/year=2022/part-0.parquet").write_bytes(b"no Parquet at all, but long enough")
    unreadable = error_of([f"{folder}/sales"])
    assert isinstance(unreadable, SourceFilesUnreadable)
    assert (unreadable.files, unreadable.http_status, unreadable.exit_code) == ("sales", 503, 5)
    assert str(folder) not in str(unreadable)


def test_a_file_that_can_no_longer_be_read_is_named(folder: Path) -> None:
    with closing(open_files([f"{folder}/sales", f"{folder}/regions.csv"])) as source:
        (folder / "sales/year=2023/part-0.parquet").unlink()
        (folder / "sales/year=2023/part-0.parquet").mkdir()
        with pytest.raises(SourceFilesUnreadable, match="sales/year=2023/part-0.parquet: Is a directory"):
            execute_as_listed(source, "SELECT sum(amount) FROM sales")
        assert rows(source, "SELECT count(*) FROM regions") == [[3]]
        assert rows(source, "SELECT sum(amount) FROM sales WHERE year <> 2023") == [[126.0]]


def execute_as_listed(source: Source, sql: str) -> Result:
    """Run `sql` on the files as listed when the source was opened."""
    return shared_workers(source.limits.memory_mb).run(source.database.file, sql, [], source.limits)


@pytest.mark.parametrize(
    ("files", "part"),
    [
        (["{}/notes.txt"], "format of notes.txt"),
        (["{}/*.*"], "format of notes.txt"),
        (["{}/mixed"], "different formats"),
        ({"sales": {"path": "{}/sales", "columns": {"a": "TEXT"}}}, "CSV"),
    ],
)
def test_unknown_and_mixed_formats(folder: Path, files: Any, part: str) -> None:
    (folder / "notes.txt").write_text("hello")
    write_parquet(folder / "mixed/a.parquet", "SELECT 1 AS n")
    (folder / "mixed/b.csv").write_text("n\n1\n")
    error = error_of(json.loads(json.dumps(files).replace("{}", str(folder))))
    assert isinstance(error, ConfigurationError)
    assert part in error.reason


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"files": ["a/sales/*.parquet", "b/Sales/**"]}, "the views sales and Sales have the same name"),
        ({"files": ["*.parquet"]}, "no name follows from the path"),
        ({"files": ["gs://bucket/sales/**"]}, "`gs://` is not supported"),
        ({"files": ["a.parquet"], "url": "sqlite:///shop.db"}, "not both"),
        ({"files": {"a": {"path": "a", "format": "xlsx"}}}, "'parquet' or 'csv'"),
        ({"files": {"a": {"path": "lake/a", "format": "delta"}}}, "lake/a is a Delta or Iceberg table"),
        ({"files": {"a": {"path": "a.parquet", "format": "parquet", "columns": {"n": "INT"}}}}, "CSV files only"),
        ({"files": []}, "Field required"),
    ],
)
def test_settings_that_contradict_themselves(settings: Any, part: str) -> None:
    with pytest.raises(ConfigurationError, match="DATASPHINX_SOURCES") as caught:
        load_settings(sources={"lake": settings})
    assert part in str(caught.value)


def test_settings_in_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "datasphinx.toml").write_text(
        '[sources.lake.files]\nsales = "sales/**"\n\n[sources.lake.files.managers]\npath = "regions.csv"\n'
        'format = "csv"\ncolumns = { region = "VARCHAR", manager = "VARCHAR" }\n'
    )
    settings = load_settings().sources["lake"]
    assert {name: files.path for name, files in settings.files.items()} == {
        "sales": "sales/**",
        "managers": "regions.csv",
    }
    with closing(open_files(settings.files)) as source:
        assert set(source.catalog.tables) == {"sales", "managers"}


@pytest.mark.heavy
def test_the_examples_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support.generated_docs import ROOT

    text = (ROOT / "docs/lakes.md").read_text(encoding="utf-8")
    lists, options = re.findall(r"<!-- files: tested -->\n```toml\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    write_sales(tmp_path / "data/sales")
    (tmp_path / "data/regions.csv").write_text("region,manager\nnorth,Ann\n")
    (tmp_path / "data/export.txt").write_text("zip;opened\n01234;2024-01-02\n")
    write_parquet(tmp_path / "data/orders/2024.parquet", "SELECT * FROM range(1, 3) AS numbers(id)")
    Path("datasphinx.toml").write_text(lists)
    with closing(open_source(load_settings().sources["lake"], Limits(20, 10))) as source:
        assert {key: table.rows for key, table in source.catalog.tables.items()} == {
            "sales": 9, "regions": 1, "orders": 2,
        }  # fmt: skip
    Path("datasphinx.toml").write_text(options)
    with closing(open_source(load_settings().sources["lake"], Limits(20, 10))) as source:
        assert rows(source, "SELECT DISTINCT year FROM sales ORDER BY 1") == [[2023], [2024]]
        assert rows(source, "SELECT zip, opened FROM codes") == [["01234", "2024-01-02"]]
