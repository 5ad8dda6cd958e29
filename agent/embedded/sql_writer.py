"""Statements of the embedded model: prompt, candidates, selection."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import chain

from datasphinx.agent.embedded.candidates import Candidate, read_candidate, sample_texts, select_candidate
from datasphinx.agent.embedded.constraints import QuestionConstraints, constraints_of
from datasphinx.agent.embedded.date_conditions import contains_dates
from datasphinx.agent.embedded.date_ranges import date_range_of
from datasphinx.agent.embedded.definitions import defined_columns
from datasphinx.agent.embedded.evidence import evidence_of
from datasphinx.agent.embedded.grammar.statement import statement_grammar
from datasphinx.agent.embedded.outputs import without_rounding
from datasphinx.agent.embedded.prompts import statement_messages
from datasphinx.agent.embedded.selection import Selection
from datasphinx.agent.embedded.topic import is_improbable, mentions_source
from datasphinx.agent.examples.selection import ShownExample
from datasphinx.agent.generation.attempts import refused_sql
from datasphinx.agent.generation.definitions import relevant_knowledge
from datasphinx.agent.generation.question import Question
from datasphinx.agent.generation.writing import SqlWriter, WrittenSql
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.retrieval.linked_values import LinkedValue, coded_values, linked_values
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.compare import canonical_sql
from datasphinx.agent.types import EmbeddedOptions


@dataclass(frozen=True)
class EmbeddedSqlWriter(SqlWriter):
    """Writes statements with the embedded model: they are all that it writes, and it is not trained on examples."""

    options: EmbeddedOptions
    finds_alternatives = False
    shows_examples = False

    def write(
        self,
        question: Question,
        source: Source,
        examples: Sequence[ShownExample],
        today: date,
        *,
        approach: str = "",
        may_offer: bool = False,
    ) -> WrittenSql:
        """Return the most likely candidate. See `datasphinx.agent.generation.writing.SqlWriter.write`.

        The same texts would be written again, so one without a statement is final.
        """
        return write_statement(question, source, self.model, self.options, today)


def write_statement(
    asked: Question, source: Source, model: ModelClient, options: EmbeddedOptions, today: date
) -> WrittenSql:
    """Return the statement that the embedded model writes; its `sql` is empty if no text can be parsed."""
    question = f"{asked.text} ({'; '.join(asked.answers)})" if asked.answers else asked.text
    selection = dict(asked.columns)
    columns = [
        column
        for key, names in selection.items()
        for column in source.catalog.tables[key].columns
        if column.name in names
    ]
    dates = date_range_of(question, today) if any(map(contains_dates, columns)) else None
    values = linked_values(question, source.values, selection)
    values += coded_values(question, source.catalog, source.code_meanings(selection), source.values, selection)
    relevant = relevant_knowledge(asked.asked, source)
    question = dates.question if dates else question
    defined = defined_columns(relevant, source.catalog, selection, question)
    values += defined.values
    messages = statement_messages(
        defined.catalog,
        defined.selection,
        without_rounding(defined.question),
        values,
        today=today.isoformat(),
    )
    grammar = statement_grammar(defined.catalog, defined.selection, defined.question, values, defined.metric_kinds)
    texts = sample_texts(partial(model.write, messages), options.candidates, grammar)
    candidates: Iterator[Candidate] = (
        read_candidate(
            text,
            source,
            question=question,
            days=dates.days if dates else None,
            defined=defined,
        )
        for text in texts
    )
    constraints = constraints_of(question, values, [example for column in columns for example in column.examples])
    constraints = replace(constraints, definitions=defined.names)
    if dates:
        constraints = replace(constraints, figures=[figure for figure in constraints.figures if figure != dates.year])
    is_first = not (asked.answers or asked.rejected_sql or asked.generation)
    is_about_rows = values or constraints.figures or (dates and dates.is_period)
    if is_first and not is_about_rows and not mentions_source(asked.text, source, selection, relevant):
        first = next(candidates)
        if is_improbable(first, source):
            return WrittenSql(is_off_topic=True, is_final=True)
        candidates = chain([first], candidates)
    if options.candidates == 1 or asked.sql_only:
        # Several candidates are compared by their results.
        return _written(next(candidates), constraints, values, None, source)
    rejected = [canonical_sql(sql, source.catalog.dialect) for sql in asked.rejected_sql]
    refused = {*refused_sql(asked.attempts, source.catalog.dialect), *rejected}
    candidate, compared = select_candidate(candidates, options.candidates, source, refused, constraints)
    return _written(candidate, constraints, values, compared, source)


def _written(
    candidate: Candidate,
    constraints: QuestionConstraints,
    values: Sequence[LinkedValue],
    compared: Selection[Candidate] | None,
    source: Source,
) -> WrittenSql:
    """Return `candidate` with the evidence for and against it, and the statements with other rows if compared."""
    violations = candidate.count_violations(constraints)
    evidence = evidence_of(candidate.compact, candidate.logprob, violations, values, compared)
    if candidate.sql:
        is_incomplete = candidate.lacks_dates or constraints.lacks_share(candidate.compact)
        evidence["findings"] = len(source.warnings_about(candidate.sql)) + is_incomplete
    rivals = [other.candidate.sql for other in compared.others if other.gives_rows] if compared else []
    if rivals:
        evidence["rivals"] = rivals
    return WrittenSql(
        candidate.sql,
        candidate.repairs,
        candidate.problem,
        is_final=not candidate.sql,
        readings=(candidate.sql, *rivals) if compared else (),
        evidence=evidence,
    )
