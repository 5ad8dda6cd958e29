from random import Random

import pytest

from datasphinx.agent.embedded.expand import expand
from datasphinx.agent.sources.source import Source
from training.compact import compact
from training.dataset import GoldQuestion
from training.groups import Group
from training.repairs import corruptions, error_of, repairs

ASKED = [
    GoldQuestion("Which teachers live in Paris?", "SELECT name FROM teacher WHERE city = 'Paris'"),
    GoldQuestion(
        "How many courses has each teacher?",
        "SELECT T1.name, COUNT(*) FROM teacher AS T1 JOIN course AS T2 ON T1.teacher_id = T2.teacher_id "
        "GROUP BY T1.name",
    ),
    GoldQuestion(
        "Cities with several students?", "SELECT city FROM student GROUP BY city HAVING COUNT(*) > 1 ORDER BY city"
    ),
    GoldQuestion("Who earns most?", "SELECT name FROM teacher ORDER BY salary DESC LIMIT 1"),
    GoldQuestion(
        "Names of students of Logic",
        "SELECT T1.name FROM student AS T1 JOIN enrolment AS T2 ON T1.student_id = T2.student_id "
        "JOIN course AS T3 ON T2.course_id = T3.course_id WHERE T3.title = 'Logic'",
    ),
    GoldQuestion(
        "Teachers in the city of a student",
        "SELECT T1.name, T2.name FROM teacher AS T1 JOIN student AS T2 ON T1.city = T2.city WHERE T2.age < 21",
    ),
    GoldQuestion(
        "Which teachers have no course?",
        "SELECT name FROM teacher WHERE teacher_id NOT IN (SELECT teacher_id FROM course)",
    ),  # fmt: skip # noqa: E501
]


def made(school: Source, seed: int = 1, size: int = 4, limit: int = 100) -> list[Group]:
    return list(repairs(school, "school", ASKED, Random(seed), size=size, limit=limit))


def wrong_forms(sql: str, school: Source) -> dict[str, str]:
    """Every wrong form that some seed gives, with its error."""
    text = compact(sql, school.catalog)
    assert text
    shown = school.catalog.selection()
    forms = {form for seed in range(40) for form in corruptions(text, school.catalog, shown, Random(seed))}
    return {form: error for form in forms if (error := error_of(form, school))}


def test_the_failed_statement_fails_with_that_error_and_the_answer_gives_the_golds_rows(school: Source) -> None:
    gold = {each.question: each.sql for each in ASKED}
    seen = set()
    for group in made(school):
        for example in group.examples:
            question, *context = example.tail.partition("<|im_end|>")[0].strip().split("\n")
            lines = dict(line.split(": ", 1) for line in context)
            error = error_of(lines["failed"], school)
            assert error is not None
            assert error.startswith(lines["error"].removesuffix("…"))
            answer = expand(example.answer.removesuffix("<|im_end|>"), school.catalog)
            assert school.execute(answer)["rows"] == school.execute(gold[question])["rows"]
            seen.add(question)
    assert seen == set(gold)


def test_the_prompt_is_that_of_sql(school: Source) -> None:
    group = made(school, size=10)[0]

    assert group.head.startswith("<|im_start|>system\nSQL<|im_end|>\n<|im_start|>user\ncourse(course_id key")
    assert group.head.endswith("exam.course_id = course.course_id")
    assert all(each.tail.endswith("<|im_end|>\n<|im_start|>assistant\n") for each in group.examples)
    assert {each.kind for each in group.examples} == {"repair"}


@pytest.mark.parametrize(
    ("asked", "form", "error"),
    [
        (0, "FROM teacher SELECT name WHERE building = 'Paris'", "no column building"),
        (0, "FROM teacher SELECT names WHERE city = 'Paris'", "no column names"),
        (0, "FROM teachers SELECT name WHERE city = 'Paris'", "teachers is not in the catalog"),
        (0, "FROM teacher JOIN room SELECT name WHERE city = 'Paris'", "no foreign key"),
        (1, "FROM teacher JOIN course SELECT teacher.title, COUNT(*) GROUP BY teacher.name", "no column teacher.title"),
        (2, "FROM student SELECT city WHERE COUNT(*) > 1 GROUP BY city ORDER BY city", "COUNT"),
        (3, "FROM teacher SELECT name WHERE salary = MAX(salary)", "MAX"),
        (4, "FROM student JOIN course SELECT student.name WHERE course.title = 'Logic'", "no foreign key"),
        (5, "FROM teacher JOIN student SELECT teacher.name, student.name WHERE student.age < 21", "no foreign key"),
        (5, "FROM teacher JOIN student ON city = student.city SELECT teacher.name, student.name WHERE student.age < 21", "ambiguous"),  # noqa: E501
    ],
)  # fmt: skip
def test_slips_of_each_kind_are_made(school: Source, asked: int, form: str, error: str) -> None:
    assert error.lower() in wrong_forms(ASKED[asked].sql, school)[form].lower()


def test_the_same_seed_gives_the_same_and_no_more_than_asked_for(school: Source) -> None:
    assert made(school, 3) == made(school, 3) != made(school, 4)
    assert sum(len(group.examples) for group in made(school, limit=3)) == 3
