"""The part of a prompt with the entries that a question refers to."""

from collections.abc import Collection, Iterator
from itertools import islice

from datasphinx.agent.knowledge.entries import CalendarEntry, ForbiddenJoinEntry, JoinEntry, MetricEntry
from datasphinx.agent.knowledge.knowledge import Item, Kind
from datasphinx.agent.knowledge.references import Unresolved, column_or_none, find_column_or_table
from datasphinx.agent.knowledge.source_knowledge import NamedDefinition, RelevantKnowledge, SourceKnowledge
from datasphinx.agent.schema.describe import one_line

_MAX_CHARS = 400
_MAX_METRICS = 40


def knowledge_paragraphs(
    relevant: RelevantKnowledge, knowledge: SourceKnowledge, selection: Collection[str]
) -> list[str]:
    """Return the paragraphs of a prompt about a question on the tables `selection`; none without entries for it."""
    lines = [*_definitions(relevant, knowledge), *_names(relevant), *_joins(knowledge, selection)]
    paragraphs = []
    if lines:
        heading = "What the business means by words of the question:"
        paragraphs.append("\n".join([heading, *(f"- {line}" for line in lines)]))
    calendar = knowledge.knowledge.calendar
    if calendar and (facts := list(_calendar(calendar))):
        paragraphs.append(f"Calendar: {'; '.join(facts)}.")
    return paragraphs


def knowledge_text(knowledge: SourceKnowledge, tables: Collection[str]) -> str:
    """Return all valid entries that concern only the tables `tables`, one a line; descriptions are in the catalog."""
    lines = [*_definitions_on("metric", knowledge, tables), *_definitions_on("term", knowledge, tables)]
    lines += _joins(knowledge, tables)
    calendar = knowledge.knowledge.calendar
    lines += _calendar(calendar) if calendar else ()
    lines += knowledge.knowledge.instructions.splitlines()
    return "\n".join(f"- {line}" for line in lines)


def metrics_paragraph(knowledge: SourceKnowledge, tables: Collection[str]) -> list[str]:
    """Return the paragraph of a prompt with the metrics on `tables`, which the words of a request may only hint at."""
    lines = islice(_definitions_on("metric", knowledge, tables), _MAX_METRICS)
    text = "\n".join(f"- {line}" for line in lines)
    return [f"Metrics of the business; a question that means one names it:\n{text}"] if text else []


def definition_text(named: NamedDefinition) -> str:
    """Return what a term or metric means in one line: its expression, conditions and further facts.

    The SQL is that of the file; only a long text is cut.
    """
    entry = named.entry
    parts = [entry.expression or ""]
    conditions = entry.filters if isinstance(entry, MetricEntry) else tuple(filter(None, [entry.condition]))
    if conditions:
        text = " AND ".join(conditions)
        parts.append(f"only rows with {text}" if entry.expression else f"the condition {text}")
    if isinstance(entry, MetricEntry):
        parts += _metric_facts(entry)
    lines = [*(one_line(part, len(part)) for part in parts), one_line(entry.definition or "", 2 * _MAX_CHARS)]
    return "; ".join(filter(None, lines))


def _metric_facts(entry: MetricEntry) -> Iterator[str]:
    if entry.date_column:
        yield f"dated by {entry.date_column}"
    if entry.unit:
        yield f"in {entry.unit}"
    if entry.dimensions:
        yield f"may be grouped by {', '.join(entry.dimensions)} and its date only"
    if entry.additivity != "additive":
        yield f"{entry.additivity}: values of groups or periods must not be added"


def _definitions_on(kind: Kind, knowledge: SourceKnowledge, tables: Collection[str]) -> Iterator[str]:
    """Yield the valid entries of a kind that concern only `tables`."""
    for item in knowledge.knowledge.of_kind(kind):
        named = knowledge.named_definition(item) if knowledge.is_valid(item) else None
        if named and set(named.definition.tables if named.definition else ()) <= set(tables):
            yield _definition(item.name, named)


def _definitions(relevant: RelevantKnowledge, knowledge: SourceKnowledge) -> Iterator[str]:
    for named in relevant.definitions:
        yield _definition(named.phrase, named)
    for word in relevant.ambiguous_words:
        for item in word.items:
            yield _definition(word.phrase, knowledge.named_definition(item))


def _definition(phrase: str, named: NamedDefinition) -> str:
    name = named.item.name
    also = "" if phrase.casefold() == name.casefold() else f" ({one_line(phrase)!r})"
    return f"{named.item.kind} {one_line(name)!r}{also}: {definition_text(named)}"


def _names(relevant: RelevantKnowledge) -> Iterator[str]:
    for match in relevant.mentions:
        tables = [name.item.name for name in match.names if name.item.kind == "table"]
        columns = [name.item.name for name in match.names if name.item.kind == "column" and name.code is None]
        if tables or columns:
            kinds = [*(f"the table {name}" for name in tables), *(f"the column {name}" for name in columns)]
            yield f"{one_line(match.phrase)!r} means {' or '.join(kinds)}"


def _joins(knowledge: SourceKnowledge, selection: Collection[str]) -> Iterator[str]:
    """Yield the joins between selected tables that foreign keys cannot express: forbidden ones, and many to many."""
    catalog, shown = knowledge.catalog, set(selection)
    for _, entry in knowledge.knowledge.entries(ForbiddenJoinEntry):
        try:
            ends = find_column_or_table(entry.source, catalog), find_column_or_table(entry.target, catalog)
        except Unresolved:
            continue
        if {table for table, _ in ends} <= shown:
            reason = f": {one_line(entry.reason, _MAX_CHARS)}" if entry.reason else ""
            yield f"do not join {entry.source} with {entry.target}{reason}"
    for _, join in knowledge.knowledge.entries(JoinEntry):
        columns = [column_or_none(name, catalog) for name in (*join.source, *join.target)]
        if all(each and each[0] in shown for each in columns) and (
            join.cardinality == "many-to-many" or join.description
        ):
            pairs = " and ".join(f"{a} = {b}" for a, b in zip(join.source, join.target, strict=False))
            text = f": {one_line(join.description, _MAX_CHARS)}" if join.description else ""
            yield f"join {pairs} ({join.cardinality}){text}"


def _calendar(calendar: CalendarEntry) -> Iterator[str]:
    if calendar.fiscal_year_start:
        from babel.dates import get_month_names

        named = f" and is named after the calendar year in which it {calendar.fiscal_year_name}s"
        begin = f"the fiscal year begins in {get_month_names(locale='en')[calendar.fiscal_year_start]}"
        yield f"{begin}{named if calendar.fiscal_year_name else ''}"
    if calendar.week_start:
        yield f"weeks begin on {calendar.week_start.capitalize()}"
    if calendar.default_period:
        yield f"a question that names no period means {one_line(calendar.default_period, _MAX_CHARS)}"


def shown_entries(relevant: RelevantKnowledge) -> list[Item]:
    """Return the entries that a question refers to, in the order of its words."""
    items: dict[Item, None] = {}
    for named in relevant.definitions:
        items[named.item] = None
    for word in relevant.ambiguous_words:
        items |= dict.fromkeys(word.items)
    for match in relevant.mentions:
        items |= dict.fromkeys(match.items)
    return list(items)
