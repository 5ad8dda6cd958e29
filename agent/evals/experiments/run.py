"""Runs a whole experiment: with the configured model, into a folder, to its report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.audit.record import Recorder
from agent.evals.datasets.dataset import Dataset, find_databases
from agent.evals.datasets.readings import ReadQuestion
from agent.evals.experiments.asking import asking_of
from agent.evals.experiments.experiment import Experiment
from agent.evals.experiments.folder import ExperimentFolder
from agent.evals.experiments.log import QuestionLog
from agent.evals.experiments.method import MOST_ROUNDS, Method, OracleName
from agent.evals.experiments.model_oracle import ModelOracle
from agent.evals.experiments.oracle import Oracle
from agent.evals.experiments.report import finished
from agent.evals.experiments.rounds import METHODS, Play, ask_when_it_matters
from agent.evals.experiments.rule_oracle import RuleOracle
from agent.evals.experiments.settings import settings_of
from agent.evals.experiments.transcript import Transcript
from agent.evals.limits import measuring
from agent.evals.match_rule import MatchRule
from agent.evals.report import Progress
from agent.models.chat import connect_model
from agent.models.embedded import EmbeddedOptions
from agent.services import Services
from agent.settings import Settings

_ASKING = "auto"
"""What the method is called that asks as the agent does by default."""


@dataclass(frozen=True)
class Plan:
    """How an experiment is run. Without `oracle` it is the model, or the rule where the embedded model answers."""

    out: Path
    method: Method = Method.BASELINE
    oracle: OracleName | None = None
    rounds: int = MOST_ROUNDS
    parallel: int = 1
    rule: MatchRule = MatchRule.PROJECT


def run_method(
    dataset: Dataset, settings: Settings, plan: Plan, on_progress: Progress, embedded: EmbeddedOptions | None = None
) -> tuple[dict[str, Any], str]:
    """Return the report and the table of `plan.method` on `dataset`; `plan.out` has the logs.

    Raises:
        DatasetInvalid: a database is missing, or `plan.out` has another experiment.
        ConfigurationError, DriverMissing, EmbeddedModelUnavailable: there is no such model.
    """
    services = services_for(settings, embedded)
    method = METHODS[plan.method]
    folder, logs = run_with(services, dataset, plan, plan.method.value, method, on_progress)
    return finished(folder, logs)


def run_asking(
    questions: Sequence[ReadQuestion],
    databases: Path,
    settings: Settings,
    plan: Plan,
    on_progress: Progress,
    embedded: EmbeddedOptions | None = None,
) -> tuple[dict[str, Any], str]:
    """Return the report and the table of asking as the agent does by default, with how well it was asked.

    Raises:
        DatasetInvalid, ConfigurationError, DriverMissing, EmbeddedModelUnavailable: as `run_method` says.
    """
    services, dataset = services_for(settings, embedded), Dataset([*questions], databases)
    folder, logs = run_with(services, dataset, plan, _ASKING, ask_when_it_matters, on_progress)
    return finished(folder, logs, {"asking": asking_of(questions, logs)})


def run_with(
    services: Services,
    dataset: Dataset,
    plan: Plan,
    name: str,
    method: Callable[[Play], None],
    on_progress: Progress,
) -> tuple[ExperimentFolder, list[QuestionLog]]:
    """Return the folder and the logs of `method`, which is called `name`, over `services` of `services_for`.

    Raises:
        DatasetInvalid: a database is missing, or `plan.out` has another experiment.
    """
    files = find_databases(dataset)
    asks = name not in (Method.BASELINE, Method.SIMPLE_FEEDBACK)
    kind = plan.oracle or (OracleName.RULE if services.embedded else OracleName.MODEL)
    oracle: Oracle = RuleOracle(plan.rule) if kind is OracleName.RULE else ModelOracle(services.model)
    settings = settings_of(
        services,
        dataset.questions,
        method=name,
        oracle=kind.value if asks else None,
        rounds=plan.rounds,
        rule=plan.rule,
    )
    folder = ExperimentFolder(plan.out, settings)
    experiment = Experiment(services, method, oracle, plan.rounds, plan.rule, plan.parallel)
    return folder, experiment.run(dataset.questions, files, folder, on_progress)


def services_for(settings: Settings, embedded: EmbeddedOptions | None = None) -> Services:
    """Return services for measuring: perplexity where the endpoint gives it, and the record heard, not kept.

    Raises:
        ConfigurationError, DriverMissing, EmbeddedModelUnavailable: there is no such model.
    """
    measured = measuring(settings, embedded).model_copy(update={"max_clarifications": MOST_ROUNDS})
    model = connect_model(measured, embedded, logprobs=True)
    return Services(measured, model=model, recorder=Recorder(Transcript()))
