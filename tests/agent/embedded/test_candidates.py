"""Candidate statements, of which the most likely is selected."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from datasphinx.agent.embedded.candidates import Candidate, read_candidate, select_candidate
from datasphinx.agent.embedded.constraints import QuestionConstraints
from datasphinx.agent.llm.client import WrittenText
from datasphinx.agent.record.step import Step, new_audit, recorded_on
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql
from tests.support.databases import make_database, open_url


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
    step = Step("generate_sql", new_audit("t"))
    with recorded_on(step):
        yield step


def chosen(
    source: Source,
    *texts: str | tuple[str, float],
    refused: tuple[str, ...] = (),
    constraints: QuestionConstraints = QuestionConstraints(),  # noqa: B008
    count: int | None = None,
) -> str:
    """Return the text that is selected among `texts`, each with its log probability or none."""
    candidates = iter(read(source, text) for text in texts)
    return select_candidate(candidates, count or len(texts), source, refused, constraints)[0].compact


def read(source: Source, text: str | tuple[str, float]) -> Candidate:
    written = WrittenText(text) if isinstance(text, str) else WrittenText(*text)
    return read_candidate(written, source)


NAMES = "FROM pets SELECT name"
DOGS = "FROM pets SELECT name WHERE kind = 'dog'"
THREE = "FROM pets SELECT name WHERE age = 3"
FAILS = "FROM pets SELECT nothing_like_it"
NO_JOIN = "FROM pets JOIN pets SELECT pets.name"
NOTHING = "FROM pets SELECT name WHERE kind = 'cow'"
NO_MEAN = "FROM pets SELECT AVG(age) WHERE kind = 'cow'"
ZERO = "FROM pets SELECT COUNT(*) WHERE kind = 'cow'"
COUNT = "FROM pets SELECT COUNT(*)"
NOT_DOGS = "FROM pets SELECT name WHERE kind != 'dog'"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((NAMES,), NAMES),
        (((NAMES, -2.0), (DOGS, -1.0), (THREE, -3.0)), DOGS),
        (((NAMES, -1.0), (DOGS, -1.5), (THREE, -1.5)), NAMES),
        ((NAMES, (DOGS, -9.0)), DOGS),
        (((FAILS, -1.0), (DOGS, -9.0)), DOGS),
        (((NO_JOIN, -1.0), "", (DOGS, -9.0)), DOGS),
        (((NOTHING, -1.0), (NO_MEAN, -1.0), (DOGS, -9.0)), DOGS),
        (((NO_MEAN, -2.0), (NOTHING, -1.0)), NOTHING),
        ((NOTHING, FAILS), NOTHING),
        (((ZERO, -1.0), (COUNT, -2.0)), ZERO),
        ((FAILS, NO_JOIN), FAILS),
        ((FAILS, FAILS), FAILS),
    ],
)
def test_the_most_likely_of_those_with_rows_is_selected(
    source: Source, texts: tuple[str | tuple[str, float], ...], expected: str
) -> None:
    assert chosen(source, *texts) == expected


def test_without_probabilities_the_first_is_selected(source: Source) -> None:
    assert chosen(source, NAMES, THREE, DOGS) == NAMES


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        (QuestionConstraints(figures=["3"]), THREE),
        (QuestionConstraints([["dog", "Rex"]]), DOGS),
        (QuestionConstraints(negates=True), NOT_DOGS),
    ],
)
def test_a_statement_that_leaves_out_a_part_of_the_question_loses_against_one_that_has_it(
    source: Source, constraints: QuestionConstraints, expected: str
) -> None:
    assert chosen(source, (NAMES, -0.1), (expected, -5.0), constraints=constraints) == expected


def test_a_statement_that_gives_an_output_twice_loses_and_alone_gives_it_once(source: Source) -> None:
    twice = "FROM pets SELECT name, age, name"
    assert chosen(source, twice, DOGS) == DOGS
    assert read(source, twice).sql == "SELECT name, age FROM pets"


def test_no_more_are_asked_for_once_none_can_be_more_likely(source: Source) -> None:
    def texts(*written: tuple[str, float]) -> Iterator[Candidate]:
        for text in written:
            yield read(source, text)
        raise AssertionError("a further text was asked for")

    assert select_candidate(texts((DOGS, math.log(0.5))), 3, source)[0].compact == DOGS
    likely_pair = (NAMES, math.log(0.35)), (DOGS, math.log(0.4))
    assert select_candidate(texts(*likely_pair), 3, source)[0].compact == DOGS


def test_more_are_asked_for_while_another_may_be_more_likely(source: Source) -> None:
    assert chosen(source, (NAMES, math.log(0.3)), (DOGS, math.log(0.31)), (THREE, math.log(0.32))) == THREE


def test_more_are_asked_for_where_something_speaks_against_all(source: Source) -> None:
    texts = (NAMES, -0.1), (COUNT, -3.0), (NOTHING, -4.0), (DOGS, -9.0), (THREE, -1.0)
    candidates = iter(read(source, text) for text in texts)
    constraints = QuestionConstraints([["dog"]])
    assert select_candidate(candidates, 2, source, constraints=constraints)[0].compact == DOGS
    assert next(candidates).compact == THREE, "one that nothing speaks against is enough"


def test_a_statement_runs_once_and_within_short_limits(source: Source, step: Step) -> None:
    assert chosen(source, NAMES, DOGS, NAMES) == NAMES
    assert [run["sql"] for run in step.statements] == [read(source, text).sql for text in (NAMES, DOGS)]
    assert step.notes == ["2 candidate statements, 2 different results: selected the most likely statement"]


def test_the_selection_has_the_best_statement_of_each_other_result_and_the_agreement(source: Source) -> None:
    up, down = "FROM pets SELECT name ORDER BY name", "FROM pets SELECT name ORDER BY name DESC"
    probabilities = {"FROM pets SELECT MAX(age)": 0.1, up: 0.2, COUNT: 0.15, down: 0.25}
    probabilities["FROM pets SELECT age ORDER BY age DESC LIMIT 1"] = 0.3
    texts = [(text, math.log(probability)) for text, probability in probabilities.items()]
    best, selection = select_candidate((read(source, text) for text in texts), len(texts), source)

    assert selection is not None
    assert best.compact == "FROM pets SELECT age ORDER BY age DESC LIMIT 1"
    assert [other.candidate.compact for other in selection.others] == [down, up, COUNT]
    assert selection.agreement == pytest.approx(0.4)


def test_what_was_refused_before_does_not_run_again(source: Source, step: Step) -> None:
    form = canonical_sql(read(source, DOGS).sql, source.catalog.dialect)
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


def test_a_name_is_repaired_if_one_is_meant(source: Source) -> None:
    mended = read(source, "FROM pets SELECT petid")

    assert "pet_id" in mended.sql and mended.repairs


def test_what_cannot_be_read_has_a_reason(source: Source) -> None:
    candidate = read(source, "FROM FROM")

    assert (candidate.sql, candidate.compact) == ("", "FROM FROM")
    assert candidate.problem
