"""Row-level security: a predicate per table, applied at every reference of the table in every statement.

Each reference is replaced by a subquery of the same name that returns only the permitted rows, so joins, aggregates and
subqueries around it see no others. The method is query modification (Stonebraker and Wong 1974).
`datasphinx.agent.sql.row_barrier` writes the subquery so that no condition of the statement is evaluated before the
rule. The final text is parsed again, and every reference in it is verified.
"""

from collections.abc import Collection, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from datasphinx.agent.engines import engine_of
from datasphinx.agent.engines.base import Engine
from datasphinx.agent.errors import ConfigurationError, NotPermitted, RowRuleNotApplied, RowRuleParameterMissing
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.catalog import Catalog, Table
from datasphinx.agent.sql.dialects import print_statement
from datasphinx.agent.sql.guard import check, parse
from datasphinx.agent.sql.guard.tables import names_cte
from datasphinx.agent.sql.parameters import escape, insert_parameters, without_markers
from datasphinx.agent.sql.row_barrier import cte_name, filtered_table, permitted_rows
from datasphinx.agent.sql.row_parameters import compared_columns, compared_exactly, has_type_of
from datasphinx.agent.sql.selects import names_columns_by_values

_SETTING = "row_rules"
"""The setting that errors about row rules name."""

_BOOLEAN = (
    exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.Exists, exp.Between, exp.In, exp.Column, exp.Func,
    exp.Paren,
)  # fmt: skip


_MOVED_ARGUMENTS = {"joins", "pivots", "laterals", "sample", "alias"}
"""Arguments of a table reference that are moved to the subquery replacing it."""
_CLOSED = {"deny", "false"}
"""Rules that permit no rows."""
_NAMED_OUTPUTS = (exp.Alias, exp.Aliases, exp.Column, exp.Columns, exp.Star)
_BASIC_PLANE = 0xFFFF


def _parse_predicate(text: str, table: Table, catalog: Catalog) -> exp.Expr:
    """Parse `text`, a row rule of `table`; return it with parameters as placeholders and without table qualifiers.

    Tables in subqueries get the default schema, so that no WITH of a statement can replace them.

    Raises:
        ConfigurationError: `text` is not a single boolean expression over the columns of `table`, or the guard rejects
            it.
    """
    predicate = _parse_rule(text, table, catalog.dialect)
    _check_columns(predicate, table)
    harmless = predicate.transform(lambda node: exp.Null() if isinstance(node, exp.Placeholder) else node)
    query = exp.select("1").from_(exp.table_(table.name, db=table.schema, quoted=True)).where(harmless)
    findings = check(print_statement(query, catalog.dialect), catalog.dialect, catalog.readable)
    if findings:
        raise _invalid(table, Message("rule_refused", error=str(findings[0])))
    for inner in predicate.find_all(exp.Table):
        if not inner.args.get("db"):
            if not catalog.default_schema:
                raise _invalid(table, Message("rule_needs_schema", table=inner.name))
            inner.set("db", exp.to_identifier(catalog.default_schema))
    return predicate


def _parse_rule(text: str, table: Table, dialect: str) -> exp.Expr:
    try:
        trees = parse(f"SELECT 1 FROM t WHERE ({text}\n)", dialect)
    except ValueError as error:
        raise _invalid(table, Message("not_parsed", error=str(error))) from error
    where = trees[0].args.get("where") if len(trees) == 1 else None
    parts = {name for name, value in trees[0].args.items() if value}
    if where is None or parts != {"expressions", "from_", "where"} or not isinstance(where.this, exp.Paren):
        raise _invalid(table, Message("rule_not_one_expression"))
    predicate = where.this.this
    beyond_one_row = predicate.find_all(exp.AggFunc, exp.Window)
    if not isinstance(predicate, _BOOLEAN) or any(node.find_ancestor(exp.Query) is trees[0] for node in beyond_one_row):
        raise _invalid(table, Message("rule_not_condition"))
    if any(not isinstance(node.this, str) for node in predicate.find_all(exp.Placeholder)) or predicate.find(
        exp.Parameter
    ):
        raise _invalid(table, Message("rule_parameters_malformed"))
    return predicate.copy()


