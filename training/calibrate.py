"""Fit the confidence in the answers of the embedded model, on the databases that are kept apart from its training.

Run with: `python -m training.calibrate --schemas tables.json --questions train.jsonl --out FOLDER`
"""

import argparse
import csv
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import URL

from datasphinx.agent.analyst import Analyst, build_analyst
from datasphinx.agent.answers.confidence import with_result
from datasphinx.agent.embedded.calibration import Calibration, Task, calibration_path, features_of, write_calibrations
from datasphinx.agent.embedded.compact import quoted
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.evals.match import matches
from datasphinx.agent.generation.execution import finds_nothing
from datasphinx.agent.graph import Graph, build_graph
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.spec import read_spec
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import is_ordered
from datasphinx.agent.types import EmbeddedOptions, Evidence, Result
from training.build import VALIDATION, open_filled
from training.business import business_schemas, written_questions
from training.dataset import GoldQuestion, tables_of
from training.query_specs import as_json, spec_with_rows
from training.reliability import risk_coverage
from training.spider import read_schemas, read_training

_WRONG_COST = 4.0
"""The number of right answers that are worth as much as a wrong one costs that is presented as confident."""
_RIDGE = 1.0
_STEPS = 50
_TASKS: tuple[Task, ...] = ("statement", "query_spec")
_NODES = {"statement": "generate_sql", "query_spec": "plan"}
"""The nodes that return the evidence."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Observation:
    """An answer of the embedded model: what was known about it, and whether it was right."""

    task: Task
    database: str
    question: str
    evidence: Evidence
    """Empty if there is no answer."""
    is_right: bool


def fit(observations: Sequence[Observation]) -> Calibration:
    """Return the logistic regression over `observations`, fitted by Newton's method with a small ridge penalty.

    Features count against an answer, so none gets a weight in its favour. The threshold has the highest value if a
    right answer above it is worth 1 and a wrong one costs `_WRONG_COST`.
    """
    names = list(features_of(observations[0].evidence))
    features = np.array([list(features_of(seen.evidence).values()) for seen in observations])
    is_right = np.array([seen.is_right for seen in observations], float)
    kept = list(range(len(names)))
    while True:
        weights = _logistic_regression(features[:, kept], is_right)
        wrong = [at for at, weight in zip(kept, weights[1:], strict=True) if weight > 0]
        if not wrong:
            break
        kept = [at for at in kept if at not in wrong]
    rounded = {names[at]: round(float(weight), 4) for at, weight in zip(kept, weights[1:], strict=True)}
    by_name = {name: weight for name, weight in rounded.items() if weight}
    calibration = Calibration(round(float(weights[0]), 4), by_name, 0.0)
    values = [calibration.estimate(seen.evidence) or 0.0 for seen in observations]
    points = risk_coverage(values, [seen.is_right for seen in observations])
    _, threshold = max((coverage * (share - _WRONG_COST * (1 - share)), lowest) for coverage, share, lowest in points)
    return Calibration(calibration.intercept, by_name, round(threshold, 2))


def _logistic_regression(features: Floats, is_right: Floats) -> Floats:
    """Return intercept and weights."""
    inputs = np.column_stack([np.ones(len(features)), features])
    penalty = _RIDGE * np.eye(inputs.shape[1])
    penalty[0, 0] = 0.0
    weights = np.zeros(inputs.shape[1])
    for _ in range(_STEPS):
        probabilities = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (is_right - probabilities) - penalty @ weights
        curvature = (inputs.T * (probabilities * (1 - probabilities))) @ inputs + penalty
        weights = weights + np.linalg.solve(curvature, gradient)
    return weights


def observe(options: argparse.Namespace, known: Collection[tuple[Task, str, str]] = ()) -> Iterator[Observation]:
    """Yield the answers to at most `options.limit` questions for each task, over the kept-apart databases.

    The databases in `options.out` have made-up rows. Questions `known`, by task, database and question, are counted but
    not asked again. Questions whose reference returns nothing are left out. Query specs are asked for if the statement
    has an equivalent one; its table is then a file.
    """
    settings = Settings(llm_base_url=None, llm_api_key=None, record=False, embedded_model=options.model)
    services = Services(settings, embedded=EmbeddedOptions())
    agent, analyst = build_graph(services), build_analyst(services)
    counts = dict.fromkeys(_TASKS, 0)
    for database, path, gold in _questions(options.out, options.schemas, options.questions, options.seed):
        url = URL.create("sqlite", database=str(path.absolute())).render_as_string()
        source = services.source(url)
        reference = source.execute(gold.sql)
        if finds_nothing(reference):
            continue
        asked: list[tuple[Task, Graph | Analyst, dict[str, Any], Result]] = [
            ("statement", agent, {"source": url}, reference)
        ]
        spec = spec_with_rows(gold.sql, source)
        if spec:
            (table,) = tables_of(gold.sql, source.catalog)
            result = run(read_spec(as_json(spec)), Datasets(table, source.catalog.tables), source)
            asked.append(
                ("query_spec", analyst, {"files": [str(_as_file(table, source, options.out / database))]}, result)
            )
        for task, graph, data, expected in asked:
            if task in options.tasks and counts[task] < options.limit:
                counts[task] += 1
                if (task, database, gold.question) not in known:
                    inputs = {"question": gold.question, "clarify": "never", **data}
                    yield Observation(task, database, gold.question, *_observed(graph, task, inputs, gold, expected))


def _as_file(table: str, source: Source, folder: Path) -> Path:
    """Return a CSV file with the rows of `table`."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{table}.csv"
    rows = source.execute(f"SELECT * FROM {quoted(table)}")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([rows["columns"], *rows["rows"]])
    return path


