"""Choice of the source that a question refers to."""

import pytest

from agent.retrieval.choose_source import choose_source, rank_sources
from agent.retrieval.index import SchemaIndex
from agent.schema.catalog import Catalog, Column, Table


def index(*tables: str, values: tuple[str, ...] = ()) -> SchemaIndex:
    """Tables as `name column column`."""
    made = {}
    for line in tables:
        name, *columns = line.split()
        made[name] = Table(name, tuple(Column(column, "TEXT") for column in columns))
    first = next(iter(made.values()))
    sampled = {(first.key, first.columns[0].name): values} if values else {}
    return SchemaIndex(Catalog("sqlite", made, values=sampled))


SOURCES = {
    "shop": index("customers city name", "orders amount customer_id", "products price"),
    "school": index("students name city", "courses title", "teachers name"),
    "clinic": index("patients name", "visits date patient_id", values=("Wolfgang",)),
}


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("How many students are there in each city?", "school"),
        ("What is the price of the product?", "shop"),
        ("visits per patient", "clinic"),
        ("Where does Wolfgang live?", "clinic"),
        ("Tell me a joke", "shop"),
        ("", "shop"),
    ],
)
def test_a_question_finds_its_source(question: str, source: str) -> None:
    assert choose_source(question, SOURCES) == source


def test_equal_sources_stay_in_the_order_given() -> None:
    twins = {name: index("customers city") for name in ("second", "first")}

    assert choose_source("customers", twins) == "second"
    assert choose_source("customers", dict(reversed(twins.items()))) == "first"


def test_a_word_that_is_rare_in_one_source_only_does_not_win_for_it() -> None:
    """`status` stands in one of many tables of the first source, but in all of the second."""
    first = index("refunds status", *(f"t{number} x" for number in range(40)))
    second = index("parcels status", "letters status", "shipments status weight")

    assert choose_source("status of the parcels", {"first": first, "second": second}) == "second"


def test_the_reasons_name_table_and_words() -> None:
    best, *others = rank_sources("Students by city", SOURCES)

    assert (best.name, best.table) == ("school", "students")
    assert best.terms == ("students", "city")
    assert [choice.name for choice in others] == ["shop", "clinic"]
    assert others[-1].score is None and others[-1].table is None and others[-1].terms == ()


def test_a_slip_of_the_pen_finds_its_source_when_asked_for() -> None:
    assert choose_source("the studnets", SOURCES) == "shop"
    assert choose_source("the studnets", SOURCES, fuzzy=1) == "school"


def test_no_source_is_an_error() -> None:
    with pytest.raises(ValueError, match="no sources"):
        choose_source("students", {})
