"""Makes the training set, trains the adapter, writes it as GGUF, and measures it: `python -m agent.models.training`."""

import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from agent.evals.report import progress_bar
from agent.evals.run import run
from agent.models.embedded import EmbeddedOptions
from agent.models.local import ADAPTER
from agent.models.training.build import build_training_set
from agent.models.training.spider import read_held_out, read_schemas, read_training
from agent.settings import Settings

_MOST_TOKENS = 1200
"""In one pack; with the gradients a CPU needs about 5 GB for it."""
_VALIDATION_PACKS = 8
_CANDIDATES = (1, 3, 5)


def main(
    schemas: Annotated[Path, typer.Option(help="Spider's tables.json, or the same gzipped.")],
    questions: Annotated[Path, typer.Option(help="Training questions: id, db_id, question, sql on each line.")],
    held_out: Annotated[Path, typer.Option(help="Questions to measure on: neither they nor their databases train.")],
    databases: Annotated[Path, typer.Option(help="SQLite files of the questions to measure on, named by db_id.")],
    out: Annotated[Path, typer.Option(help="Folder of the training set, the checkpoints, the report and the adapter.")],
    cache: Annotated[Path, typer.Option(help="Folder where the base model's weights are kept.")] = Path(".cache"),
    steps: Annotated[int, typer.Option(help="Steps in all, those of earlier runs counted in.")] = 1000,
    minutes: Annotated[float | None, typer.Option(help="Stop after so long; the next run goes on from there.")] = None,
    learning_rate: Annotated[float, typer.Option(help="The highest.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Of rows, questions, their order and the adapter's first weights.")] = 0,
) -> None:
    """Train the embedded model's adapter; once all steps are done, put it into the package and measure it.

    Run again with the same folder, it goes on where it stopped. Every figure goes to `report.json` and
    `training.jsonl` there. Same seed, same training set and same machine give the same adapter.
    """
    from agent.models.training.train import TrainingPlan

    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.json"
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not (out / "validation.jsonl").exists():
        built = build_training_set(read_schemas(schemas), read_training(questions), read_held_out(held_out), out, seed)
        report["examples"] = asdict(built)
        _say(out, report)
    plan = TrainingPlan(steps=steps, minutes=minutes, learning_rate=learning_rate, seed=seed)
    report["plan"] = asdict(plan)
    report["training"] = _train(out, cache, plan)
    _say(out, report)
    if report["training"]["step"] == steps:
        shutil.copy(out / ADAPTER.name, ADAPTER)
        report["evaluation"] = {str(count): _evaluate(held_out, databases, cache, count) for count in _CANDIDATES}
        _say(out, report)


def _train(out: Path, cache: Path, plan: Any) -> dict[str, float]:
    from agent.models.training.augment import augmented
    from agent.models.training.base import load_base
    from agent.models.training.export import export_adapter
    from agent.models.training.groups import Group, read_groups
    from agent.models.training.packing import Pack, packs_of
    from agent.models.training.train import best_adapter, train

    model, tokenizer = load_base(cache)

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def packed(groups: Iterable[Group]) -> list[Pack]:
        return [pack for group in groups for pack in packs_of(group, encode, _MOST_TOKENS)]

    rng = Random(plan.seed)
    groups = read_groups(out / "training.jsonl")
    training = packed(groups) + packed(augmented(group, rng) for group in groups)
    validation = packed(read_groups(out / "validation.jsonl"))
    config = model.config
    figures = train(model, training, validation[:: max(1, len(validation) // _VALIDATION_PACKS)], out, plan)
    export_adapter(
        best_adapter(out),
        out / "datasphinx-sql.gguf",
        scale=plan.scale,
        heads=config.num_attention_heads,
        key_heads=config.num_key_value_heads,
    )
    return figures | {"training_tokens": sum(len(pack.tokens) for pack in training)}


def _evaluate(questions: Path, databases: Path, cache: Path, candidates: int) -> dict[str, Any]:
    settings = Settings(cache_dir=cache, llm_base_url=None, llm_api_key=None)
    with progress_bar() as on_progress:
        found = run(questions, databases, None, settings, on_progress, EmbeddedOptions(candidates=candidates))
    return {name: value for name, value in found.as_json().items() if name != "unanswered"}


def _say(out: Path, report: dict[str, Any]) -> None:
    text = json.dumps(report, indent=2)
    (out / "report.json").write_text(text + "\n", encoding="utf-8")
    typer.echo(text)


if __name__ == "__main__":
    typer.run(main)
