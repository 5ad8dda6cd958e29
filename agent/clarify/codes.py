"""Stored codes that nothing explains: which one a question means, and the knowledge that its answer is."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from sqlglot import exp

from datasphinx.agent.clarify.review import Reading, compare_readings
from datasphinx.agent.generation.question import Question
from datasphinx.agent.llm.schemas import ReadingOption
from datasphinx.agent.messages import CONVENTIONS, render
from datasphinx.agent.retrieval.synonyms import concepts
from datasphinx.agent.schema.catalog import Catalog, Column
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.words import han_runs, is_data_word, is_function_word, readable, words
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import parse
from datasphinx.agent.sql.names import resolved_query
from datasphinx.agent.types import ClarifyingQuestion

_MAX_CODES, _MAX_CODE_CHARS = 12, 4
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")


@dataclass(frozen=True)
class UnexplainedCode:
    """A code that a statement compares a column with, though neither the question nor the schema says what it means."""

    table: str
    """The key of the table."""
    column: str
    code: str
    codes: tuple[str, ...]
    """All codes of the column, this one first."""
    phrase: str | None
    """The only words of the question that name nothing else, and so may mean the code; None if there are several."""

    @property
    def condition(self) -> str:
        """The SQL condition that the code is meant."""
        column = exp.column(self.column, self.table, quoted=not re.fullmatch(r"\w+", self.column))
        return exp.EQ(this=column, expression=exp.Literal.string(self.code)).sql()

    def options(self, sql: str, dialect: str) -> list[ReadingOption]:
        """Return the codes as options, each with the statement `sql` in which it stands for this one."""
        return [ReadingOption(label=code, reading=code, sql=self._with(code, sql, dialect)) for code in self.codes]

    def _with(self, code: str, sql: str, dialect: str) -> str:
        (tree,) = parse(sql, dialect)
        for node in tree.find_all(exp.EQ):
            column, literal = node.this, node.expression
            is_meant = isinstance(column, exp.Column) and column.name.lower() == self.column.lower()
            if is_meant and isinstance(literal, exp.Literal) and literal.name == self.code:
                literal.replace(exp.Literal.string(code))
        return print_statement(tree, dialect)


def code_question(
    question: Question, statements: Iterable[str], source: Source
) -> tuple[ClarifyingQuestion, list[Reading]] | None:
    """Return the question which code is meant, for the first of `statements` with an unexplained one, and its readings.

    None if there is none, or if the codes do not differ in their results.
    """
    found = ((sql, unexplained_code(sql, question.text, source)) for sql in statements)
    sql, code = next(((sql, code) for sql, code in found if code), ("", None))
    if code is None:
        return None
    language = question.language
    text = render(
        "unexplained_code",
        language,
        column=f"{readable(source.catalog.tables[code.table].name)}: {readable(code.column)}",
        codes=CONVENTIONS[language].list_comma.join(sorted(code.codes)),
        phrase=one_line(code.phrase or question.text),
    )
    asked, readings = compare_readings(question, text, "AmbValue", code.options(sql, source.catalog.dialect), source)
    return (asked, readings) if asked else None


def unexplained_code(sql: str, question: str, source: Source) -> UnexplainedCode | None:
    """Return the first code in `sql` that neither the schema nor the business knowledge explains.

    One whose column has a value or definition that `question` names is no such code.
    """
    query = resolved_query(sql, source.catalog)
    if query is None:
        return None
    defined = source.knowledge.relevant(question).columns
    for scope in query.scopes:
        for node in query.find_all(scope, exp.EQ):
            found = query.column_of(node.this, scope)
            if found is None or not isinstance(node.expression, exp.Literal):
                continue
            key, column, code = found.table.key, found.column, node.expression.name
            codes = source.catalog.values.get((key, column.name), ())
            is_said = (key, column.name) in defined or source.linked_values(question, {key: [column.name]})
            is_unexplained = code in codes and _are_codes(column, codes) and not is_said
            if is_unexplained and (key, column.name) not in source.code_meanings([key]):
                others = (other for other in codes if other != code)
                return UnexplainedCode(key, column.name, code, (code, *others), _unknown_words(question, source))
    return None


def _are_codes(column: Column, codes: tuple[str, ...]) -> bool:
    """Return whether `codes` are all values of `column`, and short ones."""
    is_complete = 1 < len(codes) <= _MAX_CODES and len(codes) == column.distinct
    return is_complete and not column.secret and all(len(code) <= _MAX_CODE_CHARS for code in codes)


def _unknown_words(question: str, source: Source) -> str | None:
    """Return the only adjacent words of `question` that name nothing in `source`; None if there are none or several.

    Texts in Chinese have no words.
    """
    if han_runs(question):
        return None
    catalog = source.catalog
    names = set().union(*(concepts(readable(name)) for name in _names(catalog)))
    values = {word for link in source.linked_values(question, catalog.selection()) for word in words(link.phrase)}

    def is_known(word: str) -> bool:
        is_plain = word.isdecimal() or is_function_word(word.lower()) or is_data_word(word.lower())
        return is_plain or bool(words(word) & values) or any(one & name for one in concepts(word) for name in names)

    runs = [list(run) for is_run_known, run in groupby(_WORD.finditer(question), lambda each: is_known(each[0]))
            if not is_run_known]  # fmt: skip
    return question[runs[0][0].start() : runs[0][-1].end()] if len(runs) == 1 else None


def _names(catalog: Catalog) -> Iterator[str]:
    for table in catalog.tables.values():
        yield from (table.name, *table.column_names)
