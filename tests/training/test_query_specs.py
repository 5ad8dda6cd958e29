import json
from collections.abc import Iterator
from random import Random

import pytest

from datasphinx.agent.sources.source import Source
from training.dataset import GoldQuestion
from training.query_specs import query_specs
from training.spec_of_sql import spec_of

SAID = {
    "SELECT COUNT(*) FROM teacher WHERE city = 'Paris' AND salary > 2600": {
        "filters": [{"col": "city", "op": "=", "value": "Paris"}, {"col": "salary", "op": ">", "value": 2600}],
        "aggregations": [{"as": "count", "agg": "count", "col": "*"}],
    },
    "SELECT T1.city, AVG(T1.age), COUNT(DISTINCT name) FROM student AS T1 GROUP BY T1.city": {
        "group_by": ["city"],
        "aggregations": [
            {"as": "avg_age", "agg": "avg", "col": "age"},
            {"as": "nunique_name", "agg": "nunique", "col": "name"},
        ],
    },
    "SELECT city FROM student GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1": {
        "group_by": ["city"],
        "aggregations": [{"as": "count", "agg": "count", "col": "*"}],
        "sort": [{"by": "count", "desc": True}],
        "limit": 1,
    },
    "SELECT exam_id FROM exam WHERE strftime('%Y', held) = '2024' AND strftime('%Y-%m', held) = '2024-06'": {
        "filters": [
            {"col": "held", "op": ">=", "value": "2024-01-01"},
            {"col": "held", "op": "<", "value": "2025-01-01"},
            {"col": "held", "op": ">=", "value": "2024-06-01"},
            {"col": "held", "op": "<", "value": "2024-07-01"},
        ],
        "group_by": ["exam_id"],
    },
    "SELECT DISTINCT city FROM student ORDER BY city": {
        "group_by": ["city"],
        "sort": [{"by": "city", "desc": False}],
    },
    "SELECT name FROM teacher WHERE salary BETWEEN '2000' AND 3000 ORDER BY hired": {
        "filters": [{"col": "salary", "op": "between", "value": [2000, 3000]}],
        "group_by": ["name", "hired"],
        "sort": [{"by": "hired", "desc": False}],
    },
    "SELECT * FROM room WHERE 25 < `floor area` AND building IN ('North', 'South')": {
        "filters": [
            {"col": "floor area", "op": ">", "value": 25},
            {"col": "building", "op": "in", "value": ["North", "South"]},
        ],
    },
    "SELECT MAX(salary) FROM teacher WHERE name LIKE '%D%' AND phone IS NULL AND city IS NOT NULL": {
        "filters": [
            {"col": "name", "op": "contains", "value": "D"},
            {"col": "phone", "op": "is_null", "value": True},
            {"col": "city", "op": "is_null", "value": False},
        ],
        "aggregations": [{"as": "max_salary", "agg": "max", "col": "salary"}],
    },
    "SELECT strftime('%Y-%m', held), COUNT(*) FROM exam GROUP BY strftime('%Y-%m', held) ORDER BY strftime('%Y-%m', held)": {  # noqa: E501
        "group_by": [{"col": "held", "by": "month"}],
        "aggregations": [{"as": "count", "agg": "count", "col": "*"}],
        "sort": [{"by": "held_month", "desc": False}],
    },
    "SELECT strftime('%Y', hired), SUM(salary) FROM teacher WHERE phone != 77 GROUP BY strftime('%Y', hired)": {  # noqa: E501
        "filters": [{"col": "phone", "op": "!=", "value": "77"}],
        "group_by": [{"col": "hired", "by": "year"}],
        "aggregations": [{"as": "sum_salary", "agg": "sum", "col": "salary"}],
    },
}  # fmt: skip
QUARTERS = (
    "SELECT strftime('%Y', hired), (strftime('%m', hired) + 2) / 3, COUNT(phone) FROM teacher "
    "GROUP BY strftime('%Y', hired), (strftime('%m', hired) + 2) / 3 "
    "ORDER BY strftime('%Y', hired), (strftime('%m', hired) + 2) / 3"
)
UNSAYABLE = [
    "SELECT name FROM student",  # Two are called Eve.
    "SELECT name FROM teacher WHERE city = 'Paris' OR city = 'Rome'",
    "SELECT name FROM teacher WHERE salary = (SELECT MAX(salary) FROM teacher)",
    "SELECT name FROM teacher WHERE salary > teacher_id",
    "SELECT name FROM teacher WHERE name LIKE 'A%'",
    "SELECT name FROM teacher WHERE name NOT LIKE '%A%'",
    "SELECT name FROM teacher WHERE salary NOT BETWEEN 1 AND 2",
    "SELECT name FROM teacher WHERE city NOT IN ('Paris')",
    "SELECT city FROM student GROUP BY city HAVING COUNT(*) > 1",
    "SELECT name, MAX(age) FROM student",
    "SELECT COUNT(*) FROM student GROUP BY city",
    "SELECT AVG(salary) / 2 FROM teacher",
    "SELECT city FROM teacher UNION SELECT city FROM teacher",
    "SELECT teacher.name FROM teacher JOIN course ON teacher.teacher_id = course.teacher_id",
    "SELECT strftime('%Y', hired) FROM teacher",
    "SELECT strftime('%m', hired), COUNT(*) FROM teacher GROUP BY strftime('%m', hired)",
]


