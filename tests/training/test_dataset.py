"""The training set: what the model will be sent, and nothing that is held out for measuring."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from datasphinx.agent.embedded.prompts import statement_messages
from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.sources.source import Source
from tests.support.databases import make_database, open_url
from training import build
from training.build import VALIDATION, build_training_set
from training.business import business_schemas
from training.dataset import GoldQuestion, groups_of
from training.groups import Group, chat, read_groups, write_groups
from training.spider import normalised, read_held_out, read_schemas, read_training

SHARED = Path(__file__).resolve().parents[3] / "shared"
ASKED = [
    GoldQuestion("How many cats are called Tom?", "SELECT count(*) FROM cats WHERE name = 'Tom'"),
    GoldQuestion("Owners of each cat?", "SELECT o.name FROM cats AS c JOIN owners AS o ON c.owner_id = o.owner_id"),
    GoldQuestion("What cannot be said?", "SELECT * FROM (SELECT name FROM cats)"),
]


@pytest.fixture
def pets(tmp_path: Path) -> Iterator[Source]:
    path = make_database(
        tmp_path,
        "CREATE TABLE owners (owner_id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE cats (cat_id INTEGER PRIMARY KEY, name TEXT, owner_id INTEGER REFERENCES owners)",
        "CREATE TABLE dogs (dog_id INTEGER PRIMARY KEY, breed TEXT)",
        "INSERT INTO owners VALUES (1, 'Ann')",
        "INSERT INTO cats VALUES (1, 'Tom', 1), (2, 'Kit', 1)",
    )
    with closing(open_url(f"sqlite:///{path}")) as source:
        yield source


def test_a_prompt_is_the_one_that_the_agent_sends(pets: Source) -> None:
    (group,) = groups_of(pets, "pets", ASKED, 14, Random(1))
    texts = {group.head + example.tail for example in group.examples}
    shown = {key: list(table.column_names) for key, table in pets.catalog.tables.items() if f"{key}(" in group.head}
    values = linked_values(ASKED[0].question, pets.values, shown)
    assert [value.value for value in values] == ["Tom"]
    assert chat(statement_messages(pets.catalog, shown, ASKED[0].question, values)) in texts
    assert {example.answer for example in group.examples} == {
        "FROM cats SELECT COUNT(*) WHERE name = 'Tom'<|im_end|>",
        "FROM cats JOIN owners SELECT owners.name<|im_end|>",
    }


def test_the_tables_that_are_needed_are_always_shown(pets: Source) -> None:
    heads = [group.head for seed in range(12) for group in groups_of(pets, "pets", ASKED, 1, Random(seed))]
    assert all("cats(" in head for head in heads)
    assert any("dogs(" in head for head in heads)
    assert any("dogs(" not in head for head in heads)


def test_groups_are_read_as_they_were_written(pets: Source, tmp_path: Path) -> None:
    groups = list(groups_of(pets, "pets", ASKED, 1, Random(1)))
    assert write_groups(groups, tmp_path / "groups.jsonl") == 2
    assert read_groups(tmp_path / "groups.jsonl") == groups


@pytest.mark.benchdata
@pytest.mark.skipif(not SHARED.is_dir(), reason="shared/ is not beside the project")
def test_nothing_that_is_measured_on_is_trained_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # All business schemas would take two minutes; their questions are compared in test_written.
    few = dict(list(business_schemas().items())[:10]) | {"toy_shop": business_schemas()["toy_shop"]}
    monkeypatch.setattr(build, "business_schemas", lambda: few)
    held_out = read_held_out(SHARED / "benchmarks/spider_dev/questions.jsonl")
    schemas = read_schemas(SHARED / "benchmarks/spider_schemas.json.gz")
    chosen = {"music_1", "department_management", "farm", "concert_singer"}
    questions = [each for each in read_training(SHARED / "training/spider_train.jsonl.gz") if each.db_id in chosen]
    measured = json.loads((SHARED / "benchmarks/spider_dev/questions.jsonl").read_text().splitlines()[0])
    questions.append(type(questions[0])(measured["id"], measured["db_id"], measured["question"], measured["sql"]))
    built = build_training_set(schemas, questions, held_out, tmp_path, 0)
    groups = [*read_groups(tmp_path / "training.jsonl"), *read_groups(tmp_path / "validation.jsonl")]
    assert built.training > 1000
    assert built.validation > 30
    assert {group.database for group in groups}.isdisjoint(held_out.db_ids)
    assert not [question for question in _questions(groups) if normalised(question) in held_out.questions]
    assert {group.database for group in read_groups(tmp_path / "validation.jsonl")} == VALIDATION & (
        chosen | {"business_toy_shop"}
    )


def _questions(groups: list[Group]) -> list[str]:
    tails = [example.tail.partition("<|im_end|>")[0] for group in groups for example in group.examples]
    return [tail.strip().splitlines()[0] for tail in tails]
