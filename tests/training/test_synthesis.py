import re
from collections import Counter
from collections.abc import Iterator

import pytest
import sqlglot
from sqlglot import exp

from benchmarks import spider
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Limits
from tests.support.databases import open_url
from training.business import business_schemas
from training.rows import fill
from training.spider import normalised, read_held_out
from training.synthesis import Synthetic, executable, synthesise
from training.synthesis.families import FAMILIES
from training.synthesis.nouns import column_words, pluralised, singular, table_words, term_of

DATABASES = ("fashion_webshop", "restaurant_delivery", "grocery_receipts", "marketing", "freelance")
COUNT = 90

SHOP_TABLES = {
    "regions", "employees", "customers", "categories", "products", "channels", "orders", "order_items", "returns",
}  # fmt: skip


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Source]]:
    """Five of the business schemas with rows."""
    folder, found = tmp_path_factory.mktemp("rows"), {}
    for name in DATABASES:
        fill(business_schemas()[name], (), folder / f"{name}.sqlite", 1)
        found[name] = open_url(f"sqlite:///{folder / name}.sqlite", Limits(timeout_s=20, row_limit=500))
    yield found
    for source in found.values():
        source.close()


@pytest.fixture(scope="module")
def made(sources: dict[str, Source]) -> list[tuple[str, Synthetic]]:
    return [(name, one) for name, source in sources.items() for one in synthesise(source, 5, COUNT)]


def test_every_family_occurs_and_most_in_each_language(made: list[tuple[str, Synthetic]]) -> None:
    languages = Counter(one.language for _, one in made)

    assert len(made) == len(DATABASES) * COUNT
    assert {one.family for _, one in made} == set(FAMILIES)
    assert 0.62 < languages["en"] / len(made) < 0.78
    for language in ("ru", "zh"):
        assert len({one.family for _, one in made if one.language == language}) > 0.7 * len(FAMILIES)


def test_questions_are_in_the_language_they_say(made: list[tuple[str, Synthetic]]) -> None:
    for _, one in made:
        assert bool(re.search("[а-яё]", one.question.lower())) is (one.language == "ru"), one
        assert bool(re.search("[一-鿿]", one.question)) is (one.language == "zh"), one


def test_questions_have_no_traces_of_their_making(made: list[tuple[str, Synthetic]]) -> None:
    for _, one in made:
        assert not re.search(r"[{}_]|  |,[,.?:]|None|Noun", one.question), one.question


def test_statements_pass_the_guard_and_give_rows(made: list[tuple[str, Synthetic]], sources: dict[str, Source]) -> None:
    assert any("QUALIFY" in one.sql for _, one in made)
    for name, one in made[::4]:
        result = sources[name].execute(executable(one.sql))
        assert result["rows"], one


def test_statements_keep_to_what_compact_statements_can_say(made: list[tuple[str, Synthetic]]) -> None:
    for _, one in made:
        tree = sqlglot.parse_one(one.sql, dialect="sqlite")
        assert not list(tree.find_all(exp.Exists, exp.With, exp.Cast, exp.TableAlias)), one
        for select in tree.find_all(exp.Select):
            joined = [join.this.name for join in select.args.get("joins") or ()]
            tables = [select.args["from_"].this.name, *joined]
            assert len(set(tables)) == len(tables), one


def test_same_seed_same_questions(sources: dict[str, Source]) -> None:
    source = sources["marketing"]

    assert synthesise(source, 7, 40) == synthesise(source, 7, 40)
    assert synthesise(source, 7, 40) != synthesise(source, 8, 40)


def test_no_question_is_one_of_those_that_are_measured_with(
    made: list[tuple[str, Synthetic]], measured: set[str]
) -> None:
    assert len(measured) > 60
    assert not measured & {normalised(one.question) for _, one in made}


@pytest.mark.benchdata
@pytest.mark.skipif(not spider.SCHEMAS.is_file(), reason="shared/benchmarks is not beside the project")
def test_no_question_is_one_of_spider_dev(made: list[tuple[str, Synthetic]]) -> None:
    held_out = read_held_out(spider.DEV / "questions.jsonl")

    assert not held_out.questions & {normalised(one.question) for _, one in made}
    assert not held_out.db_ids & set(business_schemas())


def test_no_schema_is_the_sample_shop() -> None:
    schemas = business_schemas()

    assert len(schemas) >= 25
    for schema in schemas.values():
        assert len(schema.tables) == 1 or 3 <= len(schema.tables) <= 9, schema.db_id
        names = {table.name.lower() for table in schema.tables}
        assert len(names & SHOP_TABLES) <= 1, schema.db_id
        columns = {(table.name.lower(), column.name.lower()) for table in schema.tables for column in table.columns}
        for key in schema.foreign_keys:
            assert (key.table.lower(), key.column.lower()) in columns
            assert (key.target.lower(), key.target_column.lower()) in columns


@pytest.mark.parametrize(
    ("name", "table", "expected"),
    [
        ("OrderItems", None, "order item"),
        ("tbl_categories", None, "category"),
        ("hotel_name", "hotels", "name"),
        ("WeightKg", "Shipment", "weight"),
        ("booked_on", "bookings", "booking date"),
        ("duration_minutes", "episodes", "duration in minutes"),
        ("dept_budget", "staff", "department budget"),
    ],
)
def test_names_become_words(name: str, table: str | None, expected: str) -> None:
    words = table_words(name) if table is None else column_words(name, table_words(table))

    assert " ".join(words) == expected


def test_nouns_are_declined_where_the_glossary_knows_them() -> None:
    known, unknown = term_of(["order", "status"]), term_of(["purchase", "widget"])

    assert f"{known['ru']:n}, {known['ru']:G}, {known['zh']}" == "статус заказа, статусов заказа, 订单状态"
    assert (
        f"{unknown['ru']:G}, {unknown['zh']}, {unknown['en']:N}"
        == "purchase widgets, purchase widget, purchase widgets"
    )
    assert [singular(word) for word in ("addresses", "people", "companies", "status")] == ["address", "person", "company", "status"]  # fmt: skip # noqa: E501
    assert [pluralised(word) for word in ("box", "day", "country")] == ["boxes", "days", "countries"]
