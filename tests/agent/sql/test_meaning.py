"""Checks of meaning, measured on statements over six schemas and four engines that were written without them."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.spider import DEV
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.fixtures import Pair, read_pairs
from tests.support.databases import open_url
from tests.support.servers import SERVERS, prepared

FIXTURES = Path(__file__).parents[2] / "fixtures" / "meaning"
SCHEMAS = sorted(path.name.partition(".")[0] for path in FIXTURES.glob("*.schema.sql"))
PAIRS = [(name, pair) for name in SCHEMAS for pair in read_pairs(f"meaning/{name}.sql")]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Source]]:
    with ExitStack() as stack:
        opened = {}
        for name in SCHEMAS:
            first, _, script = (FIXTURES / f"{name}.schema.sql").read_text(encoding="utf-8").partition("\n")
            opened[name] = _opened(first.split()[-1], name, script, tmp_path_factory.mktemp(name))
            stack.callback(opened[name].close)
        yield opened


def _opened(engine: str, name: str, script: str, folder: Path) -> Source:
    """Return a source on a new database with the tables of `script`, all of whose values were read."""
    if engine in SERVERS:
        statements = [f"DROP DATABASE IF EXISTS meaning_{name}", f"CREATE DATABASE meaning_{name}"]
        with prepared(SERVERS[engine], statements) as server:
            url = server.url.set(database=f"meaning_{name}").render_as_string(hide_password=False)
    else:
        url = f"{engine}:///{folder / name}.db"
    with prepared(url, [statement for statement in script.split(";\n") if statement.strip()]):
        pass
    return _read(url)


def _read(url: str) -> Source:
    source = open_url(url, Limits(timeout_s=20, row_limit=100))
    source.complete_values()
    return source


def _rate(kind: str, sources: dict[str, Source]) -> tuple[float, list[tuple[str, Pair, tuple[str, ...]]]]:
    """Return the share of the statements of a kind about which something is found, and what is found about each."""
    chosen = [(name, pair) for name, pair in PAIRS if pair.expected.startswith(kind)]
    told = (sources[name].doubts_and_notes(pair.sql) for name, pair in chosen)
    found = [(name, pair, (*findings, *notes)) for (name, pair), (findings, notes) in zip(chosen, told, strict=True)]
    return sum(bool(texts) for _, _, texts in found) / len(found), found


@pytest.mark.heavy
def test_most_wrong_statements_are_found(sources: dict[str, Source]) -> None:
    rate, found = _rate("wrong", sources)
    assert rate >= 0.9, [(name, pair.sql) for name, pair, texts in found if not texts]


@pytest.mark.heavy
def test_hardly_any_right_statement_is_doubted(sources: dict[str, Source]) -> None:
    rate, found = _rate("right", sources)
    assert rate <= 0.02, [(name, pair.sql, texts) for name, pair, texts in found if texts]


@pytest.mark.heavy
def test_all_statements_run(sources: dict[str, Source]) -> None:
    for name, pair in PAIRS:
        sources[name].execute(pair.sql)


@pytest.mark.parametrize("pair", read_pairs("checks/meaning.sql"))
def test_the_meaning_of_a_statement(sources: dict[str, Source], pair: Pair) -> None:
    name, code = pair.expected.split()
    sources[name].execute(pair.sql)
    told = {one.code for texts in sources[name].doubts_and_notes(pair.sql) for one in texts}
    assert told == (set() if code == "fine" else {code})


def test_spellings_are_compared_by_the_collation_of_the_column(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE sale (city TEXT COLLATE NOCASE, town TEXT);\n"
        "INSERT INTO sale VALUES ('Paris', 'Lyon'), ('paris', 'lyon')"
    )
    source = _opened("sqlite", "sales", script, tmp_path)
    assert source.doubts_and_notes("SELECT COUNT(*) FROM sale WHERE city = 'Paris'") == ((), ())
    assert source.doubts_and_notes("SELECT COUNT(*) FROM sale WHERE town = 'Lyon'")[0]
    source.close()


@pytest.mark.parametrize(
    ("engine", "second", "millisecond"),
    [("sqlite", "datetime({}, 'unixepoch')", "{} / 1000"), ("duckdb", "to_timestamp({})", "{} / 1000.0")],
)
def test_milliseconds_are_not_read_as_seconds(engine: str, second: str, millisecond: str, tmp_path: Path) -> None:
    script = (
        "CREATE TABLE visit (id INTEGER PRIMARY KEY, began BIGINT, ended BIGINT);\n"
        "INSERT INTO visit VALUES (1, 1767225600000, 1767225700), (2, 1767312000000, 1767312900)"
    )
    source = _opened(engine, "visits", script, tmp_path)
    doubts = [
        {doubt.code for doubt in source.doubts_and_notes(f"SELECT id, {second.format(value)} AS at FROM visit")[0]}
        for value in ("began", millisecond.format("began"), "ended")
    ]
    source.close()
    assert doubts == [{"epoch_in_another_unit"}, set(), set()]


@pytest.mark.benchdata
@pytest.mark.heavy
@pytest.mark.skipif(not DEV.is_dir(), reason="shared/benchmarks is not beside the project")
def test_references_of_spider_have_findings_only_where_numbers_are_stored_as_text() -> None:
    opened: dict[str, Source] = {}
    codes = []
    for line in (DEV / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        name = question["db_id"]
        if name not in opened:
            opened[name] = _read(f"sqlite:///{DEV / 'databases' / name}.sqlite")
        findings, notes = opened[name].doubts_and_notes(question["sql"].strip().rstrip(";"))
        codes += [one.code for one in (*findings, *notes)]
    for source in opened.values():
        source.close()
    assert codes == ["numbers_compared_as_text"] * 18
