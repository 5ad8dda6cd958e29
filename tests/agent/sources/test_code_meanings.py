"""The meanings of codes, read from tables and comments."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits

SHIPMENTS = """
CREATE TABLE shipment (id INTEGER PRIMARY KEY, state TEXT, mode TEXT, urgency INTEGER, city TEXT);
INSERT INTO shipment (state, mode, urgency, city)
VALUES ('D', 'AI', 1, 'Rome'), ('L', 'SE', 2, 'Oslo'), ('D', 'SE', 3, 'Rome'), ('L', NULL, 2, 'Bonn');
"""


def opened(folder: Path, script: str, **settings: object) -> Source:
    path = folder / "data.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    url = SecretStr(f"sqlite:///{path}")
    return open_source(SourceSettings(url=url, allow_writable_account=True, **settings), Limits(10.0, 1000))  # type: ignore[arg-type]


def meanings(source: Source) -> dict[tuple[str, str], dict[str, str]]:
    return {place: dict(codes) for place, codes in source.code_meanings(source.catalog.tables).items()}


@pytest.mark.parametrize(
    "table",
    [
        "CREATE TABLE states (code TEXT, label TEXT); INSERT INTO states VALUES ('D', 'delivered'), ('L', 'lost')",
        "CREATE TABLE s (label TEXT, at INT, code TEXT); INSERT INTO s VALUES ('delivered', 1, 'D'), ('lost', 2, 'L')",
    ],
)
def test_a_table_of_codes_explains_the_column_that_holds_them(tmp_path: Path, table: str) -> None:
    source = opened(tmp_path, f"{SHIPMENTS}{table};")

    assert meanings(source) == {("shipment", "state"): {"D": "delivered", "L": "lost"}}


def test_one_table_explains_several_columns_that_it_names(tmp_path: Path) -> None:
    source = opened(
        tmp_path,
        SHIPMENTS
        + """CREATE TABLE lookup (meaning TEXT, field TEXT, code TEXT);
        INSERT INTO lookup VALUES ('delivered', 'shipment.state', 'D'), ('lost', 'shipment.state', 'L'),
        ('by air', 'mode', 'AI'), ('by sea', 'mode', 'SE'), ('at once', 'shipment_urgency', '1'),
        ('soon', 'shipment_urgency', '2'), ('some day', 'shipment_urgency', '3'), ('big', 'size', 'B');""",
    )

    assert meanings(source) == {
        ("shipment", "state"): {"D": "delivered", "L": "lost"},
        ("shipment", "mode"): {"AI": "by air", "SE": "by sea"},
        ("shipment", "urgency"): {"1": "at once", "2": "soon", "3": "some day"},
    }


STATE = {("shipment", "state"): {"D": "delivered", "L": "lost"}}


@pytest.mark.parametrize(
    ("columns", "rows", "expected"),
    [
        (
            "code TEXT, label TEXT, sort_order INT, is_active INT",
            "('D', 'delivered', 1, 1), ('L', 'lost', 2, 1)",
            STATE,
        ),
        ("code TEXT, label TEXT, note TEXT", "('D', 'delivered', 'It arrived'), ('L', 'lost', NULL)", STATE),
        ("code TEXT, en TEXT, de TEXT", "('D', 'delivered', 'zugestellt'), ('L', 'lost', 'verloren')", STATE),
        (
            "urgency INT, name TEXT",
            "(1, 'at once'), (2, 'soon'), (3, 'some day')",
            {("shipment", "urgency"): {"1": "at once", "2": "soon", "3": "some day"}},
        ),
        (
            "field TEXT, code INT, meaning TEXT",
            "('urgency', 1, 'soon'), ('urgency', 2, 'soon'), ('urgency', 3, 'some day')",
            {("shipment", "urgency"): {"1": "soon", "2": "soon", "3": "some day"}},
        ),
        (
            "tab TEXT, field TEXT, code TEXT, meaning TEXT",
            "('shipment', 'state', 'D', 'delivered'), ('shipment', 'state', 'L', 'lost'), ('x', 'mode', 'AI', 'air')",
            STATE,
        ),
    ],
)
def test_tables_of_codes_have_many_forms(
    tmp_path: Path, columns: str, rows: str, expected: dict[tuple[str, str], dict[str, str]]
) -> None:
    source = opened(tmp_path, f"{SHIPMENTS}CREATE TABLE s ({columns}); INSERT INTO s VALUES {rows};")

    assert meanings(source) == expected


def test_codes_may_be_long_words(tmp_path: Path) -> None:
    script = """CREATE TABLE visit (id INTEGER PRIMARY KEY, status TEXT);
    INSERT INTO visit (status) VALUES ('STATUS_COMPLETED'), ('STATUS_NO_SHOW'), ('STATUS_COMPLETED');
    CREATE TABLE s (c TEXT, m TEXT);
    INSERT INTO s VALUES ('STATUS_COMPLETED', 'done'), ('STATUS_NO_SHOW', 'gone');"""

    assert meanings(opened(tmp_path, script)) == {
        ("visit", "status"): {"STATUS_COMPLETED": "done", "STATUS_NO_SHOW": "gone"}
    }


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("id INTEGER PRIMARY KEY, name TEXT", "(1, 'Ann'), (2, 'Ben'), (3, 'Cid'), (4, 'Dan')"),
        ("name TEXT, team TEXT, age INT, size INT", "('D', 'L', 30, 1), ('L', 'D', 40, 2)"),
        ("number INT, name TEXT", "(1, 'at once'), (2, 'soon'), (3, 'some day')"),
    ],
)
def test_tables_of_other_things_explain_no_codes(tmp_path: Path, columns: str, rows: str) -> None:
    source = opened(tmp_path, f"{SHIPMENTS}CREATE TABLE s ({columns}); INSERT INTO s VALUES {rows};")

    assert meanings(source) == {}


def test_a_column_with_other_values_is_not_explained(tmp_path: Path) -> None:
    source = opened(
        tmp_path, f"{SHIPMENTS}CREATE TABLE s (c TEXT, m TEXT); INSERT INTO s VALUES ('D', 'down'), ('U', 'up');"
    )

    assert meanings(source) == {}


def test_a_group_of_several_codes_is_not_their_meaning(tmp_path: Path) -> None:
    table = "CREATE TABLE s (code TEXT, label TEXT); INSERT INTO s VALUES ('D', 'done'), ('L', 'done'), ('N', 'new')"

    assert meanings(opened(tmp_path, SHIPMENTS + table)) == {}


def test_two_tables_that_explain_the_same_codes_explain_none(tmp_path: Path) -> None:
    tables = "".join(
        f"CREATE TABLE {name} (c TEXT, m TEXT); INSERT INTO {name} VALUES ('D', '{d}'), ('L', '{name}');"
        for name, d in (("one", "down"), ("two", "done"))
    )

    assert meanings(opened(tmp_path, SHIPMENTS + tables)) == {}


def test_row_rules_and_secret_columns_hold_for_tables_of_codes(tmp_path: Path) -> None:
    script = SHIPMENTS + "CREATE TABLE s (c TEXT, m TEXT); INSERT INTO s VALUES ('D', 'delivered'), ('L', 'lost');"
    denied = opened(tmp_path, script, row_rules={"s": "deny"})
    assert meanings(denied) == {}

    (tmp_path / "data.sqlite").unlink()
    assert meanings(opened(tmp_path, script, secret_columns=["s.m"])) == {}
