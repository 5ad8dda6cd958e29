"""What an experiment comes to, and how experiments compare."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.errors import DatasetInvalid, DriverMissing
from agent.evals.experiments.figures import figures_of
from agent.evals.experiments.folder import PLOT, ExperimentFolder, read_logs, read_settings
from agent.evals.experiments.log import QuestionLog
from agent.evals.experiments.plot import png_of
from agent.evals.experiments.table import Run, name_of, table_of
from agent.evals.match_rule import MatchRule


def finished(
    folder: ExperimentFolder, logs: Sequence[QuestionLog], more: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], str]:
    """Write pickle, report, with what there is `more` of it, and plot into `folder`; return the report and its table.

    Without the extra `charts` there is no plot, and the line below the table says so.
    """
    settings = read_settings(folder.path)
    figures = figures_of(logs, settings["rounds"], MatchRule(settings["match"]))
    report = {"settings": settings, **figures, **(more or {})}
    folder.finish(logs, report)
    runs = [(name_of(settings), figures)]
    try:
        (folder.path / PLOT).write_bytes(png_of(runs))
    except DriverMissing as error:
        return report, f"{table_of(runs)}\n{error}"
    return report, table_of(runs)


def compared(folders: Sequence[Path]) -> list[Run]:
    """Return name and figures of the experiments in `folders`, of what is done in each.

    Raises:
        DatasetInvalid: one of them has none, or has no question that is done; or their questions are not the same.
    """
    settings = [read_settings(path) for path in folders]
    runs: list[Run] = []
    for path, each in zip(folders, settings, strict=True):
        if each["questions"] != settings[0]["questions"]:
            raise DatasetInvalid(str(path), f"its questions are not those of {folders[0]}")
        logs = list(read_logs(path).values())
        if not logs:
            raise DatasetInvalid(str(path), "no question of its experiment is done")
        runs.append((name_of(each), figures_of(logs, each["rounds"], MatchRule(each["match"]))))
    return runs
