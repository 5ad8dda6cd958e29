"""Measurement of what a model can do: answer questions in JSON, and judge statements. The result is cached.

The questions are about a small database of its own. The statements that the model writes are executed, and their rows
are compared with those of the reference.
"""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr

import prompts
from agent.errors import BudgetExceeded, DatasphinxError, ModelAnswerUnreadable, ModelRejected, ModelUnreachable
from agent.llm.client import ModelClient
from agent.llm.probe_result import ProbeResult, load_probe, store_probe
from agent.llm.schemas import SQLValidation
from agent.record.step import current_step
from agent.sample.harbours import build_harbours
from agent.schema.describe import describe
from agent.settings import Settings, SourceSettings
from agent.sources.source import Source, open_source
from agent.sql.compare import comparison_key
from agent.sql_attempt import StandardSqlWriter
from agent.state import State

_COUNT = "How many ferries are longer than 40 metres?"
_MOST = "Which harbour has the most boats? Return its name."
_NONE = "Which harbours have no boats? Return their names."
_RIGHT = {
    _COUNT: "SELECT COUNT(*) FROM boats WHERE kind = 'ferry' AND length_m > 40",
    _MOST: "SELECT harbours.name FROM harbours JOIN boats ON boats.harbour_id = harbours.id "
    "GROUP BY harbours.id, harbours.name ORDER BY COUNT(*) DESC LIMIT 1",
    _NONE: "SELECT name FROM harbours WHERE id NOT IN (SELECT harbour_id FROM boats)",
}
"""Questions with their reference."""
_JUDGED = (
    (_NONE, _RIGHT[_NONE], True),
    (_MOST, _RIGHT[_MOST].replace("DESC", "ASC"), False),
    (_COUNT, "SELECT COUNT(*) FROM boats WHERE kind = 'ferry'", False),
)
"""Questions, statements, and whether a statement answers its question."""
_TODAY = date(2026, 1, 1)
"""The questions do not depend on the date, so the prompts are always the same."""


def adapt_profile(model: ModelClient, settings: Settings) -> None:
    """Set the profile of `model` and whether it validates, as measured before or by at most twelve short requests.

    A model that does not answer all questions in JSON gets the profile `plain`. If the endpoint fails, the profile is
    left as it is, and the failure is reported by the question that waits for the model.
    """
    endpoint = model.failures.url
    known = load_probe(settings.cache_dir, endpoint, model.name)
    result = known or ProbeResult(measured_at=datetime.now(UTC).isoformat(timespec="seconds"), observations={})
    if result.handles_json is None:
        # The calls belong to no question: neither its record nor its budget.
        token = current_step.set(None)
        try:
            result = _measured(model, settings, result)
        except (ModelUnreachable, ModelRejected, BudgetExceeded):
            return
        finally:
            current_step.reset(token)
        store_probe(settings.cache_dir, endpoint, model.name, result)
    model.profile = "standard" if result.handles_json else "plain"
    model.validates = result.validates is not False


def _measured(model: ModelClient, settings: Settings, result: ProbeResult) -> ProbeResult:
    with TemporaryDirectory() as folder:
        path = Path(folder, "harbours.sqlite")
        build_harbours(path)
        source = open_source(SourceSettings(url=SecretStr(f"sqlite:///{path}")), settings.statement_limits)
        try:
            if not all(_answers(question, model, source) for question in _RIGHT):
                return replace(result, handles_json=False, validates=False)
            return replace(result, handles_json=True, validates=all(_judges(*item, model, source) for item in _JUDGED))
        finally:
            source.close()


def _answers(question: str, model: ModelClient, source: Source) -> bool:
    """Return whether the statement that the model writes in JSON returns the rows of the reference."""
    state = State(question=question, relevant_tables_with_rel_columns=source.catalog.selection(), examples=[])
    sql = StandardSqlWriter(model).write(state, source, lambda: (), _TODAY).sql
    try:
        rows = source.execute(sql)
    except DatasphinxError:
        return False
    return comparison_key(rows, ordered=False) == comparison_key(source.execute(_RIGHT[question]), ordered=False)


def _judges(question: str, sql: str, is_right: bool, model: ModelClient, source: Source) -> bool:
    """Return whether the model's verdict on `sql` is correct."""
    messages = prompts.render(
        "validate_sql",
        dialect=source.catalog.dialect,
        today=_TODAY.isoformat(),
        schema=describe(source.catalog, source.catalog.selection(), source.database.quote),
        question=question,
        context="",
        sql=sql,
        findings="",
    )
    try:
        return model.ask(SQLValidation, messages).is_valid is is_right
    except ModelAnswerUnreadable:
        return False
