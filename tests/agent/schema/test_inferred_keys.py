"""Inferred foreign keys: added where the name is unambiguous, and not otherwise."""

from dataclasses import replace

import pytest

from datasphinx.agent.schema.catalog import Column, ForeignKey, Table
from datasphinx.agent.schema.inferred_keys import infer_foreign_keys


def table(name: str, *columns: str, key: str | None = None, view: bool = False, schema: str | None = None) -> Table:
    """A table; `key` is its primary key, and a column is an integer unless it says otherwise as `name:type`."""
    made = (column.partition(":")[::2] for column in columns)
    typed = tuple(Column(name, kind or "INTEGER") for name, kind in made)
    return Table(name, typed, schema=schema, primary_key=(key,) if key else (), is_view=view)


def joins(*tables: Table) -> list[str]:
    found = infer_foreign_keys({table.key: table for table in tables})
    return [
        f"{key}.{','.join(foreign.columns)} -> {foreign.target}.{','.join(foreign.target_columns)}"
        for key, table in found.items()
        for foreign in table.foreign_keys
        if foreign.inferred
    ]


@pytest.mark.parametrize(
    ("source", "target", "join"),
    [
        (("orders", "id", "customer_id"), ("customers", "id"), "orders.customer_id -> customers.id"),
        (("Orders", "Id", "CustomerID"), ("Customer", "ID"), "Orders.CustomerID -> Customer.ID"),
        (("orders", "id", "customer_id"), ("customers", "customer_id"), "orders.customer_id -> customers.customer_id"),
        (("games", "id", "home_team_id"), ("teams", "id"), "games.home_team_id -> teams.id"),
        (("visits", "id", "city"), ("cities", "id"), "visits.city -> cities.id"),
        (("flights", "id", "airline_code:TEXT"), ("airlines", "code:TEXT"), "flights.airline_code -> airlines.code"),
        (("flights", "id", "delay_code:TEXT"), ("delay_codes", "code:TEXT"), "flights.delay_code -> delay_codes.code"),
        (("orders", "id", "order item id"), ("order items", "id"), "orders.order item id -> order items.id"),
        (("ratings", "id", "user_id"), ("users", "uid"), "ratings.user_id -> users.uid"),
        (("orders", "id", "personId"), ("people", "id"), "orders.personId -> people.id"),
    ],
)
def test_a_name_that_says_what_it_points_to(source: tuple[str, ...], target: tuple[str, ...], join: str) -> None:
    key = target[1].partition(":")[0]
    assert joins(table(*source, key=source[1]), table(*target, "label:TEXT", key=key)) == [join]
    assert joins(table(*source, key=source[1]), table(*target, "label:TEXT")) == [join], "the target declares no key"


@pytest.mark.parametrize(
    "tables",
    [
        (table("orders", "id", "customer_id:TEXT"), table("customers", "id", key="id")),
        (table("orders", "id", "name:TEXT"), table("customers", "name:TEXT", key="name")),
        (table("orders", "id", key="id"), table("customers", "id", key="id")),
        (table("a", "id", "owner_id"), table("b", "id", key="id")),
        (table("notes", "id", "city:TEXT"), table("cities", "id:TEXT", key="id")),
        (table("v", "customer_id", view=True), table("customers", "id", key="id")),
        (table("orders", "id", "customer_id"), table("customers", "id", view=True)),
        (
            table("a_thing", "zone_ref"),
            table("b_thing", "zone_ref", key="zone_ref"),
            table("c", "zone_ref", key="zone_ref"),
        ),
        (table("orders", "id", "customer_id"), table("customers", "id", key="id", schema="archive")),
    ],
    ids=["types", "generic", "ids", "no such table", "a text", "from a view", "to a view", "two targets", "elsewhere"],
)
def test_a_name_that_says_nothing_for_sure(tables: tuple[Table, ...]) -> None:
    assert joins(*tables) == []


