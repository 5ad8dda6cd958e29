"""One word for the kind of a type, whatever the engine calls it."""

import pytest

from agent.catalog.type_class import TypeClass, type_class

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
    "other": "|INTERVAL|POINT|GEOMETRY|int4range|tsvector2",
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMES.items() for name in names.split("|")])
def test_type_class(kind: TypeClass, name: str) -> None:
    assert type_class(name) == kind
