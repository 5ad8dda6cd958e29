"""Query specs of the embedded model for one question: each is checked and run, and the results vote."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.audit.step import note
from agent.candidates import with_short_limits
from agent.catalog.source import Source
from agent.errors import PermissionDenied, QuerySpecInvalid, StatementError
from agent.queryspec.datasets import Datasets
from agent.queryspec.problems import read_spec
from agent.queryspec.run import run
from agent.queryspec.spec import QuerySpec, output_name
from agent.said import Said
from agent.vote import Ballot, ballot_of, is_decided, winners


@dataclass(frozen=True)
class Asked:
    """What candidates are held against: the dataset in its source, and what the question says."""

    dataset_id: str
    source: Source
    said: Said
    bounds: Sequence[str] = ()
    """The operators by which the question compares values with others."""


def choose_spec(texts: Iterator[str], count: int, asked: Asked) -> str:
    """Return the spec whose result most of `texts` have, as JSON; the first text where none can be run.

    Of the first `count` no more are taken than it takes to decide, and of those behind them only until nothing speaks
    against one. What speaks against one is said in `agent.vote.winners`.

    Raises:
        Terminal: what stops every statement: the connection, a cancellation.
    """
    ballots: list[Ballot[str]] = []
    found: dict[str, Ballot[str] | None] = {}
    first = ""
    for number, text in enumerate(texts, 1):
        first = first or text
        if text not in found:
            found[text] = _cast(text, asked)
        ballot = found[text]
        ballots += [ballot] if ballot else []
        if is_decided(ballots, count - number):
            break
    agreeing = winners(ballots)
    if not agreeing:
        return first
    note(f"{len(agreeing)} of {number} candidate queries agree on the result")
    return agreeing[0].candidate


def _cast(text: str, asked: Asked) -> Ballot[str] | None:
    """Return what the spec finds within short limits; None where it cannot be read, does not fit, or does not run."""
    source = with_short_limits(asked.source)
    try:
        spec = _sorted_by_its_figure(read_spec(text))
        result = run(spec, Datasets(asked.dataset_id, source.catalog.tables), source)
    except (QuerySpecInvalid, StatementError, PermissionDenied):
        return None
    written = spec.model_dump_json(by_alias=True, exclude_unset=True, exclude_none=True)
    return ballot_of(written, result, left_out(spec, asked), ordered=bool(spec.sort))


def _sorted_by_its_figure(spec: QuerySpec) -> QuerySpec:
    """Return `spec`, sorted by its one figure where it is sorted by something that its result does not have."""
    names = {each.name for each in spec.aggregations}
    known = names | {output_name(group) for group in spec.group_by}
    if len(names) != 1 or len(spec.sort) != 1 or spec.sort[0].by in known:
        return spec
    return spec.model_copy(update={"sort": [spec.sort[0].model_copy(update={"by": names.pop()})]})


def left_out(spec: QuerySpec, asked: Asked) -> int:
    """Return how much of what the question says `spec` leaves out, with the values that stand there for no reason."""
    said = asked.said
    values = [str(value) for condition in spec.filters for value in _values(condition.value)]
    numbers = [*values, *([str(spec.limit)] if spec.limit else [])]
    lacks_value = bool(said.values) and not any(value in values for value in said.values)
    made_up = sum(not _is_said(value, said) for value in values)
    missing = sum(not any(figure in number for number in numbers) for figure in said.figures)
    compares = any(condition.op in (*asked.bounds, "between") for condition in spec.filters)
    negates = any(condition.op in ("!=", "is_null") for condition in spec.filters)
    return lacks_value + made_up + missing + (bool(asked.bounds) and not compares) + (said.negates != negates)


def _values(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [] if isinstance(value, bool) else [value]


def _is_said(value: str, said: Said) -> bool:
    return value.casefold() in said.texts or any(figure in value for figure in said.figures)
