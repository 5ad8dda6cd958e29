"""Build the training set from questions of Spider, handwritten and synthetic ones, over databases of synthetic rows."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from random import Random

from pydantic import SecretStr

from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits
from training.business import business_schemas, written_questions
from training.codes import Coded, coded
from training.dataset import GoldQuestion, groups_of
from training.groups import Group, write_groups
from training.query_specs import query_specs
from training.rows import add_tables, fill
from training.spider import HeldOut, TrainingQuestion, normalised
from training.spider import SpiderSchema as Schema
from training.synthesis import synthesise

VALIDATION = frozenset({
    *("college_2", "flight_1", "hr_1", "music_1", "store_1"),
    *("business_district_court", "business_film_rental", "business_toy_shop", "business_wine_club"),
})  # fmt: skip
"""Databases reserved for choosing the best checkpoint, from Spider's training part and the business schemas."""

_GROUP_SIZE = 14
_SYNTHETIC_SPIDER, _SYNTHETIC_BUSINESS = 8, 12
"""Number of synthetic questions per database of Spider, and per business schema."""
_CODED_BUSINESS = 28
"""Maximum number of questions per business schema that are also asked with codes in place of categories."""
_SPECS_BUSINESS = 16
"""Number of questions per business schema that also become query spec examples."""
_SPECS_SPIDER, _SPECS_EVERY = 4, 5
"""The same for every fifth database of Spider; which of them depends on the seed."""


@dataclass(frozen=True)
class TrainingSetSize:
    """Number of training examples, training groups and validation examples."""

    training: int
    training_groups: int
    validation: int


def build_training_set(
    schemas: dict[str, Schema], questions: Sequence[TrainingQuestion], held_out: HeldOut, folder: Path, seed: int
) -> TrainingSetSize:
    """Write `training.jsonl`, `validation.jsonl` and the databases of synthetic rows into `folder`.

    Questions whose database or wording is held out for evaluation are excluded.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    allowed = [question for question in questions if not held_out.holds(question)]
    groups = list(_groups(schemas, allowed, held_out, folder, seed))
    training = [group for group in groups if group.database not in VALIDATION]
    validation = [group for group in groups if group.database in VALIDATION]
    return TrainingSetSize(
        write_groups(training, folder / "training.jsonl"),
        len(training),
        write_groups(validation, folder / "validation.jsonl"),
    )


def _groups(
    schemas: dict[str, Schema], questions: Sequence[TrainingQuestion], held_out: HeldOut, folder: Path, seed: int
) -> Iterator[Group]:
    rng = Random(seed)
    by_database = groupby(sorted(questions, key=attrgetter("db_id")), key=attrgetter("db_id"))
    for number, (database, spider) in enumerate(by_database):
        gold = [GoldQuestion(question.question, question.sql) for question in spider]
        with closing(open_filled(schemas[database], [question.sql for question in gold], folder, seed)) as source:
            if (number + seed) % _SPECS_EVERY == 0:
                yield from query_specs(source, database, gold, rng, size=_GROUP_SIZE, limit=_SPECS_SPIDER)
            gold += _synthetic(source, held_out, seed, _SYNTHETIC_SPIDER)
            yield from groups_of(source, database, gold, _GROUP_SIZE, rng)
    business_questions = written_questions()
    for database, schema in business_schemas().items():
        with closing(
            open_filled(schema, [question.sql for question in business_questions[database]], folder, seed)
        ) as source:
            gold = business_questions[database] + _synthetic(source, held_out, seed, _SYNTHETIC_BUSINESS)
            yield from query_specs(source, f"business_{database}", gold, rng, size=_GROUP_SIZE, limit=_SPECS_BUSINESS)
            yield from groups_of(source, f"business_{database}", gold, _GROUP_SIZE, rng)
        variant = coded(schema, business_questions[database], rng)
        if variant:
            asked = rng.sample(variant.questions, min(len(variant.questions), _CODED_BUSINESS))
            statements = [question.sql for question in asked]
            with closing(open_filled(variant.schema, statements, folder, seed, variant)) as source:
                yield from groups_of(source, f"business_{database}", asked, _GROUP_SIZE, rng)


def _synthetic(source: Source, held_out: HeldOut, seed: int, count: int) -> list[GoldQuestion]:
    # Synthetic questions use the names of columns as English words.
    columns = (name for table in source.catalog.tables.values() for name in table.column_names)
    drafts = synthesise(source, seed, count) if all(map(str.isascii, columns)) else []
    allowed = (draft for draft in drafts if normalised(draft.question) not in held_out.questions)
    return [GoldQuestion(draft.question, draft.sql, f"{draft.family}/{draft.language}") for draft in allowed]


def open_filled(
    schema: Schema, statements: Sequence[str], folder: Path, seed: int, variant: Coded | None = None
) -> Source:
    """Return a new database of `schema` in `folder`, with made-up rows for which `statements` return some.

    It has the meanings of the codes of `variant`, if given.
    """
    path = folder / f"{schema.db_id}.sqlite"
    path.unlink(missing_ok=True)
    fill(schema, statements, path, seed)
    if variant:
        add_tables(variant.listings, path)
    settings = SourceSettings(url=SecretStr(f"sqlite:///{path}"), allow_writable_account=True)
    return open_source(settings, Limits(10.0, 1000))
