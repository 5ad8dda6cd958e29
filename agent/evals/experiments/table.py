"""Experiments side by side, as a table in Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

Run = tuple[str, Mapping[str, Any]]
"""A name, and the figures that go under it."""

_SHOTS = "shots"


def table_of(runs: Sequence[Run]) -> str:
    """Return a table with a line for each of `runs`: what `docs/evaluation.md` says of the figures."""
    rounds = max(len(figures["accuracy_by_round"]) for _, figures in runs)
    titles = ["method", "n", *(f"round {number}" for number in range(rounds)), "95 % interval", "questions asked"]
    titles += ["efficiency", "perplexity", "calls", "tokens", "US dollars"]
    lines = [titles, ["---"] * len(titles), *(_line(name, figures, rounds) for name, figures in runs)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def name_of(settings: Mapping[str, Any]) -> str:
    """Return what an experiment with `settings` is called: its method, with the shots where there are any."""
    shots = settings.get(_SHOTS)
    return f"{settings['method']}, {shots}-shot" if shots else str(settings["method"])


def _line(name: str, figures: Mapping[str, Any], rounds: int) -> list[str]:
    shares = [f"{share:.2%}" for share in figures["accuracy_by_round"]]
    low, high = figures["execution_match_interval"]
    each = figures["per_question"]
    return [
        name,
        str(figures["n"]),
        *shares,
        *[""] * (rounds - len(shares)),
        f"{low:.2%} to {high:.2%}",
        str(figures["questions_asked"]),
        _shown(figures["efficiency"], ".3f"),
        _shown(figures["perplexity"]["all"], ".3f"),
        f"{each['llm_calls']:.2f}",
        f"{each['tokens']:.0f}",
        _shown(each["cost_usd"], ".5f"),
    ]


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
