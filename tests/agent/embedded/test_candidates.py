"""Candidate statements that vote by what they find."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.embedded.candidates import Candidate, choose_candidate, read_candidate
from agent.embedded.constraints import QuestionConstraints
from agent.record.step import Step, current_step, new_audit
from agent.sources.source import Source
from agent.sql.compare import canonical_sql
from tests.databases import make_database, open_url


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = make_database(
        tmp_path,
        "CREATE TABLE pets (pet_id INTEGER PRIMARY KEY, name TEXT, kind TEXT, age INTEGER, owner_id INTEGER)",
        "INSERT INTO pets VALUES (1, 'Rex', 'dog', 3, 1), (2, 'Tom', 'cat', 5, 1), (3, 'Ben', 'dog', 3, 2)",
        "CREATE TABLE toys (toy_id INTEGER PRIMARY KEY, pet_id INTEGER REFERENCES pets, price REAL)",
    )
    return open_url(f"sqlite:///{path}")


@pytest.fixture
def step() -> Iterator[Step]:
    """The step on which statements and notes are recorded."""
    recorded = Step("generate_sql", new_audit("t"))
    token = current_step.set(recorded)
    yield recorded
    current_step.reset(token)


def chosen(source: Source, *texts: str, refused: tuple[str, ...] = ()) -> str:
    """Return the text that is chosen among `texts`."""
    candidates = (read_candidate(text, source, may_repair=True) for text in texts)
    return choose_candidate(candidates, len(texts), source, refused).compact


NAMES = "FROM pets SELECT name"
DOGS = "FROM pets SELECT name WHERE kind = 'dog'"
THREE = "FROM pets SELECT name WHERE age = 3"
FAILS = "FROM pets SELECT nothing_like_it"
NO_JOIN = "FROM pets JOIN pets SELECT pets.name"
NOTHING = "FROM pets SELECT name WHERE kind = 'cow'"
NO_MEAN = "FROM pets SELECT AVG(age) WHERE kind = 'cow'"
ZERO = "FROM pets SELECT COUNT(*) WHERE kind = 'cow'"
COUNT = "FROM pets SELECT COUNT(*)"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((NAMES,), NAMES),
        ((NAMES, DOGS, THREE), DOGS),
        ((NAMES, DOGS, COUNT), NAMES),
        ((FAILS, FAILS, DOGS), DOGS),
        ((NO_JOIN, "", DOGS), DOGS),
        ((NOTHING, NO_MEAN, DOGS), DOGS),
        ((NOTHING, NOTHING, NO_MEAN, DOGS), DOGS),
        ((NO_MEAN, NOTHING, NOTHING), NOTHING),
        ((NOTHING, FAILS), NOTHING),
        ((ZERO, COUNT), COUNT),
        ((ZERO, COUNT, ZERO), ZERO),
        ((FAILS, NO_JOIN), FAILS),
        ((FAILS, FAILS), FAILS),
    ],
)
def test_the_result_that_most_have_wins(source: Source, texts: tuple[str, ...], expected: str) -> None:
    assert chosen(source, *texts) == expected


def test_of_equal_results_the_earliest_statement_is_taken(source: Source) -> None:
    assert chosen(source, NAMES, THREE, DOGS) == THREE


def test_a_statement_that_leaves_out_a_number_of_the_question_loses_against_one_that_holds_it(source: Source) -> None:
    texts = (NAMES, NAMES, THREE)
    candidates = (read_candidate(text, source, may_repair=True) for text in texts)
    constraints = QuestionConstraints(figures=["3"])
    assert choose_candidate(candidates, len(texts), source, constraints=constraints).compact == THREE


def test_a_statement_without_the_values_that_the_question_names_loses_against_one_with_them(source: Source) -> None:
    texts = (NAMES, NAMES, DOGS)
    candidates = (read_candidate(text, source, may_repair=True) for text in texts)
    constraints = QuestionConstraints(["dog", "Rex"])
    assert choose_candidate(candidates, len(texts), source, constraints=constraints).compact == DOGS


def test_a_statement_without_a_negation_loses_where_the_question_has_one(source: Source) -> None:
    others = "FROM pets SELECT name WHERE kind != 'dog'"
    candidates = (read_candidate(text, source, may_repair=True) for text in (DOGS, DOGS, others))
    assert choose_candidate(candidates, 3, source, constraints=QuestionConstraints(negates=True)).compact == others


def test_a_statement_that_gives_an_output_twice_loses_and_alone_gives_it_once(source: Source) -> None:
    twice = "FROM pets SELECT name, age, name"
    assert chosen(source, twice, DOGS) == DOGS
    assert read_candidate(twice, source, may_repair=True).sql == "SELECT name, age FROM pets"
    assert read_candidate(twice, source, may_repair=False).problem == "it gives the same output twice"


def test_the_order_counts_where_a_statement_asks_for_one(source: Source) -> None:
    up, down = "FROM pets SELECT name ORDER BY name", "FROM pets SELECT name ORDER BY name DESC"

    assert chosen(source, up, down, down) == down
    assert chosen(source, "FROM pets SELECT name, age", DOGS, "FROM pets SELECT age, name") == (
        "FROM pets SELECT name, age"
    )
    assert chosen(source, COUNT, "FROM pets SELECT MAX(age)", "FROM pets SELECT age ORDER BY age DESC LIMIT 1") == (
        "FROM pets SELECT MAX(age)"
    )


def test_no_more_are_asked_for_than_it_takes_to_decide(source: Source) -> None:
    def texts() -> Iterator[Candidate]:
        for text in (DOGS, THREE):
            yield read_candidate(text, source, may_repair=True)
        raise AssertionError("a third was asked for")

    assert choose_candidate(texts(), 3, source).compact == DOGS


def test_more_are_asked_for_where_something_speaks_against_all(source: Source) -> None:
    texts = (NAMES, COUNT, NOTHING, DOGS, THREE)
    candidates = (read_candidate(text, source, may_repair=True) for text in texts)
    assert choose_candidate(candidates, 2, source, constraints=QuestionConstraints(["dog"])).compact == DOGS
    assert next(candidates).compact == THREE, "one that nothing speaks against is enough"


def test_a_statement_runs_once_and_within_short_limits(source: Source, step: Step) -> None:
    assert chosen(source, NAMES, DOGS, NAMES) == NAMES
    assert [run["sql"] for run in step.statements] == [
        read_candidate(text, source, may_repair=True).sql for text in (NAMES, DOGS)
    ]
    assert step.notes == ["2 of 3 candidate statements agree on the result"]


def test_what_was_refused_before_does_not_run_again(source: Source, step: Step) -> None:
    form = canonical_sql(read_candidate(DOGS, source, may_repair=True).sql, source.catalog.dialect)
    assert chosen(source, DOGS, THREE, DOGS, refused=(form,)) == THREE
    assert chosen(source, DOGS, FAILS, refused=(form,)) == FAILS
    assert chosen(source, DOGS, DOGS, refused=(form,)) == DOGS
    assert not any("kind" in run["sql"] for run in step.statements)


@pytest.mark.parametrize(
    "text", ["FROM pets SELECT name; DROP TABLE pets", "DROP TABLE pets", "FROM sqlite_master SELECT sql"]
)
def test_the_guard_stands_before_every_candidate(source: Source, text: str) -> None:
    assert chosen(source, text, NAMES) == NAMES
    assert chosen(source, COUNT) == COUNT
    assert source.execute("SELECT COUNT(*) FROM pets")["rows"] == [[3]]


def test_a_repair_is_made_only_where_it_may_be(source: Source) -> None:
    mended = read_candidate("FROM pets SELECT petid", source, may_repair=True)

    assert "pet_id" in mended.sql and mended.repairs
    assert read_candidate("FROM pets SELECT petid", source, may_repair=False).repairs == ""


def test_what_cannot_be_read_has_a_reason(source: Source) -> None:
    candidate = read_candidate("FROM FROM", source, may_repair=True)

    assert (candidate.sql, candidate.compact) == ("", "FROM FROM")
    assert candidate.problem
