"""Databases with codes in place of categories."""

from contextlib import closing
from pathlib import Path
from random import Random

import sqlglot
from sqlglot import exp

from training.build import open_filled
from training.codes import coded
from training.dataset import GoldQuestion, groups_of
from training.spider import SpiderColumn, SpiderSchema, SpiderTable

TICKETS = SpiderSchema(
    "tickets",
    (
        SpiderTable(
            "tickets",
            (
                SpiderColumn("ticket_id", "number"),
                SpiderColumn("state", "text", ("open", "on hold", "closed")),
                SpiderColumn("level", "text", ("low", "high")),
                SpiderColumn("note", "text"),
            ),
            ("ticket_id",),
        ),
    ),
)
ASKED = [
    GoldQuestion("How many closed tickets are there?", "SELECT COUNT(*) FROM tickets WHERE state = 'closed'"),
    GoldQuestion(
        "Share of low and high", "SELECT COUNT(*) FROM tickets t WHERE t.level IN ('low', 'high') AND t.state <> 'open'"
    ),
    GoldQuestion("How many tickets are there?", "SELECT COUNT(*) FROM tickets"),
    GoldQuestion("Tickets that are cl-something", "SELECT COUNT(*) FROM tickets WHERE state LIKE 'cl%'"),
]


def test_questions_that_compare_with_categories_compare_with_their_codes() -> None:
    for seed in range(20):
        variant = coded(TICKETS, ASKED, Random(seed))
        if variant is None:
            continue
        values = {column.name: set(column.values) for table in variant.schema.tables for column in table.columns}
        for question in variant.questions:
            tree = sqlglot.parse_one(question.sql, dialect="sqlite")
            for column in tree.find_all(exp.Column):
                assert column.parent is not None
                assert {literal.name for literal in column.parent.find_all(exp.Literal)} <= values[column.name]
        assert "cl-something" not in "".join(question.question for question in variant.questions)
        assert len(values["state"]) == 3


def test_a_prompt_shows_the_code_of_a_meaning_in_the_question(tmp_path: Path) -> None:
    variant = coded(TICKETS, ASKED[:1], Random(1))
    assert variant is not None
    statements = [question.sql for question in variant.questions]

    with closing(open_filled(variant.schema, statements, tmp_path, 0, variant)) as source:
        [group] = groups_of(source, "tickets", variant.questions, 14, Random(0))

    code = sqlglot.parse_one(statements[0]).find(exp.Literal)
    assert code is not None and f"state = '{code.name}'" in group.examples[0].tail.partition("values: ")[2]
