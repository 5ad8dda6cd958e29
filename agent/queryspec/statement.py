"""The parts of a statement that several queries in it share: spelling, bound values and the queries of its WITH."""

from collections.abc import Sequence

from sqlglot import exp

from datasphinx.agent.core.unused_name import unused_name
from datasphinx.agent.engines import engine_of, engines
from datasphinx.agent.engines.spelling import Spelling
from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.messages import Message
from datasphinx.agent.queryspec.clauses import BoundValues
from datasphinx.agent.queryspec.columns import Datasets

DIALECTS = tuple(dict.fromkeys(engine.dialect for engine in engines().values() if engine.spelling))
"""The dialects that query specs are compiled to."""


def spelling_of(dialect: str) -> Spelling:
    """Return how query specs are spelled in `dialect`. Raise ConfigurationError if they cannot be compiled to it."""
    spelling = engine_of(dialect).spelling
    if spelling is None:
        raise ConfigurationError(
            "DATASPHINX_SOURCES", Message("spec_engine_not_supported", supported=", ".join(DIALECTS), engine=dialect)
        )
    return spelling


class StatementParts:
    """Collects the values and the common table expressions (CTEs) of a statement."""

    def __init__(self, spelling: Spelling, datasets: Datasets) -> None:
        """Start without values and CTEs; names of CTEs differ from those of the tables of `datasets`."""
        self.spelling = spelling
        self.bound = BoundValues(spelling)
        self.results: dict[str, exp.Table] = {}
        """The CTEs of the results that were compiled."""
        self._tables = {table.name.lower() for table in datasets.tables.values()}
        self._queries: dict[str, exp.Query] = {}

    def add(self, name: str, query: exp.Query) -> exp.Table:
        """Add `query` as a CTE called `name`, or similarly if there is one, and return it as a table."""
        free = unused_name(name, {*self._tables, *self._queries})
        self._queries[free] = query
        return exp.table_(free, quoted=True)

    def complete(self, query: exp.Select) -> exp.Select:
        """Return the complete statement, with `query` at its end."""
        for name, inner in self._queries.items():
            query = query.with_(exp.to_identifier(name, quoted=True), as_=inner, copy=False)
        return query


def row_number(within: Sequence[exp.Expr], terms: Sequence[exp.Expr]) -> exp.Expr:
    """Return the number of each row among those that are equal in `within`, in the order of `terms`."""
    order = exp.Order(expressions=list(terms)) if terms else None
    return exp.Window(this=exp.RowNumber(), partition_by=list(within), order=order)
