"""Experiments side by side, as a picture: accuracy by round, and what a question costs by method."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from agent.errors import DriverMissing
from agent.evals.experiments.table import Run


def png_of(runs: Sequence[Run]) -> bytes:
    """Return the PNG, 1200 x 500 pixels, without metadata.

    The cost is US dollars where all prices are known and one is above 0, else tokens.

    Raises:
        DriverMissing: the extra `charts` is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise DriverMissing(error.name or "matplotlib", "charts") from error
    canvas = Figure(figsize=(12, 5), dpi=100, layout="constrained")
    by_round, by_method = canvas.subplots(1, 2)
    _draw_rounds(by_round, runs)
    _draw_costs(by_method, runs)
    data = BytesIO()
    canvas.savefig(data, format="png", metadata={"Software": None})
    return data.getvalue()


def _draw_rounds(axes: Any, runs: Sequence[Run]) -> None:
    for name, figures in runs:
        shares = [100 * share for share in figures["accuracy_by_round"]]
        axes.plot(range(len(shares)), shares, marker="o", label=name)
    axes.set(title="Accuracy by round", xlabel="round", ylabel="execution match, %", ylim=(0, 100))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="best", fontsize=8)


def _draw_costs(axes: Any, runs: Sequence[Run]) -> None:
    dollars = [figures["per_question"]["cost_usd"] for _, figures in runs]
    in_dollars = None not in dollars and any(dollars)
    costs = dollars if in_dollars else [figures["per_question"]["tokens"] for _, figures in runs]
    unit = "US dollars" if in_dollars else "tokens"
    bars = axes.bar([name for name, _ in runs], costs, color=[f"C{number % 10}" for number in range(len(runs))])
    axes.bar_label(bars, fmt="%.5f" if in_dollars else "%.0f", fontsize=8)
    axes.tick_params(axis="x", labelrotation=15)
    axes.set(title="Cost by method", ylabel=f"{unit} a question")
