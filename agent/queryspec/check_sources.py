"""Check what a spec reads: its dataset, earlier results, and the parts of a union."""

from collections import Counter
from collections.abc import Iterator

from datasphinx.agent.errors import SpecProblem
from datasphinx.agent.messages import Message
from datasphinx.agent.queryspec.columns import Datasets, main_name, sources_of, united_columns
from datasphinx.agent.queryspec.spec import QuerySpec, Union, nearest

MAX_RESULTS = 12
"""Maximum number of earlier results that a spec reads."""
_SHOWN_NAMES = 12


def check_sources(spec: QuerySpec, datasets: Datasets) -> Iterator[SpecProblem]:
    """Yield the problems of the main dataset, without which nothing else can be checked."""
    if len(results_read(spec, datasets)) > MAX_RESULTS:
        yield SpecProblem("from", f"it reads more than {MAX_RESULTS} earlier results, directly or through others")
    yield from unknown_sources(spec, datasets)
    for path, name in _named_sources(spec, datasets):
        if name in datasets.results and name in all_sources(datasets.results[name], datasets):
            yield SpecProblem(path, f"the result {name} depends on itself")
    if isinstance(spec.source, Union):
        yield from _union(spec.source, datasets)


def unknown_sources(spec: QuerySpec, datasets: Datasets) -> Iterator[SpecProblem]:
    """Yield a problem for each table or result that `spec` reads and that does not exist, with those that do."""
    joined = [(f"joins[{index}].dataset", join.dataset) for index, join in enumerate(spec.joins)]
    for path, name in [*_named_sources(spec, datasets), *joined]:
        if name not in datasets.names:
            names = tuple(dict.fromkeys([*nearest(name, datasets.names), *datasets.names]))[:_SHOWN_NAMES]
            yield SpecProblem(path, f"there is no dataset or result {name}", names)


def _named_sources(spec: QuerySpec, datasets: Datasets) -> list[tuple[str, str]]:
    """Return path and name of the main dataset, or of each part of the union."""
    if isinstance(spec.source, Union):
        return [(f"from.union[{index}].from", part.source) for index, part in enumerate(spec.source.parts)]
    return [("from", main_name(spec, datasets))]


def _union(union: Union, datasets: Datasets) -> Iterator[SpecProblem]:
    labels = Counter(part.name or part.source for part in union.parts)
    for index, part in enumerate(union.parts):
        if labels[part.name or part.source] > 1:
            text = f"two parts are called {part.name or part.source}: give each its own name with as"
            yield SpecProblem(f"from.union[{index}].as", text)
    if any(part.source not in datasets.names for part in union.parts):
        return
    names = {name.casefold() for part in union.parts for name in datasets.relation(part.source).column_names}
    if union.label.casefold() in names:
        yield SpecProblem("from.label", f"the parts have a column {union.label}: choose another label")


def union_notes(spec: QuerySpec, datasets: Datasets) -> list[Message]:
    """Return a note for each part of a union that lacks columns, and one for columns that become text."""
    if not isinstance(spec.source, Union):
        return []
    columns, notes = united_columns(spec.source, datasets), []
    for at, part in enumerate(spec.source.parts):
        if missing := [united.column.name for united in columns if united.parts[at] is None]:
            name = part.name or part.source
            notes.append(Message("union_part_lacks", part=name, columns=", ".join(missing[:_SHOWN_NAMES])))
    texts = [
        united.column.name
        for united in columns
        if united.column.type_class == "text" and len({part.type_class for part in united.parts if part}) > 1
    ]
    return [*notes, Message("union_as_text", columns=", ".join(texts[:_SHOWN_NAMES]))] if texts else notes


def all_sources(spec: QuerySpec, datasets: Datasets) -> list[str]:
    """Return the datasets and results that `spec` reads, directly or through results."""
    found: dict[str, None] = {}
    todo = [spec]
    while todo:
        new = [name for name in sources_of(todo.pop(), datasets) if name not in found]
        found |= dict.fromkeys(new)
        todo += [datasets.results[name] for name in new if name in datasets.results]
    return list(found)


def results_read(spec: QuerySpec, datasets: Datasets) -> list[str]:
    """Return the results that `spec` reads, directly or through others."""
    return [name for name in all_sources(spec, datasets) if name in datasets.results]
