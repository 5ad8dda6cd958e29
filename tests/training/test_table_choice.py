from random import Random

from agent.sources.source import Source
from training.dataset import GoldQuestion
from training.table_choice import table_choices

JOINED = (
    "SELECT T1.name FROM student AS T1 JOIN enrolment AS T2 ON T1.student_id = T2.student_id "
    "JOIN course AS T3 ON T2.course_id = T3.course_id"
)
ASKED = [
    GoldQuestion("Which rooms are there?", "SELECT * FROM Room"),
    GoldQuestion("Who takes\n a course?", JOINED),
    GoldQuestion(
        "Teachers without a course", "SELECT name FROM teacher WHERE teacher_id NOT IN (SELECT teacher_id FROM course)"
    ),
    GoldQuestion("What is elsewhere?", "SELECT * FROM elsewhere"),
]
ANSWERS = {
    "Which rooms are there?": "room",
    "Who takes a course?": "course, enrolment, student",
    "Teachers without a course": "course, teacher",
}


def test_the_tables_of_the_gold_statement_are_the_answer_in_the_order_shown(school: Source) -> None:
    for seed in range(8):
        groups = list(table_choices(school, "school", ASKED, Random(seed), size=2, limit=10))
        found = {}
        for group in groups:
            system, user = group.head.removeprefix("<|im_start|>system\n").split("<|im_end|>\n<|im_start|>user\n")
            shown = [line.partition("(")[0] for line in user.split("\n")]
            assert system == "Tables"
            assert 5 <= len(shown) <= 6
            for example in group.examples:
                question = example.tail.removesuffix("<|im_end|>\n<|im_start|>assistant\n").removeprefix("\n\n")
                found[question] = example.answer.removesuffix("<|im_end|>")
                answer = found[question].split(", ")
                assert answer == [name for name in shown if name in answer]
        assert {question: sorted(answer.split(", ")) for question, answer in found.items()} == {
            question: sorted(answer.split(", ")) for question, answer in ANSWERS.items()
        }


def test_a_line_has_the_names_of_columns_as_statements_write_them(school: Source) -> None:
    [group] = table_choices(school, "school", ASKED[:1], Random(1), size=2, limit=10)

    assert 'room(room_id, "floor area", building)' in group.head.split("\n")


def test_no_more_than_asked_for_and_the_same_for_a_seed(school: Source) -> None:
    one, same = (list(table_choices(school, "school", ASKED, Random(5), size=2, limit=2)) for _ in range(2))

    assert one == same
    assert sum(len(group.examples) for group in one) == 2
