"""Linking a question to tables of a schema that is larger than the prompt."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from datasphinx.agent.graph import build_graph
from datasphinx.agent.linking import choose_source, fits_budget, link_source
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.schema.describe import estimate_tokens
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.source import Source
from tests.support.databases import make_database, open_url, students_among_machines, url

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Students, allergies and the table between them, among 150 tables that have nothing to do with it."""
    return students_among_machines(tmp_path_factory.mktemp("students"), 150)


def linked(source: Source, question: str, *chosen: list[str], attempt: int = 1) -> tuple[list[str], str]:
    """Return the tables that are linked, and the last prompt that the model chose from."""
    model = ScriptedModel({"TableSelection": [{"tables": tables} for tables in chosen]})
    services = Services(load_settings(schema_token_budget=400), model=model)
    tables = services.roles.linker.link_tables(question, source, attempt).keys
    return tables, str(model.calls[-1]) if model.calls else ""


@pytest.mark.parametrize(
    "name", ['"student"', "`Student`", "[student]", "main.student", " student ", "student(id, first)", 'main."student"']
)
def test_a_table_is_chosen_however_its_name_is_written(source: Source, name: str) -> None:
    assert linked(source, "students with an allergy", [name])[0] == ["student"]


def test_an_unknown_name_stands_for_the_nearest_and_one_without_any_is_dropped(source: Source) -> None:
    tables, _ = linked(source, "students with an allergy", ["student", "alergy", "nonsense"])

    assert set(tables) == {"student", "allergy", "has"}


def test_tables_that_are_needed_for_a_join_come_along(source: Source) -> None:
    tables, _ = linked(source, "students with an allergy", ["student", "allergy"])

    assert set(tables) == {"student", "allergy", "has"}


def test_the_model_sees_what_the_question_meets_first(source: Source) -> None:
    _, prompt = linked(source, "students with an allergy", ["student"])

    assert "student(" in prompt and "has(" in prompt


def test_a_further_attempt_shows_more_and_reads_slips_of_the_pen(source: Source) -> None:
    _, first = linked(source, "studnets and the voltage", ["student"])
    _, second = linked(source, "studnets and the voltage", ["student"], attempt=2)

    assert "student(" not in first
    assert "student(" in second
    assert second.count("machine_") > first.count("machine_")


def test_a_small_choice_fits_and_a_large_schema_does_not(source: Source) -> None:
    whole = [(key, table.column_names) for key, table in source.catalog.tables.items()]

    assert fits_budget(source, [("student", ["id", "first"])], 100)
    assert not fits_budget(source, whole, 100)
    assert fits_budget(source, whole, 100_000)


def test_the_size_of_a_schema_is_read_only_as_far_as_the_budget_goes(source: Source) -> None:
    read = []

    def whole() -> Iterator[tuple[str, Sequence[str]]]:
        for key, table in source.catalog.tables.items():
            read.append(key)
            yield key, table.column_names

    assert not fits_budget(source, whole(), 100)
    assert len(read) < 10


def test_the_list_of_tables_keeps_references_only_where_they_fit(source: Source) -> None:
    whole = source.table_list(10_000)
    tokens = estimate_tokens(whole)

    assert "has(s -> student.id, a -> allergy.id)" in whole
    assert "has(s, a)" in source.table_list(tokens - 5) and "->" not in source.table_list(tokens - 5)
    assert source.table_list(100) == ""


def test_a_text_about_a_source_is_rendered_once(source: Source) -> None:
    rendered = []

    def render() -> str:
        rendered.append("text")
        return "text"

    assert [source.memoized("key", render) for _ in range(3)] == ["text"] * 3
    assert rendered == ["text"]
    assert source.memoized("other key", render) == "text" and len(rendered) == 2


