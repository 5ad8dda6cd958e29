"""What the commands of `datasphinx eval` have in common: options, and what is made of them."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.evals.datasets.dataset import Dataset
from agent.evals.datasets.jsonl import read_questions
from agent.evals.datasets.opening import DatasetName, open_dataset
from agent.evals.experiments.method import ASKING, MOST_ROUNDS, Method, OracleName
from agent.evals.match_rule import MatchRule
from agent.models.embedded import MOST_CANDIDATES, EmbeddedOptions

if TYPE_CHECKING:
    from agent.evals.experiments.run import Plan
    from agent.settings import Settings


class Part(StrEnum):
    """A part of the embedded model's decoding, to be measured by leaving it out."""

    TRAINING = "training"
    GRAMMAR = "grammar"
    CANDIDATES = "candidates"
    REPAIR = "repair"


LINES = "JSON lines: id, db_id, question, sql."
FILES = "Folder of SQLite files named by db_id."
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first questions.")]
Match = Annotated[
    MatchRule,
    typer.Option("--match", help="When rows are equal: the project's rule, or Sphinteract's as published."),
]
Candidates = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_CANDIDATES, help="Statements that the embedded model writes for a question."),
]
Oracle = Annotated[
    OracleName | None,
    typer.Option(help="Who answers questions: the model, or a rule without one (so for the embedded model)."),
]
Rounds = Annotated[
    int | None, typer.Option(min=1, max=MOST_ROUNDS, help=f"Rounds after the first answer; left out: {MOST_ROUNDS}.")
]
Parallel = Annotated[int | None, typer.Option(min=1, help="Questions at once; the embedded model takes one.")]


def dataset_of(
    name: DatasetName, data: Path | None, questions: Path | None, databases: Path | None, evidence: bool | None
) -> Dataset:
    """Return what is to be asked.

    Raises:
        BadParameter: an option is missing, or one does not go with another.
        DatasetInvalid: something is missing in the dataset, or broken.
    """
    if evidence is not None and name is not DatasetName.BIRD:
        raise typer.BadParameter("only BIRD has hints", param_hint="--evidence/--no-evidence")
    if data is None:
        if name is not DatasetName.JSONL:
            raise typer.BadParameter(f"where is {name}? Name its folder", param_hint="--data")
        if questions is None or databases is None:
            raise typer.BadParameter("name the folder of a dataset, or both files", param_hint="--data")
        return Dataset(read_questions(questions), databases)
    if questions or databases:
        raise typer.BadParameter("the folder has both already", param_hint="--questions, --databases")
    return open_dataset(name, data, evidence=evidence is not False)


def embedded_options_of(
    settings: "Settings", candidates: int | None, without: list[Part], shots: int | None = None
) -> EmbeddedOptions | None:
    """Return how the embedded model is decoded; None where another model is asked.

    Raises:
        BadParameter: an option for the embedded model alone is given for another, or two contradict each other.
    """
    if not settings.uses_embedded_model:
        given = "--without" if without else "--candidates" if candidates else None
        if given:
            raise typer.BadParameter("that is for the embedded model, and an endpoint is configured", param_hint=given)
        return None
    if shots:
        raise typer.BadParameter("the embedded model sees no examples", param_hint="--shots")
    if candidates and Part.CANDIDATES in without:
        raise typer.BadParameter("--without candidates leaves one", param_hint="--candidates")
    return EmbeddedOptions(
        adapter=Part.TRAINING not in without,
        grammar=Part.GRAMMAR not in without,
        candidates=1 if Part.CANDIDATES in without else settings.embedded_candidates,
        repair=Part.REPAIR not in without,
    )


def plan_of(
    out: Path | None,
    method: Method,
    oracle: OracleName | None,
    rounds: int | None,
    parallel: int | None,
    match: MatchRule,
    embedded: EmbeddedOptions | None,
) -> "Plan | None":
    """Return how an experiment is run; None where nothing is asked for but the report of the first answers.

    Raises:
        BadParameter: an option is missing, or one does not go with another.
    """
    given = {"--method": method is not Method.BASELINE, "--rounds": rounds, "--oracle": oracle, "--parallel": parallel}
    if out is None:
        named = [name for name, value in given.items() if value]
        if named:
            raise typer.BadParameter("name a folder for the logs with --out", param_hint=", ".join(named))
        return None
    if rounds and method is Method.BASELINE:
        raise typer.BadParameter(f"{method} has no rounds", param_hint="--rounds")
    if oracle and method not in ASKING:
        raise typer.BadParameter(f"{method} asks nothing", param_hint="--oracle")
    if embedded and (parallel or 1) > 1:
        raise typer.BadParameter("the embedded model takes one question at a time", param_hint="--parallel")
    if embedded and oracle is OracleName.MODEL:
        raise typer.BadParameter("the embedded model writes statements and nothing else", param_hint="--oracle")
    from agent.evals.experiments.run import Plan

    most = 0 if method is Method.BASELINE else MOST_ROUNDS
    return Plan(out, method, oracle, rounds or most, parallel or 1, match)
