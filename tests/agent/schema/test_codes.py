"""Codes and their meanings in comments, by the stored values of the column."""

import pytest

from datasphinx.agent.schema.catalog import Column
from datasphinx.agent.schema.codes import codes_of

VISITS = {"C": "completed", "N": "no-show"}
ORDERS = {"1": "新", "2": "已付"}


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("C=completed, N=no-show", VISITS),
        ("C (completed), N (no-show)", VISITS),
        ("C (completed), N (no-show), X (cancelled)", {**VISITS, "X": "cancelled"}),
        ("- C: completed\n- N: no-show", VISITS),
        ('{"C":"completed","N":"no-show"}', VISITS),
        ("C|completed;N|no-show", VISITS),
        ("C => completed, N => no-show", VISITS),
        ("State of the visit (C = completed, N = no-show). See the manual, page 3.", VISITS),
        ("C = completed, N = no-show (same day), X = gone", {"C": "completed", "N": "no-show (same day)", "X": "gone"}),
        ("1=新，2=已付", ORDERS),
        ("1：新；2：已付", ORDERS),
        ("1-新，2-已付", ORDERS),
        ("状态：1-新、2-已付", ORDERS),
        ("one of C, N", {}),
        ("C/N", {}),
        ("amount in EUR, VAT: 19, incl. shipping: yes", {}),
        ("e.g. http://x.org/C: completed", {}),
    ],
)
def test_codes_stand_beside_texts_in_one_form(comment: str, expected: dict[str, str]) -> None:
    column = Column("status", "CHAR(2)", comment=comment, distinct=4, examples=("C ", "N ", "1 ", "2 "))

    assert codes_of(column) == expected


@pytest.mark.parametrize("examples", [("1", "2"), ("1.0", "2.0")])
def test_numbers_are_codes_in_the_form_of_the_comment(examples: tuple[str, ...]) -> None:
    assert codes_of(Column("state", "INT", comment="1（新），2（已付）", examples=examples)) == ORDERS


def test_without_stored_values_the_usual_signs_are_read() -> None:
    assert codes_of(Column("state", "TEXT", comment="C = completed, N = no-show")) == VISITS
    assert codes_of(Column("state", "TEXT", comment="C => completed, N => no-show")) == VISITS
