"""Candidate query specs of the embedded model: validated, executed, and selected by their likelihood."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from datasphinx.agent.embedded.candidates import with_short_limits
from datasphinx.agent.embedded.constraints import QuestionConstraints
from datasphinx.agent.embedded.date_conditions import limited_spec
from datasphinx.agent.embedded.date_ranges import Days
from datasphinx.agent.embedded.selection import ExecutedCandidate, Selection, executed_candidate, is_decided, select
from datasphinx.agent.errors import PermissionDenied, QuerySpecInvalid, StatementError
from datasphinx.agent.llm.client import WrittenText
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.spec import ComparedColumns, QuerySpec, conditions, output_name, read_spec
from datasphinx.agent.record.step import note
from datasphinx.agent.sources.source import Source


@dataclass(frozen=True)
class SpecContext:
    """The dataset that candidates query, and the constraints that they have to meet."""

    dataset_id: str
    source: Source
    constraints: QuestionConstraints
    bounds: Sequence[str] = ()
    """The comparison operators that the question expresses."""
    days: Days | None = None
    """The range of dates that the question names."""


def select_spec(texts: Iterator[WrittenText], count: int, context: SpecContext) -> tuple[str, Selection[str] | None]:
    """Return the most likely spec of `texts` as JSON, and the selection; the first text if no spec can be executed.

    Of the first `count` texts, only as many are generated as the selection needs; further ones only until one has no
    violations. `datasphinx.agent.embedded.selection.select` defines the selection.
    """
    logprobs: dict[str, float | None] = {}
    executed: list[ExecutedCandidate[str]] = []
    for number, written in enumerate(texts, 1):
        if written.text not in logprobs:
            logprobs[written.text] = written.logprob
            outcome = _execute(written, context)
            executed += [outcome] if outcome else []
        if is_decided(executed, list(logprobs.values()), count - number):
            break
    selection = select(executed)
    if selection is None:
        return next((text for text in logprobs if text), ""), None
    if selection.others:
        results = 1 + len(selection.others)
        note(f"{len(executed)} candidate queries, {results} different results: selected the most likely query")
    return selection.best.candidate, selection


def _execute(written: WrittenText, context: SpecContext) -> ExecutedCandidate[str] | None:
    """Execute a spec within short limits; return None if it cannot be parsed, is invalid, or fails."""
    source = with_short_limits(context.source)
    try:
        written_spec = _with_valid_sort(read_spec(written.text))
        spec = _with_dates(written_spec, context)
        result = run(spec, Datasets(context.dataset_id, source.catalog.tables, values=source.catalog.values), source)
    except (QuerySpecInvalid, StatementError, PermissionDenied):
        return None
    lacks_dates = context.days is not None and spec is written_spec
    violations = count_violations(spec, context) + lacks_dates
    return executed_candidate(_canonical(spec), result, violations, written.logprob, ordered=bool(spec.sort))


def with_dates(text: str, context: SpecContext) -> str:
    """Return the spec in `text` with the range of dates of the question; the text itself if it is no valid spec."""
    try:
        return _canonical(_with_dates(read_spec(text), context)) if context.days else text
    except QuerySpecInvalid:
        return text


def _with_dates(spec: QuerySpec, context: SpecContext) -> QuerySpec:
    table = context.source.catalog.tables[context.dataset_id]
    return (limited_spec(spec, table, context.days) if context.days else None) or spec


def _canonical(spec: QuerySpec) -> str:
    return spec.model_dump_json(by_alias=True, exclude_unset=True, exclude_none=True)


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
    missing_values = sum(not any(name in values for name in names) for names in constraints.values)
    unsupported_values = sum(
        value.casefold() not in constraints.texts and not any(figure in value for figure in constraints.figures)
        for value in values
    )
    missing_numbers = sum(not any(figure in number for number in numbers) for figure in constraints.figures)
    compares = any(condition.op in (*context.bounds, "between") for condition in filters)
    negates = any(condition.op in ("!=", "is_null") for condition in filters)
    lacks_comparison = bool(context.bounds) and not compares
    return missing_values + unsupported_values + missing_numbers + lacks_comparison + (constraints.negates != negates)


def count_findings(text: str, context: SpecContext) -> int:
    """Return the number of signs that the spec in `text` is hardly right; 0 if it is no valid spec.

    They are a share without a ratio, and groups that a limit cuts off without an order.
    """
    try:
        spec = read_spec(text)
    except QuerySpecInvalid:
        return 0
    read = [name for aggregation in spec.aggregations for name in aggregation.cols]
    lacks_share = context.constraints.lacks_share(" ".join([*read, *(derived.expr for derived in spec.derived)]))
    return lacks_share + bool(spec.limit and spec.group_by and not spec.sort)


def _values(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else [] if isinstance(value, bool) else [value]
