"""Linking words of a question to stored values, over the sample shop and over an index in memory."""

from collections.abc import Mapping, Sequence

import pytest

from datasphinx.agent.retrieval.linked_values import LinkedValue, coded_values, linked_values
from datasphinx.agent.retrieval.value_index import ValueIndex
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.codes import codes_in
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.source import Source

VALUES = {
    ("singer", "country"): ["France", "United States", "Iran"],
    ("singer", "name"): ["The Who", "France Gall", "John Smith", "O'Brien", "Prince"],
    ("city", "name"): ["Paris", "Москва", "北京", "上海浦东"],
    ("city", "label"): ["A", "B", "order", "Student"],
    ("model", "code"): ["737", "2014", "Boeing 737"],
    ("grade", "size"): ["average", "in", "high", "in total"],
    ("pet", "kind"): ["dog", "puppy", "Dogs"],
    ("airline", "code"): ["HMF", "ALL"],
    ("season", "label"): ["2025/26", "2024-25", "2.5", "2025-03-01", "7:30"],
}
SELECTION = {
    "singer": ["singer_id", "country", "name"],
    "city": ["name", "label"],
    "model": ["code"],
    "grade": ["size"],
    "pet": ["kind"],
    "airline": ["code"],
    "season": ["label"],
    "orders": ["order_id"],
}


@pytest.fixture(scope="module")
def index() -> ValueIndex:
    return ValueIndex.of(VALUES)


@pytest.fixture(scope="module")
def shop(cache_dir: object) -> Source:
    return Services(Settings(cache_dir=cache_dir)).source()  # type: ignore[arg-type]


def found(index: ValueIndex, question: str, selection: Mapping[str, Sequence[str]] = SELECTION) -> list[str]:
    return [link.value for link in linked_values(question, index, selection)]


@pytest.mark.parametrize(
    "question, values",
    [
        ("How many singers are from France?", ["France"]),
        ("How many singers are from france or the USA?", ["France", "United States"]),
        ("Which songs did France Gall sing?", ["France Gall"]),
        ("songs of 'the who' and of O'Brien", ["The Who", "O'Brien"]),
        ("singers from Frence", ["France"]),
        ("singers from frence", []),
        ("Wie viele Stunden sind es?", []),
        ("Goals in the 2025/26 season", ["2025/26"]),
        ("2025/26赛季和2024-25赛季的进球", ["2025/26", "2024-25"]),
        ("Goals in the 2026/27 season", []),
        ("Goals above 2.5 since 2025-03-01, at 7:30", []),
        ("Iranian singers from Iraq", []),
        ("Сколько певцов из Франции?", ["France"]),
        ("Кто живёт в Москве?", ["Москва"]),
        ("北京有多少歌手？", ["北京"]),
        ("来自法国和上海浦东的歌手", ["France", "上海浦东"]),
        ("the Boeing 737", ["Boeing 737"]),
        ("in 2014, 737 of them", []),
        ("the model “737”", ["737"]),
        ("label B, which is no b", ["B"]),
        ("How many puppies are there?", ["puppy"]),
        ("How many orders are in total of average size?", []),
        ("how many flights of all singers", []),
        ("", []),
        ("???", []),
    ],
)
def test_words_that_mean_a_value(index: ValueIndex, question: str, values: list[str]) -> None:
    assert found(index, question) == values


def test_only_selected_columns_count(index: ValueIndex) -> None:
    assert found(index, "singers from France in Paris", {"singer": ["name"], "city": ["name"]}) == ["Paris"]


def test_a_word_that_names_a_table_or_column_is_no_value_unless_it_is_quoted(index: ValueIndex) -> None:
    assert found(index, "How many orders have a label?") == []
    assert found(index, "How many have the label 'order'?") == ["order"]


def test_at_most_eight_values_come_in_the_order_of_the_question() -> None:
    names = [f"Zork{letter}" for letter in "jihgfedcba"]
    index = ValueIndex.of({("thing", "name"): names})
    links = found(index, f"Show {', '.join(names)}", {"thing": ["name"]})

    assert links == names[:8]


def test_a_very_long_question_is_read_in_part(index: ValueIndex) -> None:
    assert found(index, "from France " + "in Nowhere " * 3000) == ["France"]


UNITS = Catalog(
    "sqlite",
    {
        "unit": Table(
            "unit",
            (
                Column("unit_id", "INTEGER", comment="1 = unit of the first line"),
                Column("state", "TEXT", comment="state of the unit: D = down, U = up and running, X = scrapped"),
                Column("channel", "INTEGER", comment="1 - phone; 2 - online shop; 9 - unit"),
                Column("note", "TEXT", comment="free text, see: manual"),
            ),
        )
    },
)
STATES = ValueIndex.of({("unit", "state"): ["D", "U"]})
MEANINGS = {("unit", column.name): codes_in(column.comment or "") for column in UNITS.tables["unit"].columns}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which units are down?", [LinkedValue("unit", "state", "D")]),
        ("How many units are up and running?", [LinkedValue("unit", "state", "U")]),
        ("How many units are running?", [LinkedValue("unit", "state", "U")]),
        ("Units that were ordered by phone", [LinkedValue("unit", "channel", "1")]),
        (
            "Units from the online shop that are down",
            [LinkedValue("unit", "state", "D"), LinkedValue("unit", "channel", "2")],
        ),
        # No row has the code, a meaning that only names a table says nothing, and "see" is no code.
        ("Which units were scrapped?", []),
        ("How many units are there?", []),
        ("Which units are in the manual?", []),
    ],
)
def test_words_refer_to_codes_by_the_comments_of_columns(question: str, expected: list[LinkedValue]) -> None:
    assert coded_values(question, UNITS, MEANINGS, STATES, UNITS.selection()) == expected


def test_a_meaning_of_function_words_alone_is_a_phrase_and_codes_have_a_plural() -> None:
    catalog = Catalog("sqlite", {"visits": Table("visits", (Column("status", "TEXT"), Column("role", "TEXT")))})
    codes = {"NS": "no-show", "N": "no", "DN": "done, the patient was seen"}
    values = ValueIndex.of({("visits", "status"): list(codes), ("visits", "role"): ["GP", "RN"]})

    def found(question: str) -> list[str]:
        links = coded_values(question, catalog, {("visits", "status"): codes}, values, catalog.selection())
        return [link.value for link in (*links, *linked_values(question, values, catalog.selection()))]

    assert found("How many no-shows were there?") == ["NS"]
    assert found("Show those with no shoes") == found("How many have no role?") == []
    assert found("How many GPs are there?") == ["GP"]


def test_the_words_that_distinguish_a_meaning_are_enough() -> None:
    catalog = Catalog("sqlite", {"patient": Table("patient", (Column("cover", "TEXT"),))})
    codes = {"PUB": "public health insurance, by law", "PRV": "private health insurance"}
    values = ValueIndex.of({("patient", "cover"): list(codes)})

    def found_codes(question: str) -> list[str]:
        links = coded_values(question, catalog, {("patient", "cover"): codes}, values, catalog.selection())
        return [link.value for link in links]

    assert found_codes("How many patients are privately insured?") == ["PRV"]
    assert found_codes("How many patients have public insurance?") == ["PUB"]
    assert found_codes("How many private patients are there?") == ["PRV"]
    assert found_codes("How many patients have an insurance?") == []
    # A word such as "private" in "private calls" says something else.
    assert found_codes("How many private calls did patients make?") == []