def _check_columns(predicate: exp.Expr, table: Table) -> None:
    names = {name.lower() for name in table.column_names}
    for column in predicate.find_all(exp.Column):
        if column.find_ancestor(exp.Query):
            continue
        if column.name.lower() not in names or column.table.lower() not in {"", table.name.lower()}:
            raise _invalid(table, Message("rule_column_unknown", column=column.sql()))
        column.set("table", None)


def _invalid(table: Table, reason: Message) -> ConfigurationError:
    return ConfigurationError(_SETTING, Message("row_rule_invalid", table=table.key, reason=reason))


@dataclass(frozen=True)
class _Rule:
    """The rule of one table; a predicate of None denies access to the table.

    `origin` is the table for which the predicate was written, if it is another one: the parent of this partition.
    """

    key: str
    predicate: exp.Expr | None
    parameters: tuple[str, ...] = ()
    origin: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether the rule is `true`, which permits every row."""
        return isinstance(self.predicate, exp.Boolean) and bool(self.predicate.this)


class RowRules:
    """The parsed row rules of one source."""

    def __init__(self, rules: Mapping[str, str], dialect: str, catalog: Catalog) -> None:
        """Parse `rules`: a predicate by table, with `:name` parameters; `deny` or `false` denies access.

        Table names are case-sensitive unless the engine ignores case. Tables without a rule that share rows with others
        follow them: a partition or inheritance child has the rule of its parent; parents of tables with rules and all
        views are denied, since they may show any row. The rule `true` allows access.

        Raises:
            ConfigurationError: a table is unknown, ambiguous or has two rules, or a predicate is not a boolean
                expression over the columns of its table, or the engine has no barrier.
        """
        self.dialect = dialect
        self._catalog = catalog
        self._keys = _Keys(catalog)
        self._rules: dict[str, _Rule] = {}
        for name, text in rules.items():
            key = self._keys.configured(name)
            if key in self._rules:
                raise ConfigurationError(_SETTING, Message("row_rule_repeated", table=key))
            predicate = (
                None if text.strip().lower() in _CLOSED else _parse_predicate(text, catalog.tables[key], catalog)
            )
            if predicate is not None and not engine_of(dialect).has_barrier and predicate != exp.true():
                raise _invalid(catalog.tables[key], Message("rule_without_barrier", engine=dialect))
            placeholders = predicate.find_all(exp.Placeholder) if predicate is not None else ()
            self._rules[key] = _Rule(key, predicate, tuple(dict.fromkeys(node.name for node in placeholders)))
        if rules:
            self._rules |= _inherited_rules(self._rules, catalog)

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of all rules, each with a table that needs it."""
        return {name: rule.key for rule in self._rules.values() for name in rule.parameters}

    def check_parameters(self, values: Mapping[str, Any], keys: Collection[str] | None = None) -> None:
        """Check that the values of parameters have the types of the columns with which rules compare them.

        Only the rules of the tables `keys` are checked, if given.

        Raises:
            ConfigurationError: a value has another type than its column.
        """
        for rule in self._rules.values():
            if rule.predicate is None or (keys is not None and rule.key not in keys):
                continue
            for name, column in compared_columns(rule.predicate, self._catalog.tables[rule.key], self._catalog):
                if name in values and not has_type_of(values[name], column):
                    reason = Message("parameter_type", parameter=name, column=column.name, type=column.type)
                    raise _invalid(self._catalog.tables[rule.key], reason)

    def denies(self, key: str) -> bool:
        """Return whether the rules permit no row of the table `key`."""
        rule = self._rules.get(key)
        return rule is not None and rule.predicate is None

    def apply(self, tree: exp.Expr) -> exp.Expr:
        """Return a copy of `tree` in which every reference of a table with a rule is filtered.

        Raises:
            NotPermitted: `tree` refers to a table that a rule denies.
            RowRuleNotApplied: `tree` refers to a table in a way that cannot be filtered.
        """
        tree = tree.copy()
        cte = cte_name(tree)
        references = list(self._references(tree))
        name_outputs(tree, [table for table, _ in references], self.dialect)
        for table, rule in references:
            if rule.predicate is None:
                raise NotPermitted(rule.key)
            _unqualify(tree, table)
            filtered = self._filter(table, rule, cte)
            if table is tree:
                tree = filtered
            else:
                table.replace(filtered)
        return tree

    def verify(self, tree: exp.Expr) -> None:
        """Raise RowRuleNotApplied if a reference in `tree` is not filtered by exactly its rule behind its barrier."""
        inside: set[int] = set()
        for subquery in tree.find_all(exp.Subquery):
            if id(subquery) not in inside and self._is_barrier(subquery):
                inside.update(id(node) for node in subquery.walk())
        for table, rule in self._references(tree):
            if id(table) not in inside:
                raise RowRuleNotApplied(rule.key, Message("reference_not_filtered"))

    def parameters_of(self, tree: exp.Expr) -> dict[str, str]:
        """Return the parameters needed by the rules of the tables in `tree`, each with the table."""
        return {name: rule.key for _, rule in self._references(tree) for name in rule.parameters}

    def with_markers(self, markers: Mapping[str, str], values: Mapping[str, Any]) -> "RowRules":
        """Return a copy of the rules with parameters replaced by columns, whose names `markers` holds.

        Text in `values` is compared with columns exactly.
        """
        other = copy(self)
        other._rules = {
            key: _mark_parameters(rule, markers, values, self._catalog) for key, rule in self._rules.items()
        }
        return other

    def _references(self, tree: exp.Expr) -> Iterator[tuple[exp.Table, _Rule]]:
        """Yield the references of tables whose rule does not permit every row."""
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Func) or names_cte(table, engine_of(self.dialect)):
                continue
            keys = self._keys.of(table, self._catalog.engine)
            ruled = [self._rules[key] for key in keys if key in self._rules]
            if ruled and len(keys) > 1:
                raise RowRuleNotApplied(
                    ruled[0].key, Message("reference_ambiguous", name=table.sql(), candidates=", ".join(sorted(keys)))
                )
            if ruled and not ruled[0].is_open:
                yield table, ruled[0]

    def _filter(self, table: exp.Table, rule: _Rule, cte: str) -> exp.Subquery:
        """Return the subquery that replaces `table`, with its alias or name, joins, pivots and samples."""
        extra = {name for name, value in table.args.items() if value} - _MOVED_ARGUMENTS - {"this", "db", "catalog"}
        extra |= {"FINAL"} if isinstance(table.parent, exp.Final) else set()
        if extra:
            raise RowRuleNotApplied(rule.key, Message("reference_modified", modifiers=", ".join(sorted(extra))))
        alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
        rows = self._permitted_rows(table, rule, cte)
        arguments = {name: table.args[name] for name in _MOVED_ARGUMENTS - {"alias"} if table.args.get(name)}
        return exp.Subquery(this=rows, alias=alias.copy(), **arguments)

    def _permitted_rows(self, table: exp.Table, rule: _Rule, cte: str) -> exp.Select:
        """Return a query of the rows of `table` that `rule` permits."""
        assert rule.predicate is not None
        parts = {part: table.args[part].copy() for part in ("this", "db", "catalog") if table.args.get(part)}
        source = exp.Table(**parts)
        if rule.origin:
            # A predicate inherited from a parent may name the parent in its subqueries.
            source.set("alias", exp.TableAlias(this=exp.to_identifier(rule.origin, quoted=True)))
        return permitted_rows(source, rule.predicate, self.dialect, cte)

    def _is_barrier(self, subquery: exp.Subquery) -> bool:
        """Return whether `subquery` is exactly the subquery with which `apply` replaces a table."""
        table = filtered_table(subquery.this)
        rules = [self._rules.get(key) for key in self._keys.of(table, self._catalog.engine)] if table else []
        if table is None or len(rules) != 1 or rules[0] is None or rules[0].predicate is None:
            return False
        clause = subquery.this.args.get("with_")
        cte = clause.expressions[0].alias if clause else ""
        expected = self._permitted_rows(table, rules[0], cte)
        return print_statement(subquery.this, self.dialect) == print_statement(expected, self.dialect)