def _observed(
    graph: "Graph | Analyst", task: Task, inputs: Any, gold: GoldQuestion, reference: Result
) -> tuple[Evidence, bool]:
    """Return the evidence of an answer and whether it has the rows of `reference`; no evidence if there is none."""
    evidence, output = Evidence(), dict[str, Any]()
    for update in graph.stream(inputs, stream_mode="updates"):
        for node, changes in update.items():
            evidence = (changes or {}).get("evidence") or evidence if node == _NODES[task] else evidence
            output = changes if "status" in (changes or {}) else output
    if "logprob" not in evidence or not output.get("tables") or output.get("error"):
        return Evidence(), False
    table = output["tables"][0]
    return with_result(evidence, table["rows"]), matches(reference, table, ordered=is_ordered(gold.sql, "sqlite"))


def _questions(folder: Path, schemas: Path, questions: Path, seed: int) -> Iterator[tuple[str, Path, GoldQuestion]]:
    """Yield the questions of the kept-apart databases in a random order, each with its database of made-up rows."""
    spider, own = read_schemas(schemas), business_schemas()
    written, asked = written_questions(), []
    training = read_training(questions)
    for name in sorted(VALIDATION):
        business = name.removeprefix("business_")
        schema = own[business] if business != name else spider[name]
        gold = [GoldQuestion(seen.question, seen.sql) for seen in training if seen.db_id == name]
        gold = gold or written[business]
        with closing(open_filled(schema, [question.sql for question in gold], folder, seed)):
            asked += [(name, folder / f"{schema.db_id}.sqlite", question) for question in gold]
    Random(seed).shuffle(asked)
    yield from asked


def main() -> None:
    """Ask the questions, fit a calibration for each task with answers, and write them beside the adapters.

    A second run with the same folder continues the first.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", type=Path, required=True, help="Spider's tables.json, optionally gzipped")
    parser.add_argument("--questions", type=Path, required=True, help="Spider's training questions as JSON lines")
    parser.add_argument("--out", type=Path, required=True, help="folder for the databases and observations.jsonl")
    parser.add_argument("--model", choices=list(TIERS), default="base", help="the tier")
    parser.add_argument("--tasks", nargs="+", choices=_TASKS, default=_TASKS, help="by default, all")
    parser.add_argument("--limit", type=int, default=400, help="number of questions for each task")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "observations.jsonl"
    path.touch()
    observations = [Observation(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    known = {(seen.task, seen.database, seen.question) for seen in observations}
    with path.open("a", encoding="utf-8") as file:
        for seen in observe(options, known):
            file.write(json.dumps(asdict(seen), ensure_ascii=False) + "\n")
            file.flush()
            observations.append(seen)
    answered = [seen for seen in observations if seen.evidence]
    by_task = {task: [seen for seen in answered if seen.task == task] for task in _TASKS}
    write_calibrations({task: fit(seen) for task, seen in by_task.items() if seen}, calibration_path(options.model))


if __name__ == "__main__":
    main()
