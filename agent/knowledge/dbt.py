"""Import from dbt: the artifacts `manifest.json` and `semantic_manifest.json`, schema versions 10 to 12.

Descriptions, generic tests, semantic models and metrics become entries. A metric becomes one expression
over one table with its filters. Metrics over several tables, or with offsets in time, windows or conversions, are left
out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from datasphinx.agent.engines import engines
from datasphinx.agent.knowledge.imports import Imported, unique_names
from datasphinx.agent.knowledge.references import Unresolved, find_column, has_aggregate
from datasphinx.agent.knowledge.translation import (
    aggregate,
    filtered,
    read_expression,
    replaced_columns,
    sql_of,
    with_tables,
)
from datasphinx.agent.schema.catalog import Catalog, ColumnKey

VERSIONS = range(10, 13)
"""Supported schema versions of the manifest."""
_VERSION = re.compile(r"/manifest/v(\d+)\.json")
_STRING = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_CALL = re.compile(r"\{\{\s*(\w+)\s*\(([^()]*)\)\s*(\.[^}]*)?\}\}")
_KINDS = ("model", "seed", "snapshot", "source")
_OTHER_DIALECTS = {"athena", "oracle"}
"""Dialects of sqlglot that are those of an adapter, but of no engine."""
_ADDITIVE = ("sum", "count", "sum_boolean")
_MAX_TEXT = 2000
_MAX_VALUES = 100

Json = Mapping[str, Any]


def _dialect_of(adapter: str) -> str | None:
    """Return sqlglot's name of the dialect of a dbt adapter; None for others, read in the dialect of the source."""
    if adapter in _OTHER_DIALECTS:
        return adapter
    return next((each.dialect for each in engines().values() if adapter in (each.dialect, *each.other_dialects)), None)


@dataclass(frozen=True)
class _Formula:
    """A metric over the rows of one table: an aggregate expression and the conditions on the rows."""

    expression: exp.Expr
    conditions: tuple[exp.Expr, ...]
    table: str
    additivity: str
    date_column: str | None = None
    note: str = ""

    def with_conditions(self, conditions: Iterable[exp.Expr]) -> "_Formula":
        known = {each.sql() for each in self.conditions}
        added = tuple(each for each in conditions if each.sql() not in known)
        return replace(self, conditions=(*self.conditions, *added))


@dataclass
class _Model:
    """A semantic model with the key of its table."""

    name: str
    table: str
    content: Json

    def parts(self, part: str) -> list[Json]:
        return self.content.get(part) or []

    def find(self, part: str, name: str) -> Json | None:
        return next((each for each in self.parts(part) if each.get("name") == name), None)

    def has_key(self, entity: str) -> bool:
        """Return whether each value of the entity occurs in one row only."""
        if self.content.get("primary_entity") == entity:
            return True
        found = self.find("entities", entity)
        return found is not None and found.get("type") in ("primary", "unique", "natural")


def read_dbt(manifest: Json, semantic: Json | None, catalog: Catalog) -> Imported:
    """Return the entries of a dbt project for a source with `catalog`.

    `semantic` is the content of `semantic_manifest.json`; without it, the semantic models and metrics of the manifest
    are read.

    Raises:
        Unresolved: `manifest` is not a manifest of dbt, or its version is not supported.
    """
    metadata = manifest.get("metadata") or {}
    found = _VERSION.search(str(metadata.get("dbt_schema_version", "")))
    if found is None:
        raise Unresolved("it is not a manifest of dbt: `metadata.dbt_schema_version` is missing")
    if int(found[1]) not in VERSIONS:
        versions = f"{VERSIONS[0]} to {VERSIONS[-1]}"
        raise Unresolved(f"its schema has the version {found[1]}; versions {versions} are supported")
    imported = Imported("dbt", str(metadata.get("project_name") or "project"))
    project = _Project(manifest, semantic, catalog, imported, _dialect_of(str(metadata.get("adapter_type"))))
    project.read_descriptions()
    project.read_tests()
    project.read_semantic_models()
    project.add_columns_and_joins()
    project.read_metrics()
    return imported


