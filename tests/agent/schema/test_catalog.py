"""Columns, tables and their foreign keys; the class of a type, for every engine."""

import pytest

from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table, TypeClass, type_class

NAMES: dict[TypeClass, str] = {
    "number": "INTEGER|NUMERIC(9, 2)|DOUBLE PRECISION|REAL|DECIMAL|INT UNSIGNED|Nullable(Int64)|YEAR|MONEY|HUGEINT",
    "text": "TEXT|VARCHAR(20)|CHAR(2)|NVARCHAR(5)|ENUM('a','b')|UUID|LowCardinality(String)|CLOB|CITEXT|ENUM",
    "date": "DATE|Date32",
    "datetime": "DATETIME|TIMESTAMP|TIMESTAMP WITH TIME ZONE|DateTime64(3)|timestamptz",
    "time": "TIME|TIME WITHOUT TIME ZONE",
    "boolean": "BOOLEAN|BOOL|TINYINT(1)|BIT(1)",
    "binary": "BLOB|BYTEA|VARBINARY(16)|LONGBLOB",
    "json": "JSON|JSONB",
    "array": "INTEGER[]|ARRAY(String)|VARCHAR(3)[2]|STRUCT(a INTEGER)",
    "other": "|POINT|GEOMETRY|int4range|tsvector2",
}


@pytest.mark.parametrize("kind, name", [(kind, name) for kind, names in NAMES.items() for name in names.split("|")])
def test_type_class(kind: TypeClass, name: str) -> None:
    assert type_class(name) == kind


def test_columns_joined_by_foreign_keys_are_equivalent() -> None:
    city = Table("city", (Column("code", "TEXT"), Column("name", "TEXT")), primary_key=("code",))
    shop_ = Table("shop", (Column("city_code", "TEXT"),), foreign_keys=(ForeignKey(("city_code",), "city", ("code",)),))
    yard = Table("yard", (Column("place", "TEXT"),), foreign_keys=(ForeignKey(("place",), "shop", ("city_code",)),))
    catalog = Catalog("sqlite", {table.key: table for table in (city, shop_, yard)})

    assert catalog.are_equivalent(("yard", "place"), ("city", "code"))
    assert not catalog.are_equivalent(("yard", "place"), ("city", "name"))


def test_circular_foreign_keys_are_followed_once() -> None:
    one = Table("a", (Column("x", "TEXT"),), foreign_keys=(ForeignKey(("x",), "b", ("y",)),))
    two = Table("b", (Column("y", "TEXT"),), foreign_keys=(ForeignKey(("y",), "a", ("x",)),))

    assert Catalog("sqlite", {"a": one, "b": two}).are_equivalent(("a", "x"), ("b", "y"))
