"""Search for stored values by the words of a question."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from datasphinx.agent.retrieval import value_store
from datasphinx.agent.retrieval.value_index import ValueIndex
from datasphinx.agent.retrieval.value_store import ColumnValues
from tests.support.characters import ANY
from tests.support.heavy import sample

VALUES = {
    ("shops", "state"): ["TX", "CA", "NY", "IN"],
    ("states", "name"): ["Texas", "California", "New York"],
    ("orders", "country"): ["DE", "FR", "US"],
    ("people", "country"): ["Germany", "France", "United States of America"],
    ("codes", "iso"): ["DEU", "USA", "RUS"],
    ("people", "name"): ["John Smith", "José García", "Иван Петров", "北京市", "Müller & Söhne GmbH", "Straße"],
    ("days", "name"): ["Mon", "Tue", "January", "Feb"],
    ("prices", "currency"): ["EUR", "RUB"],
}


@pytest.fixture(scope="module")
def index() -> ValueIndex:
    return ValueIndex.of(VALUES)


def found(index: ValueIndex, text: str, kind: str | None = None) -> set[str]:
    return {match.value for match in index.find(text) if kind in {None, match.kind}}


@pytest.mark.parametrize(
    "text, kind, values",
    [
        ("Texas", "exact", {"Texas"}),
        ("Texas", "abbreviation", {"TX"}),
        ("TX", "abbreviation", {"Texas"}),
        ("texas", "normalised", {"Texas"}),
        ("JOSE GARCIA", "normalised", {"José García"}),
        ("  new   york ", "normalised", {"New York"}),
        ("muller sohne gmbh", "normalised", {"Müller & Söhne GmbH"}),
        ("STRASSE", "normalised", {"Straße"}),
        ("ｔｅｘａｓ", "normalised", {"Texas"}),
        ("иван петров", "normalised", {"Иван Петров"}),
        ("Germany", "abbreviation", {"DE", "DEU"}),
        ("Германия", "abbreviation", {"DE", "DEU", "Germany"}),
        ("德国", "abbreviation", {"DE", "DEU", "Germany"}),
        ("United States of America", "abbreviation", {"US", "USA"}),
        ("USA", "abbreviation", {"US", "United States of America"}),
        ("January", "exact", {"January"}),
        ("января", "abbreviation", {"January"}),
        ("星期一", "abbreviation", {"Mon"}),
        ("February", "abbreviation", {"Feb"}),
        ("рубль", "abbreviation", set()),
        ("российский рубль", "abbreviation", {"RUB"}),
        ("euro", "abbreviation", {"EUR"}),
        ("Jonh Smith", "fuzzy", {"John Smith"}),
        ("Smith", "fuzzy", {"John Smith"}),
        ("Smith, John", "fuzzy", {"John Smith"}),
        ("Gremany", "fuzzy", {"Germany"}),
        ("Иван Питров", "fuzzy", {"Иван Петров"}),
    ],
)
def test_a_phrase_finds_what_is_stored(index: ValueIndex, text: str, kind: str, values: set[str]) -> None:
    assert found(index, text, kind) == values


@pytest.mark.parametrize("text", ["", "  ", "?!", "xylophone", "\x00", "a" * 5000, "' OR 1=1 --", '"', "*", "AND"])
def test_a_phrase_that_means_none_of_them(index: ValueIndex, text: str) -> None:
    assert found(index, text) == set()


def test_a_code_in_small_letters_is_a_word(index: ValueIndex) -> None:
    assert found(index, "in") == {"IN"}
    assert found(index, "IN", "abbreviation") == found(index, "in", "abbreviation") == set()
    assert found(index, "tx", "abbreviation") == set()
    assert found(index, "TX", "abbreviation") == {"Texas"}


def test_the_likeliest_come_first_and_only_once(index: ValueIndex) -> None:
    matches = index.find("Texas")
    assert [match.value for match in matches[:2]] == ["Texas", "TX"]
    assert (matches[0].table, matches[0].column, matches[0].score) == ("states", "name", 1.0)
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    assert len({(match.table, match.column, match.value) for match in matches}) == len(matches)
    assert len(index.find("Texas", limit=1)) == 1


def test_initials_of_a_name_and_back() -> None:
    index = ValueIndex.of({("firms", "name"): ["Bank of New England", "ACME"], ("t", "code"): ["BNE"]})
    assert found(index, "BNE", "abbreviation") == {"Bank of New England"}
    assert found(index, "Bank of New England", "abbreviation") == {"BNE"}


def test_what_a_column_contains() -> None:
    index = ValueIndex.build(
        [ColumnValues("shops", "state", ("TX", "CA"), True), ColumnValues("shops", "city", ("Austin",), False)]
    )
    assert index.contains("shops", "state", "TX") is True
    assert index.contains("shops", "state", "Texas") is False
    assert index.contains("shops", "state", "tx") is False
    assert index.contains("shops", "city", "Austin") is True
    assert index.contains("shops", "city", "Dallas") is None
    assert index.contains("shops", "name", "TX") is None
    assert index.contains("shops", "state", "x" * 300) is None


def test_a_database_that_folds_case_contains_in_any_case() -> None:
    index = ValueIndex.build([ColumnValues("shops", "state", ("TX",), True)], folds_case=True)
    assert index.contains("shops", "state", "tx") is True


@pytest.mark.parametrize(
    ("place", "literal", "nearest"),
    [
        (("shops", "state"), "Texas", ["TX"]),
        (("shops", "state"), "tx", ["TX"]),
        (("people", "country"), "Germny", ["Germany"]),
        (("people", "name"), "john smyth", ["John Smith"]),
        (("people", "name"), "Texas", []),
        (("nowhere", "name"), "Texas", []),
    ],
)
def test_the_nearest_values_of_a_column(
    index: ValueIndex, place: tuple[str, str], literal: str, nearest: list[str]
) -> None:
    assert index.nearest(*place, literal) == nearest


def test_the_same_from_a_file(tmp_path: Path, index: ValueIndex) -> None:
    columns = [ColumnValues(*place, tuple(values), True) for place, values in VALUES.items()]
    path = tmp_path / "new folder" / "index.values"
    ValueIndex.build(columns, path).close()
    opened = ValueIndex.load(path)
    assert opened is not None
    for text in ("Texas", "Jonh Smith", "德国", "USA"):
        assert opened.find(text) == index.find(text)
    opened.close()
    assert [file.name for file in path.parent.iterdir()] == ["index.values"]
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_broken_file_is_thrown_away(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "index.values"
    path.write_bytes(content)
    assert ValueIndex.load(path) is None
    assert not path.exists()


def test_a_file_that_breaks_later_gives_nothing_and_is_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "index.values"
    built = ValueIndex.build([ColumnValues("t", "c", tuple(f"word {n}" for n in range(5000)), True)], path)
    built.close()
    opened = ValueIndex.load(path)
    assert opened is not None
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
    assert opened.find("word 77") == []
    assert opened.contains("t", "c", "word 77") is None
    assert opened.nearest("t", "c", "word 77") == []
    assert not path.exists()
    opened.close()


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    index = ValueIndex.build([ColumnValues("t", "c", ("word",), True)], tmp_path / "file" / "index.values")
    assert found(index, "word") == {"word"}


def test_an_error_while_values_are_read_leaves_no_file(tmp_path: Path) -> None:
    def columns() -> "list[ColumnValues]":
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        ValueIndex.build((column for _ in range(1) for column in columns()), tmp_path / "index.values")
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, max_examples=sample(200, 30))
@given(st.text("abcd ", min_size=1, max_size=14), st.text("abcd ", min_size=1, max_size=14))
def test_no_text_within_the_allowed_edits_is_missed(stored: str, query: str) -> None:
    stored, query = " ".join(stored.split()), " ".join(query.split())
    allowed = value_store.max_edits(len(stored))
    if (
        not stored
        or not query
        or Levenshtein.distance(stored, query) > allowed
        or not value_store.max_edits(len(query))
    ):
        return
    if abs(len(stored) - len(query)) > value_store.max_edits(len(query)) or not allowed:
        return
    index = ValueIndex.of({("t", "c"): [stored]})
    assert [form for _, form in value_store.similar_forms(index._connection, query, 10)] == [stored]
    index.close()


@given(st.text(ANY, max_size=30))
@settings(deadline=None, max_examples=sample(100, 20))
def test_any_value_finds_itself(value: str) -> None:
    clean = value.encode("utf-8", "replace").decode()
    index = ValueIndex.of({("t", "c"): [clean]})
    assert index.contains("t", "c", clean) is True
    assert index.contains("t", "c", clean + "x") is False
    index.close()


def test_values_that_texts_name_are_found_together(index: ValueIndex) -> None:
    named = index.lookup(["texas", "Texas", "Gremany", "Smith", "Германии", "", "DEU"])

    assert {text: {(each.value, each.kind) for each in matches} for text, matches in named.items()} == {
        "texas": {("Texas", "normalised"), ("TX", "abbreviation")},
        "Texas": {("Texas", "exact"), ("TX", "abbreviation")},
        "Германии": {("DE", "abbreviation"), ("DEU", "abbreviation"), ("Germany", "abbreviation")},
        "DEU": {("DEU", "exact"), ("DE", "abbreviation"), ("Germany", "abbreviation")},
    }
    assert index.lookup([]) == {}


def test_an_index_that_was_stopped_is_not_stored(tmp_path: Path) -> None:
    path, read = tmp_path / "index.values", list[str]()

    def columns() -> Iterator[ColumnValues]:
        for name in "abc":
            read.append(name)
            yield ColumnValues("t", name, ("word",), True)

    index = ValueIndex.build(columns(), path, stop=lambda: len(read) == 2)
    assert not index.is_stored
    assert list(tmp_path.iterdir()) == []