class _Keys:
    """Lookup of catalog tables by name."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._by_name: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
        default = catalog.default_schema
        for key, (schema, name) in catalog.full_names.items():
            names: list[tuple[str, ...]] = [(schema, name)] if schema else [(name,)]
            if default and not schema:
                names.append((default, name))
            if schema and schema == default:
                names.append((name,))
            for parts in names:
                self._by_name.setdefault(_lower(parts), {})[parts] = key

    def of(self, table: exp.Table, engine: Engine) -> tuple[str, ...]:
        """Return the keys of the tables that a reference may mean; more than one if it is ambiguous.

        Tables whose names differ in case are considered only if no name matches exactly.
        """
        parts = tuple(
            part.name.lower() if engine.folds_unquoted and not part.args.get("quoted") else part.name
            for part in table.parts
        )
        close = self._by_name.get(_lower(parts))
        if close is None:
            # The guard compares names as text, where a dot may separate parts or belong to one.
            dotted = ".".join(parts).lower()
            names = (name for name in self._by_name if ".".join(name) == dotted)
            return tuple(dict.fromkeys(key for name in names for key in self._by_name[name].values()))
        return (close[parts],) if parts in close else tuple(dict.fromkeys(close.values()))

    def configured(self, name: str) -> str:
        """Return the key of the table for `name` in the configuration: `table` or `schema.table`.

        Raises:
            ConfigurationError: no table matches, or more than one.
        """
        spellings = [(parts, key) for names in self._by_name.values() for parts, key in names.items()]
        exact = {key for parts, key in spellings if ".".join(parts) == name}
        close = {key for parts, key in spellings if ".".join(parts).lower() == name.lower()}
        keys = exact or (close if self._catalog.engine.ignores_case else set())
        if len(keys) == 1:
            return keys.pop()
        if keys:
            candidates = ", ".join(sorted(keys))
            raise ConfigurationError(_SETTING, Message("rule_table_ambiguous", name=name, candidates=candidates))
        if close:
            reason = Message("rule_table_case", name=name, candidates=", ".join(sorted(close)))
            raise ConfigurationError(_SETTING, reason)
        raise ConfigurationError(_SETTING, Message("table_not_in_catalog", name=name))


def restrict(sql: str, rules: RowRules, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Apply `rules` to `sql`; return text for SQLAlchemy's `text()`, and the parameters to bind.

    `sql` is a query that the guard has accepted. Other colons are escaped for `text()`; SQLAlchemy doubles per cent
    signs if the driver requires it.

    Raises:
        NotPermitted, RowRuleNotApplied: see `RowRules.apply`.
        RowRuleParameterMissing: a rule of a table in `sql` needs a parameter that `parameters` lacks.
        ConfigurationError: see `RowRules.check_parameters`.
    """
    (tree,) = parse(sql, rules.dialect)
    needed = rules.parameters_of(tree)
    for name, table in needed.items():
        if name not in parameters:
            raise RowRuleParameterMissing(table, name)
    # DuckDB binds no parameters in such a PIVOT.
    if needed and any(map(names_columns_by_values, tree.find_all(exp.Pivot))):
        table = next(iter(needed.values()))
        raise RowRuleNotApplied(table, Message("pivot_values_missing"))
    markers = {name: f"row_rule_{token_hex(8)}_{index}" for index, name in enumerate(needed)}
    rules.check_parameters(parameters, set(needed.values()))
    with_markers = rules.with_markers(markers, parameters)
    text = _checked_text(with_markers.apply(tree), with_markers)
    text = insert_parameters(escape(text), {marker: name for name, marker in markers.items()})
    return text, {name: parameters[name] for name in needed}