@dataclass
class _Project:
    manifest: Json
    semantic: Json | None
    catalog: Catalog
    imported: Imported
    dialect: str | None
    tables: dict[str, str] = field(default_factory=dict)
    """Keys of the tables by the id of their node."""
    nodes: dict[str, Json] = field(default_factory=dict)
    """Models, seeds, snapshots and sources by id."""
    columns: dict[ColumnKey, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[ColumnKey, str] = field(default_factory=dict)
    unique: set[ColumnKey] = field(default_factory=set)
    joins: dict[tuple[ColumnKey, ColumnKey], str] = field(default_factory=dict)
    models: dict[str, _Model] = field(default_factory=dict)
    formulas: dict[str, _Formula] = field(default_factory=dict)

    # Tables and their descriptions

    def read_descriptions(self) -> None:
        for part in ("nodes", "sources"):
            for id, node in (self.manifest.get(part) or {}).items():
                if node.get("resource_type") in _KINDS:
                    self.nodes[id] = node
        for id, node in self.nodes.items():
            table = self._table_of(node)
            columns = node.get("columns") or {}
            if table is None:
                if node.get("description") or columns:
                    self.imported.leave_out(id, f"the source has no table `{_table_name(node)}`")
                continue
            self.tables[id] = table
            if node.get("description"):
                self.imported.add("table", table, {"description": self._text(id, node["description"])}, id)
            for name, column in columns.items():
                if column.get("description"):
                    self._describe(table, name, {"description": self._text(id, column["description"])}, id)

    def _table_of(self, node: Json) -> str | None:
        name = _table_name(node)
        key = self.catalog.key_of(f"{node.get('schema')}.{name}")
        if key is not None:
            return key
        # The schema of the target in which the manifest was written may differ from that of the source.
        named = self.catalog.keys_named(name)
        return named[0] if len(named) == 1 else None

    def _text(self, subject: str, text: str) -> str:
        text = " ".join(str(text).split())
        if len(text) > _MAX_TEXT:
            self.imported.leave_out(subject, f"the end of a description: it has more than {_MAX_TEXT} characters")
        return text[:_MAX_TEXT]

    def _describe(self, table: str, name: str, facts: Mapping[str, Any], subject: str) -> None:
        """Add facts about a column, except those that it already has."""
        own = f"{subject}.{name}"
        with self.imported.left_out_if_unresolved(own):
            key = find_column(f"{table}.{name}", self.catalog)
            self.subjects.setdefault(key, own)
            known = self.columns.setdefault(key, {})
            known.update({**facts, **known})

    # Tests

    def read_tests(self) -> None:
        relationships = []
        for id, node in (self.manifest.get("nodes") or {}).items():
            if node.get("resource_type") != "test":
                continue
            metadata = node.get("test_metadata") or {}
            kind = metadata.get("name")
            arguments = {**(metadata.get("kwargs") or {})}
            arguments |= arguments.pop("arguments", None) or {}
            if metadata.get("namespace") or kind not in ("unique", "not_null", "accepted_values", "relationships"):
                self.imported.leave_out(
                    id, f"the test `{kind}` has no counterpart" if kind else "it is not a generic test"
                )
                continue
            column = arguments.get("column_name") or node.get("column_name")
            with self.imported.left_out_if_unresolved(id):
                table = self._table(_tested(node), str(arguments.get("model", "")))
                key = find_column(f"{table}.{column}", self.catalog)
                # `not_null` has no effect: rows without a value do not change a cardinality.
                if kind == "unique":
                    self.unique.add(key)
                elif kind == "accepted_values":
                    self._read_values(id, key, arguments.get("values"))
                elif kind == "relationships":
                    relationships.append((id, key, arguments))
        for id, key, arguments in relationships:
            node = self.manifest["nodes"][id]
            tested = _tested(node)
            # A table can refer to itself.
            referred_to = next((other for other in _dependencies(node) if other != tested), tested)
            with self.imported.left_out_if_unresolved(id):
                table = self._table(referred_to, str(arguments.get("to")))
                other = find_column(f"{table}.{arguments.get('field')}", self.catalog)
                self.joins.setdefault((key, other), id)

    def _table(self, id: str | None, name: str) -> str:
        table = self.tables.get(id or "")
        if table is None:
            raise Unresolved(f"the source does not have the table of `{name}`")
        return table

    def _read_values(self, subject: str, key: ColumnKey, values: object) -> None:
        if not isinstance(values, list) or not values:
            self.imported.leave_out(subject, "it lists no values")
        elif len(values) > _MAX_VALUES:
            self.imported.leave_out(subject, f"it lists more than {_MAX_VALUES} values")
        else:
            self._describe(key[0], key[1], {"labels": {str(value): str(value) for value in values}}, subject)

    # Semantic models

    def _semantic(self, part: str) -> list[Json]:
        content: Any = (self.semantic if self.semantic is not None else self.manifest).get(part) or []
        return list(content.values()) if isinstance(content, Mapping) else list(content)

    def read_semantic_models(self) -> None:
        for content in self._semantic("semantic_models"):
            name, subject = str(content.get("name")), f"semantic_model.{content.get('name')}"
            relation = content.get("node_relation") or {}
            table = self._table_of({"schema": relation.get("schema_name"), "alias": relation.get("alias")})
            if table is None:
                self.imported.leave_out(subject, f"the source has no table `{relation.get('alias')}`")
                continue
            model = self.models[name] = _Model(name, table, content)
            for dimension in model.parts("dimensions"):
                self._read_dimension(model, dimension, subject)
        for model in self.models.values():
            for entity in model.parts("entities"):
                for other in self.models.values() if entity.get("type") == "foreign" else ():
                    target = other.find("entities", entity["name"])
                    if other.table != model.table and other.has_key(entity["name"]) and target:
                        self._join_entities(model, entity, other, target)

    def _read_dimension(self, model: _Model, dimension: Json, subject: str) -> None:
        column = str(dimension.get("expr") or dimension["name"])
        synonyms = [str(dimension["name"]).replace("_", " "), str(dimension.get("label") or "")]
        own = f"{subject}.{dimension['name']}"
        try:
            key = find_column(f"{model.table}.{column}", self.catalog)
        except Unresolved:
            if not dimension.get("description") and not dimension.get("label"):
                # Filters read the dimension from the semantic model.
                return
            self._read_computed_dimension(model, dimension, own)
            return
        facts: dict[str, Any] = {}
        if dimension.get("description"):
            facts["description"] = self._text(own, dimension["description"])
        if names := unique_names(synonyms, key[1].replace("_", " ")):
            facts["synonyms"] = names
        if facts:
            self._describe(*key, facts, own)

    def _read_computed_dimension(self, model: _Model, dimension: Json, subject: str) -> None:
        name = str(dimension["name"]).replace("_", " ")
        with self.imported.left_out_if_unresolved(subject):
            tree = self._on_table(str(dimension.get("expr") or dimension["name"]), model.table)
            body = {
                "definition": self._text(subject, dimension.get("description") or dimension["label"]),
                "synonyms": unique_names([str(dimension.get("label") or "")], name),
                "tables": [model.table],
                "expression": sql_of(tree, self.catalog),
            }
            self.imported.add("term", name, body, subject)

    def _join_entities(self, model: _Model, entity: Json, other: _Model, target: Json) -> None:
        subject = f"semantic_model.{model.name}.{entity['name']}"
        with self.imported.left_out_if_unresolved(subject):
            first = find_column(f"{model.table}.{entity.get('expr') or entity['name']}", self.catalog)
            second = find_column(f"{other.table}.{target.get('expr') or target['name']}", self.catalog)
            self.unique.add(second)
            self.joins.setdefault((first, second), subject)

    def add_columns_and_joins(self) -> None:
        for (table, column), facts in self.columns.items():
            self.imported.add("column", f"{table}.{column}", facts, self.subjects[table, column])
        for (first, second), subject in self.joins.items():
            ends = [f"{table}.{column}" for table, column in (first, second)]
            cardinality = "one-to-one" if {first, second} <= self.unique else "many-to-one"
            body = {"from": ends[0], "to": ends[1], "cardinality": cardinality}
            self.imported.add("join", " = ".join(ends), body, subject)

    # Metrics

    def read_metrics(self) -> None:
        contents = {str(content["name"]): content for content in self._semantic("metrics")}
        for name, content in contents.items():
            subject = f"metric.{name}"
            with self.imported.left_out_if_unresolved(subject):
                self._add_metric(name, content, self._formula(name, contents), subject)

    def _add_metric(self, name: str, content: Json, formula: _Formula, subject: str) -> None:
        text = self._text(subject, content.get("description") or "")
        shown = name.replace("_", " ")
        named = {column.table for column in formula.expression.find_all(exp.Column)}
        body = {
            "synonyms": unique_names([str(content.get("label") or "")], shown),
            "definition": " ".join(filter(None, (text, formula.note))) or None,
            "expression": sql_of(formula.expression, self.catalog),
            "filters": [sql_of(each, self.catalog) for each in formula.conditions],
            "tables": [] if named else [formula.table],
            "date_column": formula.date_column,
            "additivity": formula.additivity if formula.additivity != "additive" else None,
        }
        self.imported.add("metric", shown, body, subject)

    def _formula(self, name: str, contents: Mapping[str, Json], path: tuple[str, ...] = ()) -> _Formula:
        """Return a metric as an expression.

        Raises:
            Unresolved: the metric cannot be written as one expression, or a part of it is unknown.
        """
        if name in self.formulas:
            return self.formulas[name]
        if name in path:
            raise Unresolved("it is defined by itself")
        content = contents.get(name)
        if content is None:
            raise Unresolved(f"there is no metric `{name}`")
        path = (*path, name)
        kind, parameters = content.get("type"), content.get("type_params") or {}
        if kind == "simple":
            formula = self._simple(content, parameters)
        elif kind == "cumulative":
            formula = self._cumulative(content, parameters, contents, path)
        elif kind == "ratio":
            parts = ("numerator", "denominator")
            inputs = {name: self._input(parameters.get(name), contents, path) for name in parts}
            formula = self._combined("1.0 * numerator / NULLIF(denominator, 0)", inputs, None)
        elif kind == "derived":
            formula = self._derived(parameters, contents, path)
        else:
            raise Unresolved(f"a metric of the type `{kind}` cannot be an expression")
        self.formulas[name] = formula.with_conditions(self._conditions(content.get("filter"), formula.table))
        return self.formulas[name]

    def _simple(self, content: Json, parameters: Json) -> _Formula:
        params = parameters.get("metric_aggregation_params")
        measure_input = parameters.get("measure")
        if params:
            model_name = params.get("semantic_model")
            if model_name not in self.models:
                raise Unresolved(f"the semantic model `{model_name}` is not imported")
            model = self.models[str(model_name)]
            own = {"name": content.get("name"), "expr": params.get("expr") or parameters.get("expr")}
            measure: Json = {**params, **own}
            inputs: Json = parameters
        elif measure_input:
            inputs = {"name": measure_input} if isinstance(measure_input, str) else measure_input
            model, measure = self._measure(str(inputs.get("name")))
        else:
            raise Unresolved("it names no measure")
        formula = self._aggregated(model, measure)
        if inputs.get("fill_nulls_with") is not None or inputs.get("join_to_timespine"):
            subject = f"metric.{content.get('name')}"
            self.imported.leave_out(
                subject, "`fill_nulls_with` and `join_to_timespine`: periods without rows have no value"
            )
        return formula if params else formula.with_conditions(self._conditions(inputs.get("filter"), model.table))

    def _aggregated(self, model: _Model, measure: Json) -> _Formula:
        """Return a measure of a semantic model as an expression."""
        function = str(measure.get("agg"))
        params = measure.get("agg_params") or {}
        percentile = [float(params["percentile"])] if params.get("percentile") is not None else []
        value = self._on_table(str(measure.get("expr") or measure["name"]), model.table)
        additivity, note = ("additive" if function in _ADDITIVE else "non-additive"), ""
        excluded = measure.get("non_additive_dimension")
        if excluded:
            additivity, note = "semi-additive", f"Not to be added over {excluded.get('name')}."
        dated_by = measure.get("agg_time_dimension") or (model.content.get("defaults") or {}).get("agg_time_dimension")
        return _Formula(
            aggregate(function, value, percentile), (), model.table, additivity,
            self._date_column(model, dated_by), note,
        )  # fmt: skip

    def _date_column(self, model: _Model, dimension: str | None) -> str | None:
        found = model.find("dimensions", str(dimension)) if dimension else None
        if found is None:
            return None
        try:
            return ".".join(find_column(f"{model.table}.{found.get('expr') or found['name']}", self.catalog))
        except Unresolved:
            return None

    def _measure(self, name: str) -> tuple[_Model, Json]:
        for model in self.models.values():
            if measure := model.find("measures", name):
                return model, measure
        raise Unresolved(f"the semantic model of the measure `{name}` is not imported")

    def _cumulative(
        self, content: Json, parameters: Json, contents: Mapping[str, Json], path: tuple[str, ...]
    ) -> _Formula:
        own = parameters.get("cumulative_type_params") or {}
        for limit in ("window", "grain_to_date"):
            if parameters.get(limit) or own.get(limit):
                raise Unresolved(f"a cumulative metric with `{limit}` cannot be one expression")
        if own.get("metric"):
            formula = self._input(own["metric"], contents, path)
        else:
            formula = self._simple(content, parameters)
        note = "Cumulative: the value of a period counts all rows up to its end."
        return replace(formula, additivity="semi-additive", note=" ".join(filter(None, (formula.note, note))))

    def _input(self, value: Any, contents: Mapping[str, Json], path: tuple[str, ...]) -> _Formula:
        given: Json = {"name": value} if isinstance(value, str) else value or {}
        if given.get("offset_window") or given.get("offset_to_grain"):
            raise Unresolved(f"the metric `{given.get('name')}` of another period cannot be part of one expression")
        formula = self._formula(str(given.get("name")), contents, path)
        return formula.with_conditions(self._conditions(given.get("filter"), formula.table))

    def _derived(self, parameters: Json, contents: Mapping[str, Json], path: tuple[str, ...]) -> _Formula:
        inputs = {}
        for given in parameters.get("metrics") or ():
            name = given if isinstance(given, str) else given.get("alias") or given.get("name")
            inputs[str(name).lower()] = self._input(given, contents, path)
        return self._combined(str(parameters.get("expr") or ""), inputs, self.dialect)

    def _combined(self, sql: str, inputs: Mapping[str, _Formula], dialect: str | None) -> _Formula:
        """Return an expression of metrics; if their filters differ, these are moved into the aggregate functions."""
        tables = sorted({formula.table for formula in inputs.values()})
        if len(tables) != 1:
            names = ", ".join(f"`{table}`" for table in tables)
            raise Unresolved(f"it combines metrics of several tables ({names})" if tables else "it has no metrics")
        filters = {tuple(each.sql() for each in formula.conditions) for formula in inputs.values()}
        shared = next(iter(inputs.values())).conditions if len(filters) == 1 else ()
        values = {
            name: filtered(formula.expression, formula.conditions)
            if formula.conditions and not shared
            else formula.expression
            for name, formula in inputs.items()
        }
        tree = replaced_columns(read_expression(sql, self.catalog, dialect), values)
        dates = {formula.date_column for formula in inputs.values()}
        return _Formula(
            tree, shared, tables[0], "non-additive", next(iter(dates)) if len(dates) == 1 else None,
            " ".join(dict.fromkeys(filter(None, (formula.note for formula in inputs.values())))),
        )  # fmt: skip

    # Filters

    def _on_table(self, sql: str, table: str) -> exp.Expr:
        if "{{" in sql or "{%" in sql:
            raise Unresolved(f"`{sql}` is a template")
        tree = with_tables(read_expression(sql, self.catalog, self.dialect), self.catalog, table)
        if has_aggregate(tree):
            raise Unresolved(f"`{sql}` has an aggregate function")
        return tree

    def _conditions(self, filter_: Any, table: str) -> list[exp.Expr]:
        if not filter_:
            return []
        if isinstance(filter_, Mapping):
            given = filter_.get("where_filters", [filter_])
        else:
            given = filter_ if isinstance(filter_, list) else [filter_]
        conditions = []
        for each in given:
            template = each if isinstance(each, str) else each.get("where_sql_template", "")
            conditions.append(self._condition(str(template).strip(), table))
        return conditions

    def _condition(self, template: str, table: str) -> exp.Expr:
        references: dict[str, exp.Expr] = {}

        def placeholder(call: re.Match[str]) -> str:
            arguments = [first or second for first, second in _STRING.findall(call[2])]
            name = f"reference_{len(references)}"
            references[name] = self._reference(call[1], arguments, call[3] or "", table)
            return name

        sql = _CALL.sub(placeholder, template)
        if "{{" in sql or "{%" in sql:
            raise Unresolved(f"the filter `{template}` uses a template that cannot be resolved")
        tree = read_expression(sql, self.catalog, self.dialect)
        if tree.find(exp.Query):
            raise Unresolved(f"the filter `{template}` contains a subquery")

        def resolved(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column):
                return node
            reference = references.get(node.name) if not node.table else None
            if reference is None:
                return with_tables(node, self.catalog, table)
            return reference.copy() if isinstance(reference, exp.Column) else exp.paren(reference.copy())

        condition: exp.Expr = tree.transform(resolved).unnest()
        return condition

    def _reference(self, kind: str, arguments: list[str], method: str, table: str) -> exp.Expr:
        """Return the column or expression of a call such as `Dimension('customer__country')`."""
        if kind not in ("Dimension", "TimeDimension", "Entity") or not arguments:
            raise Unresolved(f"the filter refers to `{kind}({', '.join(arguments)})`")
        *entities, name = arguments[0].split("__")
        grain = arguments[1] if kind == "TimeDimension" and len(arguments) > 1 else None
        if method:
            found = re.fullmatch(r"\.grain\(\s*['\"](\w+)['\"]\s*\)\s*", method)
            if not found:
                raise Unresolved(f"the filter refers to `{arguments[0]}{method.strip()}`")
            grain = found[1]
        tree = self._member("entities" if kind == "Entity" else "dimensions", entities, name, table)
        return tree if grain is None else self._truncated(tree, grain)

    def _member(self, part: str, entities: list[str], name: str, table: str) -> exp.Expr:
        """Return a dimension or entity that a metric over `table` reaches with at most one join."""
        path = "__".join((*entities, name))
        own = [model for model in self.models.values() if model.table == table]
        for model in own:
            if name == "metric_time":
                name = str((model.content.get("defaults") or {}).get("agg_time_dimension"))
            member = model.find(part, name)
            if member and (not entities or model.has_key(entities[-1])):
                return self._on_table(str(member.get("expr") or member["name"]), table)
        if len(entities) > 1:
            raise Unresolved(f"`{path}` needs more than one join")
        reachable = entities and any(model.find("entities", entities[0]) for model in own)
        for model in self.models.values() if reachable else ():
            member = model.find(part, name)
            if member and model.has_key(entities[0]) and model.table != table:
                self._require_one_join(table, model.table)
                return self._on_table(str(member.get("expr") or member["name"]), model.table)
        raise Unresolved(f"`{path}` is not a dimension that can be reached from `{table}`")

    def _require_one_join(self, table: str, other: str) -> None:
        """Raise an error if a statement cannot tell which join to `other` is meant."""
        pairs = {
            tuple(zip(foreign.columns, foreign.target_columns, strict=False))
            for foreign in self.catalog.tables[table].foreign_keys
            if foreign.target == other and not foreign.inferred
        }
        pairs |= {((first[1], second[1]),) for first, second in self.joins if (first[0], second[0]) == (table, other)}
        if len(pairs) > 1:
            raise Unresolved(f"several joins lead from `{table}` to `{other}`")

    def _truncated(self, tree: exp.Expr, grain: str) -> exp.Expr:
        if grain == "day" and isinstance(tree, exp.Column):
            table, column = find_column(".".join(part.name for part in tree.parts), self.catalog)
            found = self.catalog.tables[table].column(column)
            if found.type_class == "date":
                return tree
        return exp.TimestampTrunc(this=tree.copy(), unit=exp.var(grain.upper()))


def _dependencies(node: Json) -> list[str]:
    return (node.get("depends_on") or {}).get("nodes") or []


def _tested(node: Json) -> str | None:
    """Return the id of the node that a test is attached to; tests of sources name it as their only dependency."""
    ids = _dependencies(node)
    return node.get("attached_node") or (ids[0] if len(ids) == 1 else None)


def _table_name(node: Json) -> str:
    return str(node.get("identifier") or node.get("alias") or node.get("name"))
