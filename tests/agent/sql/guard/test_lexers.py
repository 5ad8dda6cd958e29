"""Engines read names, literals and blanks as the guard read them, whatever their characters."""

import sys
from collections.abc import Iterator
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasphinx.agent.sql.guard import check, sanitize
from tests.agent.sql.guard.engines import ENGINES, Run, running
from tests.support.heavy import sample

ODD = "'\"`\\$[]{}%:;-/*#@!&|~^?,.()<>= \taZ09_" + "“”‘’«»′″−–—ÄßéİıKſ名😀＂＇；，（）＝\u037e\u00a0\u3000\u200b"
QUOTES = {"mysql": "`"}
UNUSED = {"Cn", "Co", "Cs"}
"""Categories of code points without a character."""


@pytest.fixture(scope="module")
def run(engine_name: str) -> Iterator[Run]:
    with running(engine_name) as run:
        yield run


def result(run: Run, sql: str) -> Any:
    """Return columns and rows; None if the engine refuses the statement."""
    try:
        return run(sql)
    except Exception:
        return None


@pytest.mark.parametrize("engine_name", ENGINES, scope="module")
@given(name=st.text(ODD, max_size=5), literal=st.text(ODD, max_size=5), bare=st.text(ODD, max_size=5))
def test_an_accepted_statement_gives_the_rows_and_columns_of_the_original(
    run: Run, engine_name: str, name: str, literal: str, bare: str
) -> None:
    quote, text = QUOTES.get(engine_name, '"'), literal.replace("'", "''")
    quoted = f"{quote}a{name.replace(quote, quote * 2)}b{quote}"
    for sql in (f"SELECT '{text}' AS {quoted}", f"SELECT 1 AS a{bare}, '{text}' AS {bare}"):
        printed, findings = sanitize(sql, engine_name, None)
        original = result(run, sql)
        if not findings and original is not None:
            assert result(run, printed) == original


@pytest.mark.parametrize("engine_name", ENGINES, scope="module")
def test_every_character_of_a_quoted_name_and_of_a_literal_reaches_the_engine(run: Run, engine_name: str) -> None:
    quote = QUOTES.get(engine_name, '"')
    last = 0xFFFF if engine_name == "mysql" else sys.maxunicode  # MySQL's names have characters of the basic plane
    characters = [chr(code) for code in range(0x80, last) if category(chr(code)) not in UNUSED or code % 1000 == 0]
    for start in range(0, len(characters), sample(100, 5000)):
        letters = [letter for letter in characters[start : start + 100] if category(letter) != "Cs"]
        # A name of PostgreSQL has up to 63 bytes.
        names = [f"a{''.join(letters[at : at + 10])}b" for at in range(0, len(letters), 10)]
        sql = ", ".join(f"'{name}' AS {quote}{name}{quote}" for name in names)
        printed, findings = sanitize(f"SELECT {sql}", engine_name, None)
        if findings:
            assert {finding.rule for finding in findings} == {"hidden_characters"}
        else:
            assert run(printed) == (names, [names])


@pytest.mark.parametrize("engine_name", ENGINES, scope="module")
def test_characters_that_an_engine_reads_as_blanks_quotes_or_operators_are_refused(run: Run, engine_name: str) -> None:
    """Compare each character without quotes: it is refused, or the engine refuses it or reads it as part of a name."""
    every = {"Z": 1, "P": 1, "S": 10}  # thousands of symbols are read in the same way
    letters = [chr(code) for code in range(0x80, 0x10000) if code % every.get(category(chr(code))[0], code + 1) == 0]
    for letter in letters[:: sample(1, 20)]:
        sql = f"SELECT 3{letter}-1 AS a{letter}b"
        if not check(sql, engine_name, None):
            assert result(run, sql) is None
        aliased = f"SELECT 1 AS a{letter}b"
        if not check(aliased, engine_name, None):
            assert result(run, aliased) in (None, ([f"a{letter}b"], [[1]]))


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "mysql", "clickhouse", "spark", "trino", "tsql"])
def test_names_that_are_not_plain_are_printed_in_quotes(dialect: str) -> None:
    text = sanitize("SELECT Größe AS naïve, b AS a1_ FROM übersicht", dialect, None)[0]

    quoted = text.replace("[", '"').replace("]", '"').replace("`", '"')
    stored = "größe" if dialect in {"postgres", "trino"} else "Größe"
    assert quoted == f'SELECT "{stored}" AS "naïve", b AS a1_ FROM "übersicht"'