def test_a_statement_is_checked_once(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = "SELECT first FROM student WHERE id = 'x'"
    warnings = source.warnings_about(sql)
    monkeypatch.setattr("datasphinx.agent.sources.source.remarks_of", lambda *_: pytest.fail("checked again"))

    assert warnings and source.warnings_about(sql) == warnings


def test_best_tables_are_detailed_beside_the_list_of_all(source: Source) -> None:
    """No table is selected by the model, misspelt words match, and the budget limits the tables in detail."""
    linker = Services(load_settings(schema_token_budget=1000), model=ScriptedModel()).roles.linker
    linked = linker.link_tables("studnets with an alergy", source, 1)

    assert linked.list_tokens == 2000 and not linked.is_final
    assert {"student", "allergy", "has"} <= set(linked.keys)
    assert len(linked.keys) < 20
    assert linker.link_tables("一二三", source, 1).keys


@pytest.fixture(scope="module")
def harbours(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A table of 60 columns, one of which stores `Fjordgaten`, among 150 machines."""
    path = make_database(
        tmp_path_factory.mktemp("harbours"),
        *(f"CREATE TABLE machine_{number:03} (id INTEGER, voltage_of_machine REAL)" for number in range(150)),
        f"CREATE TABLE piers ({', '.join(f'property_number_{number} TEXT' for number in range(60))})",
        "INSERT INTO piers (property_number_7) VALUES ('Fjordgaten'), ('Kai')",
    )
    return open_url(url(path), profile_budget_s=60)


@pytest.mark.parametrize("budget", [400, 2000])
def test_the_table_of_a_stored_value_is_shown_in_detail_whatever_its_size(harbours: Source, budget: int) -> None:
    model = ScriptedModel({"TableSelection": [{"tables": ["machine_003"]}] * 2})
    linker = Services(load_settings(schema_token_budget=budget), model=model).roles.linker

    linked = linker.link_tables("voltage of the machines in Fjordgaten", harbours, 1)

    assert "piers" in linked.keys
    assert bool(linked.list_tokens) == (budget == 2000)
    assert "piers" not in linker.link_tables("voltage of the machines in Ulm", harbours, 1).keys


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


@pytest.fixture
def open_named(tmp_path: Path) -> Callable[[str, str], Source]:
    """Return a function that opens one of four databases by name."""
    schemas = {
        "crm": "CREATE TABLE customer (id INTEGER, name TEXT, segment TEXT)",
        "shop": "CREATE TABLE purchase (id INTEGER, customer_id INTEGER, revenue REAL)",
        "north": "CREATE TABLE visit (id INTEGER, day TEXT)",
        "south": "CREATE TABLE visit (id INTEGER, day TEXT)",
    }
    opened = {name: open_url(url(make_database(tmp_path, sql, name=f"{name}.sqlite"))) for name, sql in schemas.items()}
    return lambda name, question: opened[name]


@pytest.mark.parametrize(
    ("question", "names", "choice"),
    [
        ("How many visits in south?", ("north", "south"), ("south", {})),
        ("visits", ("north", "south"), ("north", {"south": []})),
        ("Compare the visits of north and south", ("north", "south"), ("north", {"south": []})),
        ("segment of each customer", ("crm", "shop"), ("crm", {})),
        ("revenue by customer segment", ("crm", "shop"), ("crm", {"shop": ["revenue"]})),
        ("revenue by segment in shop", ("crm", "shop"), ("shop", {"crm": ["segment"]})),
        ("visits in the shop", ("crm", "shop", "north"), ("north", {"shop": []})),
        ("How many visits?", ("south",), ("south", {})),
    ],
)
def test_a_named_source_is_asked_and_other_candidates_are_reported(
    question: str, names: tuple[str, ...], choice: tuple[str, dict[str, list[str]]], open_named: Callable[..., Source]
) -> None:
    assert tuple(link_source(question, names, open_named)) == choice


def test_the_answer_and_the_error_name_the_other_source(tmp_path: Path) -> None:
    sources = {
        "crm": "CREATE TABLE customer (id INTEGER, segment TEXT)",
        "shop": "CREATE TABLE purchase (id INTEGER, customer_id INTEGER, revenue REAL)",
    }
    urls = {name: {"url": url(make_database(tmp_path, sql, name=f"{name}.sqlite"))} for name, sql in sources.items()}
    for statement in ({"sql": "SELECT segment FROM customer"}, {"sql": "", "off_topic": True, "reason": "no revenue"}):
        model = ScriptedModel({"GeneratedSQL": [statement] * 4})
        settings = load_settings(sources=urls, enable_sql_validation=False)
        output = build_graph(Services(settings, model=model)).invoke({"question": "revenue by customer segment"})
        assert "the source crm" in output["answer"] and "shop, which has revenue" in output["answer"]
