from collections import Counter
from random import Random

from agent.sources.source import Source
from training.dataset import GoldQuestion
from training.output_types import output_types

BY_TYPE = {
    "number": {
        "How many teachers are there?": "SELECT COUNT(*) FROM teacher",
        "What is the average age?": "SELECT AVG(age) FROM student",
        "How old is the oldest student?": "SELECT age FROM student ORDER BY age DESC LIMIT 1",
    },
    "string": {
        "Who earns most?": "SELECT name FROM teacher ORDER BY salary DESC LIMIT 1",
        "What is the phone of Ada?": "SELECT phone FROM teacher WHERE name = 'Ada'",
        "Кто преподаёт музыку?": "SELECT name FROM teacher WHERE teacher_id = 3",
    },
    "dataframe": {
        "List all teachers": "SELECT name FROM teacher",
        "Names and ages of students": "SELECT name, age FROM student",
    },
}
GROUPED = {
    "How many students are in each city?": "SELECT city, COUNT(*) FROM student GROUP BY city",
    "每个城市的教师平均工资是多少？": "SELECT city, AVG(salary) FROM teacher GROUP BY city",
    "Сколько экзаменов было в каждый день?": "SELECT held, COUNT(*) FROM exam GROUP BY held",
}
LEFT_OUT = {
    "Teachers in Rome": "SELECT name FROM teacher WHERE city = 'Rome'",
    "What is the phone of Bo?": "SELECT phone FROM teacher WHERE name = 'Bo'",
    "Who knows?": "SELECT nothing FROM nowhere",
}


def made(source: Source, asked: dict[str, str], seed: int, limit: int = 100) -> dict[str, str]:
    questions = [GoldQuestion(question, sql) for question, sql in asked.items()]
    found = {}
    for group in output_types(source, "school", questions, Random(seed), size=3, limit=limit):
        assert group.head == "<|im_start|>system\nOutput<|im_end|>\n<|im_start|>user\n"
        assert 1 <= len(group.examples) <= 3
        for each in group.examples:
            question, end, _ = each.tail.partition("<|im_end|>\n<|im_start|>assistant\n")
            assert end
            found[question] = each.answer.removesuffix("<|im_end|>")
    return found


def test_a_question_has_the_type_that_its_answer_would_have(school: Source) -> None:
    known = {question: kind for kind, asked in BY_TYPE.items() for question in asked} | dict.fromkeys(
        GROUPED, "dataframe"
    )
    asked = {question: sql for questions in BY_TYPE.values() for question, sql in questions.items()}
    seen = set()
    for seed in range(12):
        found = made(school, {**asked, **GROUPED, **LEFT_OUT}, seed)
        plain = {question: kind for question, kind in found.items() if question in known}
        assert plain == {question: known[question] for question in plain}
        charts = {question for question in found if question not in known}
        assert {found[question] for question in charts} <= {"plot"}
        assert all(any(each.rstrip("?？") in question for each in GROUPED) for question in charts)
        seen |= set(found)
    assert set(asked) <= seen
    assert not set(LEFT_OUT) & seen


def test_charts_are_asked_for_in_the_language_of_the_question(school: Source) -> None:
    charts = {q for seed in range(30) for q, kind in made(school, GROUPED | BY_TYPE["number"], seed).items() if kind == "plot"}  # fmt: skip # noqa: E501

    assert any("画" in question or "绘" in question for question in charts if "每个" in question)
    assert any("график" in question for question in charts if "экзаменов" in question)
    assert not any("chart" in question.lower() for question in charts if "每个" in question or "экзаменов" in question)


def test_types_are_about_as_many_each(school: Source) -> None:
    asked = [
        {f"{question} ({n})": sql for question, sql in each.items()} for n in range(9) for each in BY_TYPE.values()
    ]
    asked += [BY_TYPE["number"], *({f"{question} ({n})": sql for question, sql in GROUPED.items()} for n in range(4))]
    questions = {question: sql for each in asked for question, sql in each.items()}

    counts = Counter(made(school, questions, 1).values())
    assert set(counts) == {"number", "string", "dataframe", "plot"}
    assert max(counts.values()) <= 2 * min(counts.values())
    assert set(Counter(made(school, questions, 1, limit=8).values()).values()) == {2}
    assert made(school, questions, 2) == made(school, questions, 2)