def _checked_text(tree: exp.Expr, rules: RowRules) -> str:
    """Return `tree` as text; parse it again and verify the rules in it."""
    try:
        text = print_statement(tree, rules.dialect)
        (reparsed,) = parse(text, rules.dialect)
    except (SqlglotError, ValueError) as error:
        raise RowRuleNotApplied("?", Message("not_printable", error=str(error))) from error
    rules.verify(reparsed)
    return text


def _inherited_rules(own: Mapping[str, _Rule], catalog: Catalog) -> dict[str, _Rule]:
    """Return the rules of tables that have none of their own but share rows with a table that has one."""
    others = {key: table for key, table in catalog.tables.items() if key not in own}
    denied = {key for key, table in others.items() if table.is_view or table.shares_rows}
    rules: dict[str, _Rule] = {key: _Rule(key, None) for key in denied}
    for key in others.keys() - denied:
        rule = _rule_of_parents(key, own, catalog)
        if rule:
            rules[key] = rule
    ruled = {key for key, rule in {**own, **rules}.items() if not rule.is_open}
    parents = {parent for key in ruled for parent in _ancestors(catalog.tables[key], catalog)}
    return rules | {key: _Rule(key, None) for key in parents if key in others and key not in rules}


def _rule_of_parents(key: str, own: Mapping[str, _Rule], catalog: Catalog) -> _Rule | None:
    """Return the rule of the nearest parent with a rule; a table with several such parents is denied."""
    nearest: list[_Rule] = []
    pending, seen = list(catalog.tables[key].parents), {key}
    while pending:
        parent = pending.pop()
        if parent in own:
            nearest.append(own[parent])
        elif parent in catalog.tables and parent not in seen:
            pending += catalog.tables[parent].parents
        seen.add(parent)
    if not nearest:
        return None
    if len({rule.key for rule in nearest}) > 1:
        return _Rule(key, None)
    origin = catalog.tables[nearest[0].key].name
    return replace(nearest[0], key=key, origin=origin)


