"""Execution match of statements that were recorded elsewhere, run through the whole graph as the model's answers.

Run with: `python -m benchmarks.recorded --questions questions.jsonl --databases FOLDER --predictions statements.jsonl`.
The predictions are lines with `id` and `sql`; the last line of the output is the report as JSON.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from datasphinx.agent.errors import DatasetInvalid
from datasphinx.agent.evals.datasets import (
    Dataset,
    Question,
    Record,
    find_databases,
    id_field,
    read_lines,
    read_questions,
    require_unique_ids,
    shorten,
    text_field,
)
from datasphinx.agent.evals.report import Progress, Report, progress_bar
from datasphinx.agent.evals.run import evaluate, evaluation_settings
from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, load_settings

_UNLIMITED = 10**9


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recorded")
    parser.add_argument("--questions", type=Path, required=True, help="JSON lines with id, db_id, question and sql.")
    parser.add_argument("--databases", type=Path, required=True, help="Folder of SQLite files named by their db_id.")
    parser.add_argument("--predictions", type=Path, required=True, help="JSON lines with id and sql.")
    parser.add_argument("--limit", type=int, help="Only the first questions.")
    options = parser.parse_args(arguments)
    dataset = Dataset(read_questions(options.questions), options.databases)
    with progress_bar() as advance:
        report = replay(dataset, options.predictions, options.limit, load_settings(), advance)
    print(json.dumps(report.as_json(), ensure_ascii=False))


def replay(
    dataset: Dataset,
    predictions: Path,
    limit: int | None,
    settings: Settings,
    on_progress: Progress,
) -> Report:
    """Run the recorded SQL in `predictions` through the graph as the model's answers, for the first `limit` questions.

    Raises:
        DatasetInvalid: A file is missing or invalid, or inconsistent with another.
    """
    recorded = read_predictions(predictions, dataset.questions)
    part = dataset.first(limit)
    require_predictions(part.questions, recorded, predictions)
    services_for = _recorded_services(recorded, settings)
    return evaluate(part.questions, find_databases(part), services_for, on_progress)


def _recorded_services(recorded: Mapping[str, str], settings: Settings) -> Callable[[Question], Services]:
    """Return a function that gives services whose model answers with the recorded SQL of a question.

    Other model calls are not recorded: the whole schema is shown, so no tables are chosen; a validation, which the
    settings decide about, confirms the statement; and the rows themselves are the answer.
    """
    current_sql = ""

    def statement(messages: list[BaseMessage]) -> dict[str, Any]:
        return {"sql": current_sql}

    answers: dict[str, list[Scripted]] = {
        "GeneratedSQL": [statement],
        "SQLValidation": [{"is_valid": True}],
        "NarratedAnswer": [{"answer": "", "output_type": "dataframe"}],
    }
    model = ScriptedModel(answers, repeat_last=True)
    # Recorded answers are free, so no cost limit may end a question.
    free = dict.fromkeys(("schema_token_budget", "max_llm_calls", "max_llm_tokens", "max_question_s"), _UNLIMITED)
    services = Services(evaluation_settings(settings).model_copy(update=free), model=model)

    def services_for(question: Question) -> Services:
        nonlocal current_sql
        current_sql = recorded[question.id]
        model.calls.clear()
        return services

    return services_for


def read_predictions(path: Path, questions: list[Question]) -> dict[str, str]:
    """Return the SQL of a file with `id, sql` on each line, by id. Empty SQL means no answer.

    Raises:
        DatasetInvalid: As `read_questions`, or a line has the id of no question.
    """

    def read(record: Record) -> tuple[str, str]:
        return id_field(record), text_field(record, "sql", may_be_empty=True)

    predictions = list(read_lines(path, read))
    require_unique_ids([name for name, _ in predictions], path)
    ids = {question.id for question in questions}
    unknown = [name for name, _ in predictions if name not in ids]
    if unknown:
        raise DatasetInvalid(str(path), f"there is no question for {shorten(unknown)}")
    return dict(predictions)


def require_predictions(questions: list[Question], predictions: dict[str, str], path: Path) -> None:
    """Check that each question has a prediction; `path` is the file of the predictions.

    Raises:
        DatasetInvalid: With the ids of questions without one.
    """
    missing = [question.id for question in questions if question.id not in predictions]
    if missing:
        raise DatasetInvalid(str(path), f"there is no statement for {shorten(missing)}")


if __name__ == "__main__":
    main()
