"""`python -m training`: train the adapter of an embedded model and measure it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.evals.datasets import Dataset, read_questions
from datasphinx.agent.evals.report import progress_bar
from datasphinx.agent.evals.run import run
from datasphinx.agent.settings import Settings
from datasphinx.agent.types import EmbeddedModel, EmbeddedOptions
from training.adapter import GPU_ROWS, TrainingPlan, train_adapter
from training.build import build_training_set
from training.spider import read_held_out, read_schemas, read_training

_CANDIDATES = (1, 3, 5)


def _existing_path(text: str) -> Any:
    return typer.Option(exists=True, help=text)


def train(
    schemas: Annotated[Path, _existing_path("Spider's tables.json, optionally gzipped.")],
    questions: Annotated[Path, _existing_path("Training questions: JSON lines with id, db_id, question and sql.")],
    held_out: Annotated[
        Path, _existing_path("Evaluation questions; they and their databases are excluded from training.")
    ],
    databases: Annotated[
        Path, _existing_path("Folder of the evaluation questions' SQLite files, each named by its db_id.")
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for the training set, the checkpoints, the report and the adapter.")
    ],
    base: Annotated[
        EmbeddedModel, typer.Option(help="Size of the embedded model that is trained: base or large.")
    ] = "base",
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder of the base model's weights. [default: DATASPHINX_CACHE_DIR]"),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(exists=True, help="Initial adapter (GGUF), such as the shipped one."),
    ] = None,
    steps: Annotated[int, typer.Option(help="Number of steps, including those of earlier runs.")] = 2000,
    total_minutes: Annotated[
        float | None,
        typer.Option(
            help="Duration of the training over all runs; the learning rate falls by it. Ends it before --steps."
        ),
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after this time; the next run continues.")] = None,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 1e-3,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="Where to train: cpu, or cuda for a GPU.")] = "cpu",
    variants: Annotated[
        int, typer.Option(min=0, help="Number of variants of each group of questions, besides the group as it is.")
    ] = 1,
    seed: Annotated[
        int, typer.Option(help="Random seed for rows, questions, their order and the adapter's initial weights.")
    ] = 0,
) -> None:
    """Train the adapter of an embedded model; after the last step, copy it into the package and measure it.

    A second run with the same folder continues the first. All figures are written to `report.json` and `losses.jsonl`
    there. On one machine, the same seed and training set give the same adapter.
    """
    if device == "cuda" and not _has_gpu():
        raise typer.BadParameter(
            "torch finds no GPU: install a build of torch with CUDA and the driver, or train with --device cpu",
            param_hint="--device",
        )
    cache = cache or Settings().cache_dir

    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.json"
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if report.get("base", base) != base:
        raise typer.BadParameter(
            f"the run in {out} trains `{report['base']}`; choose another --out", param_hint="--base"
        )
    if not (out / "validation.jsonl").exists():
        built = build_training_set(
            _read(read_schemas, schemas), _read(read_training, questions), _read(read_held_out, held_out), out, seed
        )
        report["examples"] = asdict(built)
        _write_report(out, report)
    plan = TrainingPlan(
        device=device,
        rows=GPU_ROWS if device == "cuda" else 0,
        variants=variants,
        steps=steps,
        total_minutes=total_minutes,
        minutes=minutes,
        learning_rate=learning_rate,
        seed=seed,
    )
    tier = TIERS[base]
    report |= {"base": base, "plan": asdict(plan)}
    report["training"] = train_adapter(out, cache, tier, plan, start)
    _write_report(out, report)
    if report["training"]["progress"] >= 1:
        shutil.copy(out / tier.adapter.name, tier.adapter)
        report["evaluation"] = {str(count): _evaluate(held_out, databases, cache, base, count) for count in _CANDIDATES}
        _write_report(out, report)


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return True  # `train_adapter` says that torch is not installed.
    return bool(torch.cuda.is_available())


def _read(read: Callable[[Path], Any], path: Path) -> Any:
    try:
        return read(path)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise typer.BadParameter(f"{path} does not have the format of the training data: {error!r}") from error


def _evaluate(questions: Path, databases: Path, cache: Path, base: EmbeddedModel, candidates: int) -> dict[str, Any]:
    settings = Settings(cache_dir=cache, llm_base_url=None, llm_api_key=None, embedded_model=base)
    dataset = Dataset(read_questions(questions), databases)
    with progress_bar() as on_progress:
        evaluation = run(dataset, settings, on_progress, EmbeddedOptions(candidates=candidates))
    return {name: value for name, value in evaluation.as_json().items() if name != "unanswered"}


def _write_report(out: Path, report: dict[str, Any]) -> None:
    text = json.dumps(report, indent=2)
    (out / "report.json").write_text(text + "\n", encoding="utf-8")
    typer.echo(text)


def main() -> None:
    """Run the command; errors are printed as one line on standard error and set the exit code."""
    try:
        typer.run(train)
    except DatasphinxError as error:
        typer.echo(str(error), err=True)
        raise SystemExit(error.exit_code) from error


if __name__ == "__main__":
    main()