@pytest.mark.parametrize(
    ("source", "target", "join"),
    [
        (("ratings", "id", "user_id"), ("users", "handle"), ["ratings.user_id -> users.handle"]),
        (("writes", "id", "aid"), ("author", "aid"), ["writes.aid -> author.aid"]),
        (("songs", "id", "band_name:TEXT"), ("band", "band_name:TEXT"), ["songs.band_name -> band.band_name"]),
        (("marks", "id", "stu_num"), ("pupil", "stu_num"), ["marks.stu_num -> pupil.stu_num"]),
        (("ratings", "id", "user_no"), ("users", "handle", "no:TEXT"), []),
        (("trains", "handle", "train_no"), ("stops", "id"), []),
    ],
)
def test_a_declared_primary_key_is_referred_to_whatever_its_name(
    source: tuple[str, ...], target: tuple[str, ...], join: list[str]
) -> None:
    key = target[1].partition(":")[0]
    assert joins(table(*source, key=source[1]), table(*target, "label:TEXT", key=key)) == join


@pytest.mark.parametrize(
    ("name", "comment", "join"),
    [
        ("aid", "Foreign key referencing the author table's primary key", ["books.aid -> author.number"]),
        ("written_by_id", "id in AUTHOR", ["books.written_by_id -> author.number"]),
        ("aid", "who wrote it", []),
        ("aid", "the author or the publisher", []),
        ("copies", "copies that the author gave away", []),
        ("aid:TEXT", "the author", []),
    ],
)
def test_the_comment_of_a_key_names_the_table_that_it_refers_to(name: str, comment: str, join: list[str]) -> None:
    books = table("books", "id", name, key="id")
    books = replace(books, columns=(books.columns[0], books.columns[1]._replace(comment=comment)))
    others = (table("author", "number", key="number"), table("publisher", "id", key="id"))

    assert joins(books, *others) == join
    found = infer_foreign_keys({each.key: each for each in (books, *others)})["books"].foreign_keys
    assert all(key.likely for key in found)


def test_a_table_wins_over_keys_that_are_called_like_it() -> None:
    patients = table("patients", "ssn", key="ssn")
    stays = table("stays", "patient", "room", key="patient")
    assert joins(table("visits", "id", "patient", key="id"), patients, stays)[-1] == "visits.patient -> patients.ssn"


def test_a_declared_key_stays_the_only_one() -> None:
    declared = ForeignKey(("customer_id",), "people", ("id",))
    orders = Table("orders", (Column("customer_id", "INTEGER"),), foreign_keys=(declared,))
    found = infer_foreign_keys({each.key: each for each in (orders, table("customers", "id", key="id"))})
    assert found["orders"].foreign_keys == (declared,)
    assert not declared.inferred


def test_the_table_that_is_named_so_wins_over_one_that_borrows_the_key() -> None:
    students = table("students", "student_id", key="student_id")
    borrowed = table("student_courses", "student_id", key="student_id")
    assert joins(table("marks", "id", "student_id", key="id"), students, borrowed) == [
        "marks.student_id -> students.student_id",
        "student_courses.student_id -> students.student_id",
    ]


def test_a_table_may_point_to_itself() -> None:
    assert joins(table("employees", "id", "manager_employee_id", key="id")) == [
        "employees.manager_employee_id -> employees.id"
    ]


def test_within_a_schema_of_its_own() -> None:
    orders = table("orders", "id", "customer_id", key="id", schema="shop")
    assert joins(orders, table("customers", "id", key="id", schema="shop")) == [
        "shop.orders.customer_id -> shop.customers.id"
    ]


@pytest.mark.parametrize(
    ("column", "is_likely"), [("customer_id", True), ("customer", True), ("first_customer_id", False)]
)
def test_a_key_is_likely_if_the_whole_name_matches(column: str, is_likely: bool) -> None:
    tables = (table("orders", "id", column, key="id"), table("customers", "id", key="id"))
    (key,) = infer_foreign_keys({each.key: each for each in tables})["orders"].foreign_keys
    assert (key.inferred, key.likely) == (True, is_likely)


def test_a_key_to_a_column_that_is_not_named_for_its_table_is_not_likely() -> None:
    tables = (table("orders", "id", "zone_ref", key="id"), table("areas", "zone_ref", key="zone_ref"))
    (key,) = infer_foreign_keys({each.key: each for each in tables})["orders"].foreign_keys
    assert not key.likely
