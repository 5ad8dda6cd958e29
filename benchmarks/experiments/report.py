"""The report of an experiment, and the comparison of experiments."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.experiments.folder import PLOT, ExperimentFolder, read_logs, read_settings
from benchmarks.experiments.log import QuestionLog
from benchmarks.experiments.options import FAILED, MatchRule
from datasphinx.agent.charts.figure import COLOURS
from datasphinx.agent.charts.png import png_of_option
from datasphinx.agent.errors import DatasetInvalid, DriverMissing
from datasphinx.agent.evals.report import Report
from datasphinx.agent.record.step import add_costs


def figures_of(logs: Sequence[QuestionLog], rounds: int, rule: MatchRule) -> dict[str, Any]:
    """Return the metrics of `logs` with at most `rounds` rounds each; `docs/research/sphinteract.md` describes them."""
    questions_asked = sum(log.questions_asked for log in logs)
    counts = Counter(str(log.num_cq_asked) for log in logs)
    return {
        **Report([log.outcome for log in logs]).as_json(),
        "match_rule": rule.value,
        "accuracy_by_round": accuracy_by_round(logs, rounds),
        "num_cq_asked": {name: counts[name] for name in (*map(str, range(rounds + 1)), FAILED)},
        "questions_asked": questions_asked,
        "efficiency": efficiency(logs),
        "perplexity": _perplexities(logs),
        "oracle": {
            "calls": sum(log.oracle.calls for log in logs),
            "tokens": sum(log.oracle.tokens for log in logs),
            "cost_usd": add_costs(log.oracle.cost_usd for log in logs),
        },
    }


def accuracy_by_round(logs: Sequence[QuestionLog], rounds: int) -> list[float]:
    """Return the share of questions with a match after round 0, 1 and so on; a match is final."""
    matches = [[entry.number for entry in log.rounds if entry.match] for log in logs]
    match_counts = (
        sum(any(match <= number for match in numbers) for numbers in matches) for number in range(rounds + 1)
    )
    return [round(count / len(logs), 4) if logs else 0.0 for count in match_counts]


def efficiency(logs: Sequence[QuestionLog]) -> float | None:
    """Return the gain in accuracy per question asked; None without questions.

    It is (accuracy after the last round - accuracy of the first answer) / questions asked per question of the dataset:
    the number of additional matches per question that the user answered. Sphinteract (Zhao et al., VLDB 2025) reports
    the gain and the number of questions; the quotient is this project's.
    """
    questions_asked = sum(log.questions_asked for log in logs)
    additional_matches = sum(log.match and not log.rounds[0].match for log in logs if log.rounds)
    return round(additional_matches / questions_asked, 4) if questions_asked else None


def _perplexities(logs: Sequence[QuestionLog]) -> dict[str, float | None]:
    """Return the median perplexity of the last statements: of all, of matches, and of the others."""
    log_values = [(log.match, log.perplexity) for log in logs if log.perplexity is not None]
    groups = {"all": {True, False}, "right": {True}, "wrong": {False}}
    values = {name: [value for match, value in log_values if match in group] for name, group in groups.items()}
    return {name: round(median(values), 4) if values else None for name, values in values.items()}


Run = tuple[str, Mapping[str, Any]]
"""A name and its metrics."""


def table_of(runs: Sequence[Run]) -> str:
    """Return a Markdown table with a line for each of `runs`; `docs/research/sphinteract.md` describes the columns."""
    rounds = max(len(figures["accuracy_by_round"]) for _, figures in runs)
    titles = ["method", "n", *(f"round {number}" for number in range(rounds)), "95 % interval", "questions asked"]
    titles += ["efficiency", "perplexity", "calls", "tokens", "US dollars"]
    lines = [titles, ["---"] * len(titles), *(_line(name, figures, rounds) for name, figures in runs)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(name: str, figures: Mapping[str, Any], rounds: int) -> list[str]:
    shares = [f"{share:.2%}" for share in figures["accuracy_by_round"]]
    low, high = figures["execution_match_interval"]
    averages = figures["per_question"]
    return [
        name,
        str(figures["n"]),
        *shares,
        *[""] * (rounds - len(shares)),
        f"{low:.2%} to {high:.2%}",
        str(figures["questions_asked"]),
        _format_value(figures["efficiency"], ".3f"),
        _format_value(figures["perplexity"]["all"], ".3f"),
        f"{averages['llm_calls']:.2f}",
        f"{averages['tokens']:.0f}",
        _format_value(averages["cost_usd"], ".5f"),
    ]


def _format_value(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def png_of(runs: Sequence[Run]) -> bytes:
    """Return a plot of accuracy and cost as PNG, 1000 x 600 pixels, without metadata.

    The cost is in US dollars if all prices are known and not all are 0, else in tokens.

    Raises:
        DriverMissing: The extra `charts` is not installed.
    """
    names = [name for name, _ in runs]
    shares = {name: [100 * share for share in figures["accuracy_by_round"]] for name, figures in runs}
    dollars = [figures["per_question"]["cost_usd"] for _, figures in runs]
    in_dollars = None not in dollars and any(dollars)
    costs = dollars if in_dollars else [figures["per_question"]["tokens"] for _, figures in runs]
    cost = f"Cost by method, {'US dollars' if in_dollars else 'tokens'} a question"
    titles = (("Accuracy by round", "25%"), (cost, "75%"))
    option = {
        "color": list(COLOURS),
        "title": [{"text": text, "left": left, "textAlign": "center"} for text, left in titles],
        "legend": {"data": names, "bottom": 0},
        "grid": [{"left": 60, "right": "53%", "bottom": 80}, {"left": "56%", "right": 40, "bottom": 80}],
        "xAxis": [
            {"type": "category", "name": "round", "data": list(range(max(map(len, shares.values()), default=0)))},
            {"type": "category", "data": names, "gridIndex": 1},
        ],
        "yAxis": [
            {"type": "value", "name": "execution match, %", "min": 0, "max": 100},
            {"type": "value", "gridIndex": 1},
        ],
        "series": [
            *({"name": name, "type": "line", "data": values} for name, values in shares.items()),
            {
                "type": "bar",
                "colorBy": "data",
                "xAxisIndex": 1,
                "yAxisIndex": 1,
                "data": [round(cost, 5) for cost in costs],
                "label": {"show": True, "position": "top"},
            },
        ],
    }
    return png_of_option(option)


def write_report(folder: ExperimentFolder, logs: Sequence[QuestionLog]) -> tuple[dict[str, Any], str]:
    """Write pickle, report and plot into `folder`; return the report and its table.

    Without the extra `charts` there is no plot, and a line below the table reports this.
    """
    settings = read_settings(folder.path)
    figures = figures_of(logs, settings["rounds"], MatchRule(settings["match"]))
    report = {"settings": settings, **figures}
    folder.finish(logs, report)
    runs = [(settings["method"], figures)]
    try:
        (folder.path / PLOT).write_bytes(png_of(runs))
    except DriverMissing as error:
        return report, f"{table_of(runs)}\n{error}"
    return report, table_of(runs)


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Return the names and metrics of the experiments in `folders`, over their finished questions.

    Experiments with the same name are told apart by their folders.

    Raises:
        DatasetInvalid: A folder has no experiment or no finished question, or the experiments have different questions.
    """
    settings = [read_settings(path) for path in folders]
    named = Counter(each["method"] for each in settings)
    runs: list[Run] = []
    for path, own_settings in zip(folders, settings, strict=True):
        if own_settings["questions"] != settings[0]["questions"]:
            raise DatasetInvalid(str(path), f"its questions differ from those of {folders[0]}")
        logs = list(read_logs(path).values())
        if not logs:
            raise DatasetInvalid(str(path), "its experiment has no finished question")
        name = own_settings["method"]
        name = f"{name} ({path})" if named[name] > 1 else name
        runs.append((name, figures_of(logs, own_settings["rounds"], MatchRule(own_settings["match"]))))
    return runs
