"""Values never become text of the statement: it is the same for all values."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasphinx.agent.queryspec.compile import Compiled, compile_spec
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.queryspec.statement import DIALECTS
from datasphinx.agent.sql.guard import sanitize
from tests.agent.queryspec.tables import DATA, datasets
from tests.support.heavy import sample

HOSTILE = [
    "'; DROP TABLE x; --",
    "' OR '1'='1",
    ":v1",
    "%s",
    "\\",
    '"',
    "`",
    "{x: String}",
    "?",
    "$1",
    "/*",
    "%",
    "_",
    "!",
]
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30),
)
NUMBERS = st.one_of(st.integers(-(2**63) + 1, 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
FACTORS = st.one_of(st.integers(0, 10**15), st.floats(0, 1e15).map(lambda value: round(value, 3)))
DATES = st.dates().map(str)


def spec(text: str, pair: list[float], number: float, date: str, truth: bool, factor: float) -> dict[str, Any]:
    """A spec with a value of each kind in every place that takes one."""
    low, high = sorted(pair)
    filters = [
        ("status", "=", text), ("status", "in", [text, text + "z"]), ("status", "contains", text), ("id", "!=", number),
        ("unit price", "between", [low, high]), ("количество", "in", [number, low]), ("日期", ">=", date),
        ("created", "<", f"{date}T01:02:03"), ("created", "!=", date), ("paid", "=", truth), ("status", "!=", text),
        ("status", "not_in", [text]), ("status", "not_contains", text), ("status", "starts_with", text),
        ("status", "ends_with", text),
    ]  # fmt: skip
    quoted = "'{}'".format(text.replace("'", "''"))
    return {
        "filters": [
            *({"col": col, "op": op, "value": value} for col, op, value in filters),
            {"any": [{"col": "status", "op": "=", "value": text}, {"col": "id", "op": ">", "value": number}]},
        ],
        "group_by": ["kind", "status"],
        "aggregations": [
            {"as": "s", "agg": "sum", "col": "line"},
            {
                "as": "p",
                "agg": "percentile",
                "p": 0.5,
                "col": "id",
                "where": [{"col": "status", "op": "=", "value": text}],
            },
        ],
        "derived": [
            {"as": "line", "expr": f"id * {factor:.17g}"},
            {"as": "kind", "expr": f"if(status = {quoted} or created < '{date}', concat(status, {quoted}), {quoted})"},
            {"as": "d", "expr": f"s / nullif(s, {factor:.17g})"},
        ],
    }


@cache
def plain(dialect: str) -> Compiled:
    return compile_spec(read_spec(spec("a", [1, 2], 1, "2024-01-01", True, 1)), datasets(), dialect)


VALUES = st.tuples(
    TEXTS,
    st.lists(NUMBERS, min_size=2, max_size=2),
    NUMBERS,
    DATES.filter(lambda day: day < "9999"),
    st.booleans(),
    FACTORS,
)


@pytest.mark.heavy
@settings(max_examples=sample(25, 8), deadline=None)
@given(VALUES)
def test_the_text_does_not_depend_on_the_values(values: tuple[Any, ...]) -> None:
    made = read_spec(spec(*values))
    for dialect in DIALECTS:
        compiled = compile_spec(made, datasets(), dialect)

        assert compiled.sql == plain(dialect).sql
        assert compiled.parameters.keys() == plain(dialect).parameters.keys()
        assert values[0] in compiled.parameters.values()


@settings(max_examples=sample(25, 8), deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=20, max_size=40))
def test_a_text_is_nowhere_in_the_statement(text: str) -> None:
    made = read_spec({"filters": [{"col": "status", "op": op, "value": text} for op in ("=", "contains", ">")]})
    for dialect in DIALECTS:
        assert text not in compile_spec(made, datasets(), dialect).sql
    made = read_spec({"filters": [{"col": "status", "op": "matches", "value": "[a-z]+ text of a pattern"}]})
    assert "pattern" not in compile_spec(made, datasets(), "duckdb").sql


@settings(max_examples=sample(15, 5), deadline=None)
@given(TEXTS.filter(lambda text: text.isprintable() and text == text.strip()))
def test_a_name_is_only_ever_a_name(name: str) -> None:
    made = read_spec({
        "group_by": ["status"],
        "aggregations": [{"as": name, "agg": "count", "col": "*"}],
        "derived": [{"as": "twice", "expr": '"{}" * 2'.format(name.replace('"', '""'))}],
        "sort": [{"by": "twice"}],
    })  # fmt: skip
    for dialect in DIALECTS:
        compiled = compile_spec(made, datasets(), dialect)
        text, findings = sanitize(compiled.sql, dialect, set(DATA), compiled.parameters)

        assert findings == ()
        assert text == compiled.sql


def test_the_same_spec_gives_the_same_text() -> None:
    made = spec("x", [1, 2], 3, "2024-01-01", False, 2)

    for dialect in DIALECTS:
        assert compile_spec(read_spec(made), datasets(), dialect) == compile_spec(read_spec(made), datasets(), dialect)
