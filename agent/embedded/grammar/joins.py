"""Rules of FROM clauses: the tables that may be joined, and the scope of each combination.

The continuation of a FROM clause depends on the set of its tables, not on their order, so these sets are the states of
the grammar. Sets beyond the limit share one scope, `z`, in which any column of any table is allowed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, permutations

from datasphinx.agent.embedded.compact import KeyPair, conditions_between, join_condition, keys_of
from datasphinx.agent.embedded.grammar.columns import METRIC_KINDS, NULLABLE, OWN
from datasphinx.agent.embedded.grammar.gbnf import choice, literal
from datasphinx.agent.embedded.grammar.scope import KEY_KIND, SUBQUERY_DEPTH
from datasphinx.agent.schema.catalog import Catalog

Tables = frozenset[int]
"""The numbers of the tables in one FROM clause."""

_MAX_SCOPES = 60
"""With more scopes, parsing the grammar would take longer than decoding a statement."""

_LARGEST_SUBQUERY = 3
"""Maximum number of tables in a subquery over keys."""

_MAX_JOINS = 4
_QUERIES = {"root": "body0", "right": "bodyr", "sub1": "body1", "subright": "bodys", "sub2": "body2"}
"""The body of each kind of query."""
_CHAINED = {"last": "bodyl"}
"""The third query of a set operation."""

_QUERY, _BODY = "\x00", "\x01"
"""Placeholders of templates for a query and its body; they cannot occur in a rule."""

_COMPARABLE = ("nk", "ts", "d", "b", "ou")
"""Groups of column kinds that may be compared for equality."""

ANY_TABLE = "z-"
"""The prefix of the scope of all tables."""


class Joins:
    """The FROM clauses over the tables `keys`, whose names in statements are `names`.

    `kinds` contains the column kinds of each table. With `chains`, a set operation may have three queries.
    """

    def __init__(
        self,
        catalog: Catalog,
        keys: Sequence[str],
        names: Sequence[str],
        kinds: Sequence[frozenset[str]],
        *,
        chains: bool,
    ) -> None:
        self._catalog, self._keys, self._names, self._kinds = catalog, keys, names, kinds
        self._queries = _QUERIES | (_CHAINED if chains else {})
        self._all_kinds = sorted(frozenset[str]().union(*kinds))
        # The statement begins with the table of a metric that the question names.
        measured = [at for at, own in enumerate(kinds) if not own.isdisjoint(METRIC_KINDS)]
        self._starts = measured or list(range(len(keys)))
        numbers = {key: number for number, key in enumerate(keys)}
        self._neighbours: list[set[int]] = [set() for _ in keys]
        for number, key in enumerate(keys):
            for other in {numbers[pair.right] for pair in keys_of(catalog, key) if pair.right in numbers}:
                self._neighbours[number].add(other)
                self._neighbours[other].add(number)
        self._sets = self._sets_with_scope()

    def scopes(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the rule prefix of each scope with several tables, and the rules of its columns by kind."""
        for tables in self._sets:
            if len(tables) > 1:
                yield _scope(tables), self._columns(tables)
        if len(self._keys) > 2:
            yield ANY_TABLE, self._columns(frozenset(range(len(self._keys))))

    def root(self, start: str) -> str | None:
        """Return the root rule of the statements whose FROM clause begins with `start`; None if there is none.

        `start` may end within a word. It may not contain a join condition.
        """
        text, keyword, tables = start, "FROM ", frozenset[int]()
        while text.startswith(keyword):
            text = text.removeprefix(keyword)
            before = start.removesuffix(text)
            at = next((at for at, name in enumerate(self._names) if text.startswith(f"{name} ")), None)
            if at is None:
                return self._next_table(before, tables, text)
            text, tables = text.removeprefix(self._names[at]), tables | {at}
            if tables not in self._sets:
                return None
            before = start.removesuffix(text)
            for keyword in (" JOIN ", " LEFT JOIN "):
                if len(text) > 1 and keyword.startswith(text):
                    return self._next_table(before + keyword, tables, "")
                if text.startswith(keyword):
                    break
            if len(text) > 1 and " SELECT ".startswith(text):
                return f"{literal(f'{before} SELECT ')} {_scope(tables)}{_QUERIES['root']}"
        return None

    def _next_table(self, before: str, tables: Tables, name: str) -> str | None:
        """Return a rule for `before` and a further table whose name begins with `name`, or the first table."""
        candidates = range(len(self._names)) if tables else self._starts
        others = [at for at in candidates if at not in tables and self._names[at].startswith(name)]
        after = {
            self._names[at]: step
            for at in others
            if (step := self._step(tables, at) if tables else f"{_scope(frozenset({at}))}{_QUERY}")
        }
        return f"{literal(before)} ({choice(after)})".replace(_QUERY, "root") if after else None

    def rules(self) -> Iterator[str]:
        """Yield the rules of all FROM clauses."""
        first = {name: f"{_scope(frozenset({at}))}{_QUERY}" for at, name in enumerate(self._names)}
        rules = list(map(self._state, self._sets))
        template = "\n".join([*rules, *self._shared()] if len(self._keys) > 2 else rules)
        for query, body in self._queries.items():
            names = [self._names[at] for at in self._starts] if query == "root" else self._names
            start = f'{_QUERY} ::= "FROM " ({choice({name: first[name] for name in names})})'
            yield f"{start}\n{template}".replace(_QUERY, query).replace(_BODY, body)
        for kind in self._all_kinds:
            if KEY_KIND.fullmatch(kind):
                yield from self._key_subqueries(kind)
        yield from self._conditions() if len(self._keys) > 1 else ()

    def _key_subqueries(self, kind: str) -> Iterator[str]:
        """Yield the rules of subqueries that select keys of `kind`."""
        tables_with_key = [at for at, kinds in enumerate(self._kinds) if kind in kinds]
        sets = [
            tables
            for tables in self._sets
            if len(tables) <= _LARGEST_SUBQUERY and not tables.isdisjoint(tables_with_key)
        ]
        first = {self._names[at]: f"{_scope(frozenset({at}))}{_QUERY}" for at in tables_with_key}
        rules = [f'{_QUERY} ::= "FROM " ({choice(first)})', *(self._state(tables, sets) for tables in sets)]
        for depth in range(1, SUBQUERY_DEPTH + 1):
            names = f"sub{kind}at{depth}", f"body{kind}at{depth}"
            yield "\n".join(rules).replace(_QUERY, names[0]).replace(_BODY, names[1])

    def _sets_with_scope(self) -> dict[Tables, None]:
        """Return the sets with their own scope, up to the limit: single tables, sets linked by keys, unlinked pairs."""
        single = [frozenset({at}) for at in range(len(self._keys))]
        pairs = self._larger(single)
        triples = self._larger(pairs)
        unlinked = (
            frozenset({left, new})
            for left, new in combinations(range(len(self._keys)), 2)
            if self._may_lack_a_key(new, {left})
        )
        any_pairs = list(islice(unlinked, _MAX_SCOPES + 1))
        sets_within_limit: dict[Tables, None] = dict.fromkeys(single)
        for sets in (pairs, triples, self._larger(triples), any_pairs):
            extended = sets_within_limit | dict.fromkeys(sets)
            if len(extended) <= _MAX_SCOPES:
                sets_within_limit = extended
        return sets_within_limit

    def _may_lack_a_key(self, new: int, tables: Collection[int]) -> bool:
        """Return whether `new` may be joined to `tables` without a key, because one side has no key at all."""
        return not self._neighbours[new] or not any(self._neighbours[table] for table in tables)

    def _larger(self, sets: Iterable[Tables]) -> list[Tables]:
        # A list beyond the limit is not used.
        larger: dict[Tables, None] = {}
        for tables in sets:
            for at in sorted(set().union(*(self._neighbours[table] for table in tables)) - tables):
                larger[tables | {at}] = None
            if len(larger) > _MAX_SCOPES:
                break
        return list(larger)

    def _columns(self, tables: Tables) -> dict[str, str]:
        tables_by_kind = {kind: [at for at in sorted(tables) if kind in self._kinds[at]] for kind in self._all_kinds}
        return {
            kind: choice({f"{self._names[at]}.": f"k{at}-{kind}" for at in owners})
            for kind, owners in tables_by_kind.items()
            if owners
        }

    def _state(self, tables: Tables, within: Collection[Tables] | None = None) -> str:
        """Return the rule for the continuation after `tables`; `within` limits the sets that may be formed."""
        scope = _scope(tables)
        others = [at for at in range(len(self._keys)) if at not in tables and (not within or tables | {at} in within)]
        after = {self._names[at]: step for at in others if (step := self._step(tables, at))}
        return f'{scope}{_QUERY} ::= " SELECT " {scope}{_BODY}{_join(after)}'

    def _step(self, tables: Tables, new: int) -> str:
        """Return the continuation after joining `new` to `tables`: its condition, if needed, and the next state."""
        joined_tables = tables | {new}
        state = f"{_scope(joined_tables) if joined_tables in self._sets else f'{ANY_TABLE}0'}{_QUERY}"
        pairs = conditions_between(
            self._catalog, self._keys[new], [self._keys[at] for at in tables & self._neighbours[new]]
        )
        if not pairs and not self._may_lack_a_key(new, tables):
            return ""
        if not pairs:
            left = min(tables) if joined_tables in self._sets else None
            return f'" ON " {_on(left, new)} {state}' if self._pairs(left, new) else ""
        return state if len(pairs) == 1 else f'" ON " ({choice(self._texts(pairs))}) {state}'

    def _texts(self, pairs: Iterable[KeyPair]) -> Iterator[str]:
        for pair in pairs:
            reverse = KeyPair(pair.right, pair.right_columns, pair.left, pair.left_columns)
            yield from (join_condition(self._catalog, direction).sql(dialect="sqlite") for direction in (pair, reverse))

    def _shared(self) -> Iterator[str]:
        def condition(new: int) -> str:
            return f'(" ON " {_on(None, new)})? ' if not self._neighbours[new] else ""

        for joins in range(_MAX_JOINS):
            after = {
                name: f"{condition(at)}{ANY_TABLE}{joins + 1}{_QUERY}"
                for at, name in enumerate(self._names)
                if self._pairs(None, at) and joins < _MAX_JOINS - 1
            }
            yield f'{ANY_TABLE}{joins}{_QUERY} ::= " SELECT " {ANY_TABLE}{_BODY}{_join(after)}'

    def _conditions(self) -> Iterator[str]:
        """Yield the rules of join conditions that no key implies."""
        for at, name in enumerate(self._names):
            for kind in sorted(self._kinds[at] - {OWN, NULLABLE}):
                yield f"q{at}-{kind} ::= {literal(f'{name}.')} k{at}-{kind}"
        numbers = range(len(self._keys))
        unlinked: list[tuple[int | None, int]] = [(None, new) for new in numbers if len(self._keys) > 2]
        unlinked += [(left, new) for left, new in permutations(numbers, 2) if frozenset({left, new}) in self._sets]
        for left, new in unlinked:
            condition = " | ".join(self._pairs(left, new))
            if condition:
                yield f"{_on(left, new)} ::= {condition}"

    def _pairs(self, left: int | None, new: int) -> list[str]:
        """Return the equalities of columns of the same group between `left` (None: any table) and `new`."""
        new_kinds = self._kinds[new]
        left_kinds = frozenset[str]().union(*self._kinds) if left is None else self._kinds[left]
        prefix = ANY_TABLE if left is None else f"q{left}-"
        pairs = [(a, b) for kinds in _COMPARABLE for a in kinds if a in left_kinds for b in kinds if b in new_kinds]
        return [
            equality
            for a, b in pairs
            for equality in (f'{prefix}{a} " = " q{new}-{b}', f'q{new}-{b} " = " {prefix}{a}')
        ]


def _scope(tables: Tables) -> str:
    return f"k{'-'.join(map(str, sorted(tables)))}-"


def _on(left: int | None, new: int) -> str:
    return f"on{'' if left is None else left}-{new}"


def _join(after: Mapping[str, str]) -> str:
    return f' | " " "LEFT "? "JOIN " ({choice(after)})' if after else ""
