"""The business knowledge about a question: its part of the prompts, and whether a statement follows it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlglot import exp

from datasphinx.agent.knowledge.knowledge import Item
from datasphinx.agent.knowledge.prompt import definition_text, knowledge_paragraphs
from datasphinx.agent.knowledge.references import Definition
from datasphinx.agent.knowledge.source_knowledge import NamedDefinition, RelevantKnowledge
from datasphinx.agent.knowledge.usage import StatementForms, Usage, joins_among
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.summary import summarize_query
from datasphinx.agent.types import AppliedDefinition, QueryCondition

_MAX_CHARS = 500


class Asked(NamedTuple):
    """A question, and the answers of the user about it."""

    question: str
    answers: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The question and the answers."""
        return self.question, *self.answers


def relevant_knowledge(asked: Asked, source: Source) -> RelevantKnowledge:
    """Return the entries that the question and the answers about it refer to."""
    if not source.knowledge.knowledge.hash:
        return RelevantKnowledge()
    return source.memoized(("knowledge", *asked), lambda: source.knowledge.relevant(*asked))


def definitions_of(asked: Asked, selection: Mapping[str, list[str]], source: Source) -> list[str]:
    """Return the paragraphs of a prompt about the business knowledge that the question refers to."""
    return knowledge_paragraphs(relevant_knowledge(asked, source), source.knowledge, selection)


def names_metric(asked: Asked, source: Source) -> bool:
    """Return whether the question names a declared metric, so that its statement may be made of the definition."""
    return any(named.item.kind == "metric" for named in relevant_knowledge(asked, source).definitions)


def departures(asked: Asked, source: Source, sql: str) -> list[str]:
    """Return where `sql` departs from the definitions that the question names, and its forbidden joins."""
    found = [_departure(named, usage) for named, usage in _usages(asked, source, sql) if not usage.is_complete]
    forbidden = source.knowledge.forbidden_joins
    joins = joins_among(sql, source.catalog, forbidden) if forbidden else []
    return [*found, *(f"it joins {join}, which the business definitions forbid" for join in joins)]


def unused_definitions(asked: Asked, source: Source, sql: str) -> list[str]:
    """Return the names of the terms and metrics of the question whose definitions `sql` does not follow."""
    return [named.item.name for named, usage in _usages(asked, source, sql) if not usage.is_complete]


def applied_definitions(asked: Asked, source: Source, sql: str) -> list[AppliedDefinition]:
    """Return the terms, metrics and names of codes of the question that `sql` uses, with their places.

    A term without SQL counts as used, since the prompt has its text.
    """
    forms, relevant = StatementForms(sql, source.catalog), relevant_knowledge(asked, source)
    used = [named for named, usage in _usages(asked, source, sql) if usage.is_complete]
    applied = [
        AppliedDefinition(
            name=named.item.name,
            kind=named.item.kind,
            definition=named.entry.definition or definition_text(named),
            place=str(named.item.place),
        )
        for named in [*used, *(each for each in relevant.definitions if not each.definition)]
    ]
    for phrase, item, code in _codes(relevant):
        table, _, column = item.name.rpartition(".")
        if forms.compares(table, column, code):
            definition = f"{item.name} = '{code}'"
            label = AppliedDefinition(name=phrase, kind="label", definition=definition, place=str(item.place))
            applied.append(label)
    return applied


def defined_conditions(asked: Asked, source: Source, sql: str) -> list[QueryCondition]:
    """Return the conditions of `sql` that follow from the definitions and names of codes that it uses."""
    catalog, relevant = source.catalog, relevant_knowledge(asked, source)
    definitions = [
        named.definition for named, usage in _usages(asked, source, sql) if usage.is_complete and named.definition
    ]
    for _, item, code in _codes(relevant):
        table, _, column = item.name.rpartition(".")
        key = catalog.key_of(table)
        if key is not None:
            compared = exp.EQ(this=exp.column(column, quoted=True), expression=exp.Literal.string(code))
            definitions.append(Definition(None, (compared,), (key,)))
    return [
        condition
        for definition in definitions
        for condition in summarize_query(definition.statement(catalog), catalog)["conditions"]
    ]


def _codes(relevant: RelevantKnowledge) -> Iterator[tuple[str, Item, str]]:
    """Yield the phrases of the question that name codes, each with the entry of the column and the code."""
    for match in relevant.mentions:
        yield from ((match.phrase, name.item, name.code) for name in match.names if name.code is not None)


def _usages(asked: Asked, source: Source, sql: str) -> tuple[tuple[NamedDefinition, Usage], ...]:
    """Return the terms and metrics with SQL that the question names, with their use by `sql`.

    Of several entries with the same name, those that the statement follows are returned, or none.
    """
    relevant = relevant_knowledge(asked, source)
    if not relevant.definitions and not relevant.ambiguous_words:
        return ()

    def compare() -> Iterator[tuple[NamedDefinition, Usage]]:
        forms = StatementForms(sql, source.catalog)
        if not forms.is_resolved:
            return
        for named in relevant.definitions:
            if named.definition:
                yield named, forms.usage(named.definition)
        for word in relevant.ambiguous_words:
            for item in word.items:
                named = source.knowledge.named_definition(item)
                if named.definition and (usage := forms.usage(named.definition)).is_complete:
                    yield named, usage

    return source.memoized(("usages", *asked, sql), lambda: tuple(compare()))


def _departure(named: NamedDefinition, usage: Usage) -> str:
    missing = ([] if usage.has_expression else [f"the expression {named.entry.expression}"]) + [
        f"the condition {condition}" for condition in usage.missing
    ]
    parts = [f"the query does not have {' and '.join(missing)}"] if missing else []
    if usage.groups:
        parts.append(f"the query groups it by {' and '.join(usage.groups)}, which is not among its dimensions")
    if usage.is_added:
        parts.append("the query adds its values, which must be computed from the rows instead")
    name = f"the {named.item.kind} {named.item.name!r}"
    return one_line(f"the question names {name}, but {', and '.join(parts)}", _MAX_CHARS)
