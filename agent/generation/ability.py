"""Measurement of what a model can do: answer questions in JSON, and judge statements. The result is cached.

The questions are about a small database that is built for them. The statements that the model writes are executed, and
their rows are compared with those of the reference.
"""

from copy import copy
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from datasphinx.agent.errors import DatasphinxError, ModelAnswerUnreadable
from datasphinx.agent.generation.prompt import question_messages
from datasphinx.agent.generation.question import Question
from datasphinx.agent.generation.writing import SqlWriter
from datasphinx.agent.llm.ability import Ability, store_ability
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import SQLValidation
from datasphinx.agent.record.step import not_recorded
from datasphinx.agent.sample.harbours import build_harbours
from datasphinx.agent.settings import Settings, SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.sql.compare import comparison_key
from datasphinx.agent.types import Limits

_COUNT = "How many ferries are longer than 40 metres?"
_MOST = "Which harbour has the most boats? Return its name."
_NONE = "Which harbours have no boats? Return their names."
_REFERENCES = {
    _COUNT: "SELECT COUNT(*) FROM boats WHERE kind = 'ferry' AND length_m > 40",
    _MOST: "SELECT harbours.name FROM harbours JOIN boats ON boats.harbour_id = harbours.id "
    "GROUP BY harbours.id, harbours.name ORDER BY COUNT(*) DESC LIMIT 1",
    _NONE: "SELECT name FROM harbours WHERE id NOT IN (SELECT harbour_id FROM boats)",
}
"""Reference statements by question."""
_JUDGED = (
    (_NONE, _REFERENCES[_NONE], True),
    (_MOST, _REFERENCES[_MOST].replace("DESC", "ASC"), False),
    (_COUNT, "SELECT COUNT(*) FROM boats WHERE kind = 'ferry'", False),
)
"""Questions, statements, and whether a statement answers its question."""
_TODAY = date(2026, 1, 1)
"""The questions do not depend on the date, so the prompts are always the same."""


def adapt(model: ModelClient, known: Ability, settings: Settings) -> None:
    """Set whether `model` validates and words answers, by what is `known` or measured."""
    model.ability = ability = measured(model, known, settings)
    model.validates = bool(ability.handles_json) and ability.validates is not False
    model.words_answers = bool(ability.handles_json) and ability.words_answers is not False


def measured(model: ModelClient, known: Ability, settings: Settings) -> Ability:
    """Return the ability of `model`: what is `known`, or measured by short questions.

    These are at most nine, asked once: the result is cached. The requests are not part of a user's question: they are
    neither recorded nor limited.
    """
    if known.handles_json is not None:
        return known
    with not_recorded():
        ability = _measure(model, settings.statement_limits)
    ability = replace(ability, measured_at=datetime.now(UTC).isoformat(timespec="seconds"))
    store_ability(settings.cache_dir, model.failures.url, model.name, ability)
    return ability


def _measure(model: ModelClient, limits: Limits) -> Ability:
    """Return whether the model answers in JSON, and if so, whether it also words answers, and judges statements."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "harbours.sqlite")
        build_harbours(path)
        source = open_source(SourceSettings(url=SecretStr(f"sqlite:///{path}")), limits)
        try:
            for words_answers in (True, False):
                model = copy(model)
                model.words_answers = words_answers
                if all(_answers(question, SqlWriter(model), source) for question in _REFERENCES):
                    validates = all(_judges(*judged, model, source) for judged in _JUDGED)
                    return Ability(handles_json=True, words_answers=words_answers, validates=validates)
        finally:
            source.close()
        return Ability(handles_json=False)


def _asked(question: str, source: Source) -> Question:
    tables = source.catalog.selection()
    return Question(question, tables, tables)


def _answers(question: str, writer: SqlWriter, source: Source) -> bool:
    """Return whether the statement that `writer` gives returns the rows of the reference."""
    sql = writer.write(_asked(question, source), source, (), _TODAY).sql
    try:
        rows = source.execute(sql)
    except DatasphinxError:
        return False
    return comparison_key(rows, ordered=False) == comparison_key(source.execute(_REFERENCES[question]), ordered=False)


def _judges(question: str, sql: str, is_right: bool, model: ModelClient, source: Source) -> bool:
    """Return whether the model's verdict on `sql` is correct."""
    messages = question_messages("validate_sql", _asked(question, source), source, _TODAY, sql=sql, findings="")
    try:
        return model.ask(SQLValidation, messages).is_valid is is_right
    except ModelAnswerUnreadable:
        return False
