"""JSON files: arrays, objects one after the other and objects with one array, with their nested fields and numbers."""

import json
from decimal import Decimal

import pytest

from datasphinx.agent.datasets.json_file import read_json
from datasphinx.agent.datasets.limits import Loading, LoadLimits
from datasphinx.agent.errors import FileNotLoaded, FileUnreadable, TooLarge
from tests.support.errors import of_code

PEOPLE = [{"n": 1, "who": {"name": "Ann", "home": {"city": "Oslo"}}}, {"n": 2, "who": None}, {"n": 3, "tags": ["a"]}]
COLUMNS = {"n": "BIGINT", "who.name": "VARCHAR", "who.home.city": "VARCHAR", "who": "VARCHAR", "tags": "VARCHAR[]"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(PEOPLE)),
        ("a.json", "\ufeff" + json.dumps(PEOPLE, indent=4)),
        ("a.jsonl", json.dumps(PEOPLE)),
        ("a.jsonl", "\n".join(map(json.dumps, PEOPLE))),
        ("a.ndjson", "\n\n".join(map(json.dumps, PEOPLE)) + "\n"),
        ("a.json", "\n".join(json.dumps(row, indent=1) for row in PEOPLE)),
        ("a.json", json.dumps({"count": 3, "people": PEOPLE})),
        ("a.json", json.dumps({"page": {"links": [{"next": "x"}], "people": PEOPLE}})),
        ("a.json", json.dumps(PEOPLE).encode("utf-16").decode("latin-1")),
    ],
)
def test_rows_are_objects_with_their_nested_fields(name, content, load) -> None:
    encoding = "latin-1" if content.startswith("\xff") else "utf-8"
    loaded = load(name, content.encode(encoding))

    assert loaded.schema == COLUMNS
    assert loaded.rows == [[1, "Ann", "Oslo", None, None], [2, None, None, None, None], [3, None, None, None, ["a"]]]
    assert loaded.warnings == ({("json_array", "")} if "count" in content or "page" in content else set())


def test_arrays_of_objects_stay_json(load) -> None:
    assert load("a.json", b'[{"n": 1, "items": [{"price": 1.50}, {}]}]').rows == [[1, '[{"price": 1.5}, {}]']]


def test_arrays_of_values_are_rows_of_cells(load) -> None:
    loaded = load("a.json", b'[["NAME", "POP"], ["Oslo", "700"], ["Riga", null], ["Bonn", "300"]]')

    assert (list(loaded.schema), loaded.rows) == (["NAME", "POP"], [["Oslo", 700], ["Riga", None], ["Bonn", 300]])
    assert load("b.json", b"[1, 2, 4]").rows == [[1], [2], [4]]


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [
        (["12345678901234567890", "1"], "HUGEINT"),
        (["12345678901234567890", "0.5"], "DECIMAL(38,1)"),
        (["0.12345678901234567890", "7"], "DECIMAL(38,20)"),
        (["9007199254740993", "2.5"], "DECIMAL(38,1)"),
        (["1" * 40, "2"], "VARCHAR"),
        (["0.1", "1e-5", "1234567.25"], "DOUBLE"),
        (["NaN", "1.5"], "DOUBLE"),
        (["1" * 5000, "x"], "VARCHAR"),
    ],
)
def test_no_digit_is_lost(numbers, kind, registry, load) -> None:
    lines = "".join(f'{{"v": {number if number != "x" else json.dumps(number)}}}\n' for number in numbers)
    loaded = load("a.jsonl", lines.encode())

    assert loaded.schema == {"v": kind}
    if kind != "VARCHAR":
        found = [None if cell is None else Decimal(str(cell)) for (cell,) in loaded.rows]
        assert found == [None if number == "NaN" else Decimal(number) for number in numbers]
    else:
        assert [cell for (cell,) in loaded.rows] == numbers


def test_keys_that_differ_in_case_or_repeat_the_path_of_another_keep_their_values(load) -> None:
    loaded = load("a.json", b'[{"a": 1, "A": 2, "b": {"c": 3}, "b.c": 4, "": 5}]')

    assert loaded.rows == [[1, 2, 4, 5]] or loaded.rows == [[1, 2, 3, 4, 5]]


@pytest.mark.parametrize("content", [b"[]", b"{}", b"[{}, {}]", b' \n{"rows": {}}'])
def test_json_without_rows_is_empty(content, load) -> None:
    with pytest.raises(FileNotLoaded, check=of_code("file_empty")):
        load("a.json", content)


@pytest.mark.parametrize(
    ("content", "line"),
    [(b'[{"a": 1},\n{"a": 2}', 2), (b'{"a": 1}\n\n{"a": }\n', 3), (b'[\n{"a": 1}\n]\nx', 4), (b'{"a": "\n', 1)],
)
def test_the_line_of_an_error_is_told(content, line, load) -> None:
    with pytest.raises(FileUnreadable, match=f"line {line} is not valid JSON"):
        load("a.json", content)


def test_half_of_a_pair_of_surrogates_is_replaced(load) -> None:
    assert load("a.json", rb'[{"a": "x\ud800"}]').rows == [["x?"]]


def test_a_value_that_does_not_fit_into_memory_is_refused(tmp_path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": "' + "x" * 3_000_000)

    with pytest.raises(TooLarge):
        read_json(path, tmp_path, Loading("a.json", LoadLimits(memory_mb=8)), is_document=True)