def _ancestors(table: Table, catalog: Catalog) -> set[str]:
    pending, ancestors = list(table.parents), set()
    while pending:
        key = pending.pop()
        if key in catalog.tables and key not in ancestors:
            ancestors.add(key)
            pending += catalog.tables[key].parents
    return ancestors


def _mark_parameters(rule: _Rule, markers: Mapping[str, str], values: Mapping[str, Any], catalog: Catalog) -> _Rule:
    if rule.predicate is None or not markers.keys() & set(rule.parameters):
        return rule
    exact = compared_exactly(rule.predicate, catalog.tables[rule.key], catalog, values)

    def mark(node: exp.Expr) -> exp.Expr:
        return exp.column(markers.get(node.name, node.name)) if isinstance(node, exp.Placeholder) else node

    return replace(rule, predicate=exact.transform(mark))


def _unqualify(tree: exp.Expr, table: exp.Table) -> None:
    """Remove the schema from columns qualified with that of `table`: the subquery has only the name."""
    if table.args.get("db") and not table.args.get("alias"):
        for column in tree.find_all(exp.Column):
            if column.text("db").lower() == table.db.lower() and column.table.lower() == table.name.lower():
                column.set("db", None)
                column.set("catalog", None)


def _lower(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def name_outputs(tree: exp.Expr, tables: Collection[exp.Table], dialect: str) -> None:
    """Give each unnamed output of `tree` that contains one of `tables` an alias: its current text, cut if too long."""
    if not engine_of(dialect).names_outputs_by_text:
        return
    restricted = {id(table) for table in tables}
    names: list[tuple[exp.Expr, str]] = []
    for select in tree.find_all(exp.Select):
        names_in_use = {output.alias_or_name for output in select.expressions}
        for output in select.expressions:
            if isinstance(output, _NAMED_OUTPUTS) or output.alias:
                continue
            if any(id(table) in restricted for table in output.find_all(exp.Table)):
                name = _output_name(output, names_in_use, dialect)
                names_in_use.add(name)
                names.append((output, name))
    for output, name in names:
        # Print all texts before replacing any output: outputs may be nested.
        alias = exp.Alias(alias=exp.to_identifier(name, quoted=True))
        output.replace(alias)
        alias.set("this", output)


def _output_name(output: exp.Expr, names_in_use: Collection[str], dialect: str) -> str:
    """Return the text of `output` as a name; if it has to be cut, a name that is not in `names_in_use`."""
    text = " ".join(print_statement(without_markers(output), dialect).split())
    engine = engine_of(dialect)
    if engine.has_only_basic_names:
        text = "".join(character if ord(character) <= _BASIC_PLANE else "?" for character in text)
    longest = engine.max_output_name or len(text)
    name, number = text[:longest].rstrip(), 1
    while len(text) > longest and name in names_in_use:
        number += 1
        name = f"{text[: longest - len(str(number)) - 1].rstrip()} {number}"
    return name
