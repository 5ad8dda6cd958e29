"""Candidate query specs of the embedded model: validated, executed, and selected by a vote over their results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.embedded.candidates import with_short_limits
from agent.embedded.constraints import QuestionConstraints
from agent.embedded.voting import ExecutedCandidate, executed_candidate, is_decided, winners
from agent.errors import PermissionDenied, QuerySpecInvalid, StatementError
from agent.queryspec.columns import Datasets
from agent.queryspec.compile import run
from agent.queryspec.spec import ComparedColumns, QuerySpec, conditions, output_name, read_spec
from agent.record.step import note
from agent.sources.source import Source


@dataclass(frozen=True)
class SpecContext:
    """The dataset that candidates query, and the constraints that they have to meet."""

    dataset_id: str
    source: Source
    constraints: QuestionConstraints
    bounds: Sequence[str] = ()
    """The comparison operators that the question expresses."""


def choose_spec(texts: Iterator[str], count: int, context: SpecContext) -> str:
    """Return the spec whose result most of `texts` share, as JSON; the first text if no spec can be executed.

    Of the first `count` texts, only as many are generated as the vote needs; further ones only until one has no
    violations. `agent.embedded.voting.winners` defines the vote.

    Raises:
        Terminal: an error that concerns every statement: the connection, a cancellation.
    """
    votes: list[ExecutedCandidate[str]] = []
    executed: dict[str, ExecutedCandidate[str] | None] = {}
    first = ""
    for number, text in enumerate(texts, 1):
        first = first or text
        if text not in executed:
            executed[text] = _execute(text, context)
        vote = executed[text]
        votes += [vote] if vote else []
        if is_decided(votes, count - number):
            break
    winning = winners(votes)
    if not winning:
        return first
    note(f"{len(winning)} of {number} candidate queries agree on the result")
    return winning[0].candidate


def _execute(text: str, context: SpecContext) -> ExecutedCandidate[str] | None:
    """Execute a spec within short limits; return None if it cannot be parsed, is invalid, or fails."""
    source = with_short_limits(context.source)
    try:
        spec = _with_valid_sort(read_spec(text))
        result = run(spec, Datasets(context.dataset_id, source.catalog.tables), source)
    except (QuerySpecInvalid, StatementError, PermissionDenied):
        return None
    canonical = spec.model_dump_json(by_alias=True, exclude_unset=True, exclude_none=True)
    return executed_candidate(canonical, result, count_violations(spec, context), ordered=bool(spec.sort))


def _with_valid_sort(spec: QuerySpec) -> QuerySpec:
    """Return `spec`; if it is sorted by a column that its result lacks, sorted by its only aggregation instead."""
    names = {aggregation.name for aggregation in spec.aggregations}
    outputs = names | {output_name(group) for group in spec.group_by}
    if len(names) != 1 or len(spec.sort) != 1 or spec.sort[0].by in outputs:
        return spec
    return spec.model_copy(update={"sort": [spec.sort[0].model_copy(update={"by": names.pop()})]})


def count_violations(spec: QuerySpec, context: SpecContext) -> int:
    """Return the number of constraints that `spec` violates, including unsupported filter values."""
    constraints = context.constraints
    filters = list(conditions(spec.filters))
    compared = [condition for condition in filters if not isinstance(condition, ComparedColumns)]
    values = [str(value) for condition in compared for value in _values(condition.value)]
    numbers = [*values, *([str(spec.limit)] if spec.limit else [])]
    lacks_value = bool(constraints.values) and not any(value in values for value in constraints.values)
    unsupported_values = sum(
        value.casefold() not in constraints.texts and not any(figure in value for figure in constraints.figures)
        for value in values
    )
    missing_numbers = sum(not any(figure in number for number in numbers) for figure in constraints.figures)
    compares = any(condition.op in (*context.bounds, "between") for condition in filters)
    negates = any(condition.op in ("!=", "is_null") for condition in filters)
    lacks_comparison = bool(context.bounds) and not compares
    return lacks_value + unsupported_values + missing_numbers + lacks_comparison + (constraints.negates != negates)


def _values(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [] if isinstance(value, bool) else [value]
