"""Whether a statement that finds nothing may be mistaken, as the parts of its conditions tell on the data."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from datasphinx.agent.errors import StatementError
from datasphinx.agent.generation.doubts import absent_names
from datasphinx.agent.generation.ends_of_dates import ends_of_dates
from datasphinx.agent.generation.question import Question
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.joined_rows import conditions_of
from datasphinx.agent.sql.names import ColumnReference, ResolvedQuery, resolved_query

_OTHER_CONDITIONS = (exp.Having, exp.Qualify, exp.Offset, exp.Filter, exp.Case, exp.If)


class _Untried(Exception):
    """A condition cannot be tried alone."""


def may_be_mistaken(sql: str, question: Question, source: Source) -> bool:
    """Return whether the blank result of `sql` may come from a mistake.

    It does not if tables are joined along keys, and some row fulfils the conditions on each column: then none fulfils
    all of them. Conditions that compare with no value, as IS NULL does, or with a name that none is like are what was
    asked. Dates before the first or after the last one are told to the user. A statement with other conditions may be
    mistaken.
    """
    query = resolved_query(sql, source.catalog)
    if query is None or any(select.find(*_OTHER_CONDITIONS) for _, select in query.selects()):
        return True
    known = {end.column.lower() for end in ends_of_dates(sql, source)}
    known |= {"{table}.{column}".format_map(one.facts).lower() for one in absent_names(sql, question, source)}
    try:
        # What an exclusion finds is what must not be there.
        scopes = [scope for scope, select in query.selects() if select.find_ancestor(exp.Not) is None]
        probes = [probe for scope in scopes for probe in _probes(scope, query, known)]
        return not all(source.execute(probe.sql(dialect=query.dialect))["rows"] for probe in probes)
    except (StatementError, _Untried):
        return True


def _probes(scope: Scope, query: ResolvedQuery, known: set[str]) -> Iterator[exp.Select]:
    """Yield for the conditions on each column of `scope` but the `known` a statement that finds a row for them.

    Raises:
        _Untried: a condition is neither about one table of `scope` nor a join along a key.
    """
    tested: dict[tuple[str, frozenset[str]], list[exp.Expr]] = defaultdict(list)
    for condition in conditions_of(scope, query):
        test = condition.unnest()
        while isinstance(test, exp.Not):
            test = test.this.unnest()
        if isinstance(test, exp.Exists) or (isinstance(test, exp.In) and test.args.get("query")):
            continue
        columns = [*condition.find_all(exp.Column)]
        places = {column.sql(): query.column_of(column, scope) for column in columns}
        names = {column.table for column in columns}
        if condition.find(exp.Query) or not names or not all(places.values()):
            raise _Untried
        if len(names) > 1:
            if not _is_key(condition, query, scope):
                raise _Untried
        elif any(literal.name.strip() for literal in condition.find_all(exp.Literal)):
            if known.isdisjoint(str(place).lower() for place in places.values()):
                tested[names.pop(), frozenset(places)].append(condition)
    yield from (_probe(scope, name, conditions) for (name, _), conditions in tested.items())


def _probe(scope: Scope, name: str, conditions: Sequence[exp.Expr]) -> exp.Select:
    table = scope.sources.get(name)
    if not isinstance(table, exp.Table):
        raise _Untried
    return exp.select("1").from_(table.copy()).where(*(each.copy() for each in conditions)).limit(1)


def _is_key(condition: exp.Expr, query: ResolvedQuery, scope: Scope) -> bool:
    """Return whether `condition` joins two tables along a key."""
    if not isinstance(condition, exp.EQ):
        return False
    sides = [query.column_of(side, scope) for side in (condition.this, condition.expression)]
    keys = [(side.table.key, side.column.name) for side in sides if isinstance(side, ColumnReference)]
    return len(keys) == 2 and query.catalog.are_equivalent(*keys)