def made(source: Source, statements: list[str], limit: int = 100) -> Iterator[tuple[str, str]]:
    """Heads with answers."""
    asked = [GoldQuestion(f"Question {number} on Paris", sql) for number, sql in enumerate(statements)]
    for group in query_specs(source, "school", asked, Random(1), size=4, limit=limit):
        assert {each.kind for each in group.examples} == {"query_spec"}
        for each in group.examples:
            yield group.head, each.answer.removesuffix("<|im_end|>")


@pytest.mark.parametrize("sql", SAID)
def test_a_spec_says_what_the_statement_says(school: Source, sql: str) -> None:
    [(_, answer)] = made(school, [sql])

    assert json.loads(answer) == SAID[sql]
    assert list(json.loads(answer)) == [k for k in ("filters", "group_by", "aggregations", "sort", "limit") if k in SAID[sql]]  # fmt: skip # noqa: E501
    assert "\n" not in answer
    assert answer == json.dumps(SAID[sql], separators=(",", ":"))


def test_a_year_and_a_quarter_are_one_group(school: Source) -> None:
    [(_, answer)] = made(school, [QUARTERS])

    spec = json.loads(answer)
    assert spec["group_by"] == [{"col": "hired", "by": "quarter"}]
    assert spec["sort"] == [{"by": "hired_quarter", "desc": False}]


@pytest.mark.parametrize("sql", UNSAYABLE)
def test_what_no_spec_says_is_left_out(school: Source, sql: str) -> None:
    assert school.execute(sql)["rows"]
    assert list(made(school, [sql])) == []


def test_the_prompt_shows_one_table_with_the_values_of_the_question(school: Source) -> None:
    asked = [GoldQuestion("How many teachers live in Paris?", "SELECT COUNT(*) FROM teacher WHERE city = 'Paris'")]
    [group] = query_specs(school, "school", asked, Random(1), size=4, limit=9)

    assert group.head.startswith("<|im_start|>system\nQuerySpec<|im_end|>\n<|im_start|>user\nteacher(teacher_id key, ")
    assert group.head.count("\n") == 3
    assert group.examples[0].tail.startswith(
        "\n\nHow many teachers live in Paris?\nvalues: teacher.city = 'Paris'<|im_end|>\n<|im_start|>assistant\n"
    )


def test_no_more_than_asked_for_and_the_same_for_a_seed(school: Source) -> None:
    assert len(list(made(school, list(SAID), limit=3))) == 3
    assert list(made(school, list(SAID))) == list(made(school, list(SAID)))


def test_a_statement_that_cannot_be_read_has_no_spec(school: Source) -> None:
    assert spec_of("SELECT FROM", school.catalog) is None
