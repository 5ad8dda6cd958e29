"""A small school to make training examples of, one of whose six tables no key links, and what is measured with."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr

from datasphinx.agent.evals.demo import SHEETS, SHOP
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits
from tests.agent.embedded.conftest import endpoint as endpoint
from tests.agent.embedded.conftest import user_cache as user_cache
from training.spider import normalised

_SCRIPT = """
CREATE TABLE teacher (teacher_id INTEGER PRIMARY KEY, name TEXT, city TEXT, hired DATE, salary REAL, phone TEXT);
CREATE TABLE course (course_id INTEGER PRIMARY KEY, title TEXT, credits INTEGER,
    teacher_id INTEGER REFERENCES teacher (teacher_id));
CREATE TABLE student (student_id INTEGER PRIMARY KEY, name TEXT, city TEXT, age INTEGER);
CREATE TABLE enrolment (enrolment_id INTEGER PRIMARY KEY, student_id INTEGER REFERENCES student (student_id),
    course_id INTEGER REFERENCES course (course_id), grade REAL);
CREATE TABLE room (room_id INTEGER PRIMARY KEY, "floor area" REAL, building TEXT);
CREATE TABLE exam (exam_id INTEGER PRIMARY KEY, course_id INTEGER REFERENCES course (course_id), held DATE);
INSERT INTO teacher VALUES (1, 'Ada', 'Paris', '2020-02-03', 3000, '0123'), (2, 'Bo', 'Rome', '2020-11-30', 2500, NULL),
    (3, 'Cy', 'Paris', '2021-02-14', 4100.5, '77'), (4, 'Di', 'Oslo', '2022-05-01', 2500, NULL);
INSERT INTO course VALUES (1, 'Logic', 5, 1), (2, 'Latin', 3, 2), (3, 'Music', 3, 2), (4, 'Maths', 6, 3);
INSERT INTO student VALUES (1, 'Eve', 'Rome', 20), (2, 'Flo', 'Oslo', 22), (3, 'Gus', 'Rome', 20),
    (4, 'Eve', 'Bonn', 25);
INSERT INTO enrolment VALUES (1, 1, 1, 1.3), (2, 1, 2, 2.0), (3, 2, 1, 1.7), (4, 3, 4, 3.0), (5, 4, 4, NULL);
INSERT INTO room VALUES (1, 20.5, 'North'), (2, 30, 'North'), (3, 41, 'South');
INSERT INTO exam VALUES (1, 1, '2024-01-20'), (2, 2, '2024-06-30'), (3, 4, '2024-06-01');
"""


_FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


@pytest.fixture
def measured() -> set[str]:
    """The questions on the sample shop, on the clinic, in other languages, and of the demo, normalised."""
    files = (_FIXTURES / f"{domain}_questions.jsonl" for domain in ("shop", "clinic", "languages"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    asked = [json.loads(line)["question"] for line in lines]
    return {normalised(question) for question in (*asked, *(each.question for each in (*SHOP, *SHEETS)))}


@pytest.fixture(scope="package")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    path = tmp_path_factory.mktemp("school") / "school.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_SCRIPT)
    source = open_source(SourceSettings(url=SecretStr(f"sqlite:///{path}")), Limits(timeout_s=10, row_limit=100))
    yield source
    source.close()
