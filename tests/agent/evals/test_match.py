import pytest

from datasphinx.agent.evals.match import matches
from datasphinx.agent.sql.compare import is_ordered


def table(*rows: list[object], columns: int | None = None) -> dict[str, list]:
    width = len(rows[0]) if columns is None else columns
    return {"columns": [f"c{at}" for at in range(width)], "rows": list(rows)}


ANY_ORDER = [
    ("the same rows", table([1, "a"], [2, "b"]), table([1, "a"], [2, "b"]), True),
    ("rows in another order", table([1], [2], [3]), table([3], [1], [2]), True),
    ("another row", table([1], [2]), table([1], [3]), False),
    ("a row is missing", table([1], [2]), table([1]), False),
    ("a row too many", table([1]), table([1], [2]), False),
    ("duplicates", table([1], [1], [2]), table([1], [2], [1]), True),
    ("a duplicate of another row", table([1], [1], [2]), table([1], [2], [2]), False),
    ("duplicates folded", table([1], [1]), table([1]), False),
    ("columns in another order", table([1, "a"], [2, "b"]), table(["a", 1], ["b", 2]), True),
    ("columns in another order in one row", table([1, 2], [3, 4]), table([2, 1], [3, 4]), True),
    ("values moved between rows", table([1, 2], [3, 4]), table([1, 4], [3, 2]), False),
    ("a column is missing", table([1, "a"]), table([1]), False),
    ("a column too many", table([1]), table([1, "a"]), False),
    ("a value twice in a row", table([1, 1, 2]), table([1, 2, 2]), False),
    ("NULL and NULL", table([None], [1]), table([1], [None]), True),
    ("NULL and zero", table([None]), table([0]), False),
    ("NULL and empty text", table([None]), table([""]), False),
    ("NULL and the text None", table([None]), table(["None"]), False),
    ("NULL beside text and numbers", table([None, 1, "a"]), table(["a", None, 1]), True),
    ("floats equal to four decimals", table([0.123456]), table([0.123459]), True),
    ("floats that differ in the fourth decimal", table([0.1234]), table([0.1236]), False),
    ("sums in another order", table([0.1 + 0.2]), table([0.3]), True),
    ("a float and minus zero", table([-0.00001]), table([0.0]), True),
    ("a large float", table([1e22]), table([1e22]), True),
    ("integer and whole float", table([3]), table([3.0]), True),
    ("integer and nearly whole float", table([3]), table([3.00001]), True),
    ("integer and float", table([3]), table([3.5]), False),
    ("integers beyond the precision of floats", table([2**60]), table([2**60 + 1]), False),
    ("a number stored as text", table(["98"]), table([98]), True),
    ("a number stored as text and a float", table(["98"]), table([98.0]), True),
    ("a decimal stored as text", table(["2.5"]), table([2.5]), True),
    ("a code with leading zeros and a number", table(["007"]), table([7]), False),
    ("versions are not numbers", table(["1.10"]), table(["1.1"]), False),
    ("text and number", table(["a"]), table([1]), False),
    ("text in another case", table(["France"]), table(["france"]), False),
    ("text with white space", table(["a"]), table(["a "]), False),
    ("true and one", table([True]), table([1]), True),
    ("lists", table([[1, 2]]), table([[1, 2]]), True),
    ("lists in another order", table([[1, 2]]), table([[2, 1]]), False),
    ("no rows on either side", table(columns=2), table(columns=2), True),
    ("no rows and another number of columns", table(columns=2), table(columns=1), False),
    ("no rows and one row", table(columns=1), table([None]), False),
]

IN_ORDER = [
    ("the same order", table([1], [2], [3]), table([1], [2], [3]), True),
    ("another order", table([1], [2], [3]), table([1], [3], [2]), False),
    ("columns in another order", table([1, "a"], [2, "b"]), table(["a", 1], ["b", 2]), True),
    ("duplicates in order", table([1], [1], [2]), table([1], [1], [2]), True),
    ("duplicates out of order", table([1], [1], [2]), table([1], [2], [1]), False),
    ("NULL first and last", table([None], [1]), table([1], [None]), False),
    ("floats to four decimals", table([0.12341], [2.0]), table([0.12342], [2]), True),
    ("cut at another length", table([1], [2]), table([1]), False),
    ("no rows", table(columns=1), table(columns=1), True),
]


@pytest.mark.parametrize(
    ("reference", "answer", "expected"), [pytest.param(*case[1:], id=case[0]) for case in ANY_ORDER]
)
def test_matches_rows_in_any_order(reference: dict, answer: dict, expected: bool) -> None:
    assert matches(reference, answer, ordered=False) is expected
    assert matches(answer, reference, ordered=False) is expected


@pytest.mark.parametrize(
    ("reference", "answer", "expected"), [pytest.param(*case[1:], id=case[0]) for case in IN_ORDER]
)
def test_matches_rows_in_the_order_that_was_asked_for(reference: dict, answer: dict, expected: bool) -> None:
    assert matches(reference, answer, ordered=True) is expected
    assert matches(answer, reference, ordered=True) is expected


def test_names_of_columns_do_not_count() -> None:
    assert matches({"columns": ["n"], "rows": [[1]]}, {"columns": ["count(*)"], "rows": [[1]]}, ordered=True)


def test_what_is_compared_stays_as_it_was() -> None:
    reference, answer = table([2, "a"], [1.23456, None]), table(["a", 2], [None, 1.23456])
    assert matches(reference, answer, ordered=True)
    assert reference["rows"] == [[2, "a"], [1.23456, None]]
    assert answer["rows"] == [["a", 2], [None, 1.23456]]


@pytest.mark.parametrize(
    "sql, expected",
    [
        ("SELECT a FROM t", False),
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM t ORDER BY a DESC LIMIT 3;", True),
        ("select a from t group by a order by count(*)", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) AS s", False),
        ("SELECT a FROM t WHERE a = (SELECT b FROM u ORDER BY b LIMIT 1)", False),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) AS s ORDER BY a", True),
        ("SELECT a FROM t UNION SELECT b FROM u ORDER BY 1", True),
        ("SELECT a FROM t UNION SELECT b FROM u", False),
        ("SELECT a FROM t INTERSECT SELECT * FROM (SELECT b FROM u ORDER BY b)", False),
        ("WITH s AS (SELECT a FROM t ORDER BY a) SELECT a FROM s", False),
        ("WITH s AS (SELECT a FROM t) SELECT a FROM s ORDER BY a", True),
        ("SELECT rank() OVER (ORDER BY a) FROM t", False),
        ("SELECT group_concat(a ORDER BY a) FROM t", False),
        ("(SELECT a FROM t ORDER BY a)", True),
        ("((SELECT a FROM t))", False),
        ("SELECT 'ORDER BY' FROM t -- ORDER BY a", False),
        ("SELECT a FROM", False),
        ("SELECT a FROM t ORDER BY a; SELECT 1", False),
        ("", False),
    ],
)
def test_only_an_order_by_at_the_top_level_orders(sql: str, expected: bool) -> None:
    assert is_ordered(sql, "sqlite") is expected


def test_an_order_is_seen_in_every_dialect() -> None:
    assert is_ordered('SELECT "a" FROM t ORDER BY "a" NULLS LAST', "postgres")
    assert is_ordered("SELECT `a` FROM t ORDER BY `a`", "mysql")
