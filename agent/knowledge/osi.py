"""Import from and export to Open Semantic Interchange (OSI), core specification 1.0.

Datasets are tables, simple fields are columns, computed fields are terms. Facts that the specification cannot express,
such as filters of a metric or labels of codes, are written as a custom extension of the vendor `COMMON` with the key
`datasphinx`, and read from there.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from sqlglot import exp

from datasphinx.agent.knowledge.entries import (
    ColumnEntry,
    InstructionEntry,
    JoinEntry,
    MetricEntry,
    TableEntry,
    TermEntry,
)
from datasphinx.agent.knowledge.imports import Imported, ImportedEntry, LeftOut, unique_names
from datasphinx.agent.knowledge.knowledge import Item, Kind
from datasphinx.agent.knowledge.references import Definition, Unresolved, definition_of, find_column
from datasphinx.agent.knowledge.source_knowledge import SourceKnowledge
from datasphinx.agent.knowledge.translation import column_node, filtered, read_expression, sql_of, with_tables
from datasphinx.agent.knowledge.yaml_text import dump_yaml
from datasphinx.agent.schema.catalog import Catalog, ColumnKey, Table

_ANSI = ""
"""sqlglot's name of standard SQL."""
_DIALECTS = {"ANSI_SQL": _ANSI, "SNOWFLAKE": "snowflake", "DATABRICKS": "databricks", "BIGQUERY": "bigquery"}
"""sqlglot's names of the SQL dialects, by precedence: the first one that an expression has is read."""
_VENDOR, _EXTENSION = "COMMON", "datasphinx"
_NAME = re.compile(r"\W+")
_KEYS: Mapping[str, frozenset[str]] = {
    "semantic model": frozenset(
        ("name", "description", "ai_context", "datasets", "relationships", "metrics", "custom_extensions")
    ),
    "dataset": frozenset(
        ("name", "source", "primary_key", "unique_keys", "description", "ai_context", "fields", "custom_extensions")
    ),
    "field": frozenset(("name", "expression", "dimension", "description", "ai_context", "custom_extensions")),
    "relationship": frozenset(
        ("name", "from", "to", "from_columns", "to_columns", "ai_context", "custom_extensions")
    ),
    "metric": frozenset(("name", "expression", "description", "ai_context", "custom_extensions")),
}  # fmt: skip
"""The keys that are read, by kind of object. The `label` of a field, a category, is not imported."""
_MAX_WORDS = 5
"""Maximum number of words of a synonym in a context that is plain text."""

Json = Mapping[str, Any]


def read_osi(document: Any, name: str, catalog: Catalog) -> Imported:
    """Return the entries of an OSI document; `name` is that of its file.

    Raises:
        Unresolved: it has no list `semantic_model`.
    """
    models = document.get("semantic_model") if isinstance(document, Mapping) else None
    if not isinstance(models, list) or not all(isinstance(model, Mapping) for model in models):
        raise Unresolved("it has no list `semantic_model`")
    imported = Imported("osi", name)
    imported.left_out += [
        LeftOut(name, f"`{key}` of a document has no counterpart")
        for key in document
        if key not in ("semantic_model", "version")
    ]
    for model in models:
        _ModelReader(imported, catalog, str(model.get("name"))).read(model)
    return imported


@dataclass
class _ModelReader:
    imported: Imported
    catalog: Catalog
    model: str
    tables: dict[str, str] = field(default_factory=dict)
    """Keys of the tables by the name of their dataset in lower case."""
    fields: dict[tuple[str, str], exp.Expr] = field(default_factory=dict)
    """Expressions of the fields by table and name in lower case."""
    keys: dict[str, list[list[str]]] = field(default_factory=dict)
    """Unique keys by dataset in lower case."""

    def read(self, model: Json) -> None:
        own = self._start("semantic model", model, self.model)
        for dataset in model.get("datasets") or ():
            self._read_dataset(dataset)
        for relationship in model.get("relationships") or ():
            self._read_relationship(relationship)
        for metric in model.get("metrics") or ():
            self._read_metric(metric)
        for kind, bodies in own.items():
            for body in bodies if isinstance(bodies, list) else ():
                name = str(body.pop("name", kind)) if isinstance(body, dict) else kind
                if kind in get_args(Kind):
                    self._add(cast(Kind, kind), name, body, self.model)
                else:
                    self._leave_out(self.model, f"there are no entries of the kind `{kind}`")
        instructions, _ = self._context(model, self.model)
        if instructions and "instruction" not in own:
            self._add("instruction", "instructions", {"text": instructions}, self.model)

    def _leave_out(self, subject: str, reason: str) -> None:
        self.imported.left_out.append(LeftOut(subject, reason))

    def _add(self, kind: Kind, name: str, body: Any, subject: str) -> None:
        if not isinstance(body, dict):
            self._leave_out(subject, f"the extension of `{name}` is not an object")
            return
        content = {key: value for key, value in body.items() if value not in (None, "", [], {})}
        self.imported.entries.append(ImportedEntry(kind, name, content, f"{self.model}: {subject}"))

    def _start(self, kind: str, content: Json, subject: str) -> dict[str, Any]:
        """Report keys and extensions that are not read, and return the contents of the extension `datasphinx`."""
        for key in content.keys() - _KEYS[kind]:
            self._leave_out(subject, f"`{key}` of a {kind} has no counterpart")
        own: dict[str, Any] = {}
        for extension in content.get("custom_extensions") or ():
            try:
                data = json.loads(extension.get("data", "{}"))
            except ValueError:
                data = {}
            if (
                extension.get("vendor_name") == _VENDOR
                and isinstance(data, dict)
                and isinstance(data.get(_EXTENSION), dict)
            ):
                own |= data[_EXTENSION]
            else:
                self._leave_out(subject, f"a custom extension of {extension.get('vendor_name')}")
        return own

    def _context(self, content: Json, subject: str) -> tuple[str, list[str]]:
        """Return the instructions and the synonyms for AI tools."""
        context = content.get("ai_context")
        if isinstance(context, str):
            parts = [part.strip() for part in context.split(",")]
            is_list = len(parts) > 1 and all(len(part.split()) <= _MAX_WORDS for part in parts)
            return ("", parts) if is_list else (context.strip(), [])
        context = context if isinstance(context, Mapping) else {}
        if context.get("examples"):
            self._leave_out(subject, "example questions, which have no SQL")
        return str(context.get("instructions") or "").strip(), [str(name) for name in context.get("synonyms") or ()]

    def _read_dataset(self, dataset: Json) -> None:
        name, subject = str(dataset.get("name")), f"dataset {dataset.get('name')}"
        table = self._table_of(str(dataset.get("source") or ""))
        if table is None:
            self._leave_out(subject, f"its source `{dataset.get('source')}` is not a table of this source")
            return
        self.tables[name.lower()] = table
        unique = [dataset.get("primary_key") or [], *(dataset.get("unique_keys") or ())]
        self.keys[name.lower()] = [sorted(map(str.lower, map(str, key))) for key in unique if key]
        own = self._start("dataset", dataset, subject)
        instructions, synonyms = self._context(dataset, subject)
        full = self.catalog.full_names[table].name
        names = unique_names([*([] if name.lower() == full.lower() else [name.replace("_", " ")]), *synonyms], full)
        body = {"description": _sentences(dataset.get("description"), instructions), "synonyms": names, **own}
        if any(body.values()):
            self._add("table", table, body, subject)
        for each in dataset.get("fields") or ():
            self._read_field(each, table, f"{subject}.{each.get('name')}")

    def _table_of(self, source: str) -> str | None:
        parts = [part.strip('"`[] ') for part in source.split(".")]
        for start in range(len(parts)):
            key = self.catalog.key_of(".".join(parts[start:]))
            if key is not None:
                return key
        named = self.catalog.keys_named(parts[-1])
        return named[0] if len(named) == 1 else None

    def _expression(self, content: Json) -> exp.Expr:
        """Return the first SQL expression that can be read.

        Raises:
            Unresolved: there is none.
        """
        given = content.get("expression")
        # The examples of the specification also leave out the level `dialects`.
        dialects = given.get("dialects") if isinstance(given, Mapping) else given
        texts = {str(each.get("dialect", "ANSI_SQL")): str(each.get("expression")) for each in dialects or ()}
        for name, dialect in _DIALECTS.items():
            if name in texts:
                return read_expression(texts[name], self.catalog, dialect)
        raise Unresolved(f"it has no SQL expression, only {', '.join(texts) or 'none'}")

    def _read_field(self, content: Json, table: str, subject: str) -> None:
        name = str(content.get("name"))
        own = self._start("field", content, subject)
        instructions, synonyms = self._context(content, subject)
        description = _sentences(content.get("description"), instructions)
        try:
            tree = self._resolved(self._expression(content), table)
        except Unresolved as error:
            self._leave_out(subject, str(error))
            return
        self.fields[table, name.lower()] = tree
        shown = name.replace("_", " ")
        if "term" in own and isinstance(own["term"], dict):
            self._add("term", str(own["term"].pop("name", shown)), own["term"], subject)
        elif isinstance(tree, exp.Column):
            column = tree.name
            others = [] if name.lower() == column.lower() else [shown]
            body = {"description": description, "synonyms": unique_names([*others, *synonyms], column), **own}
            if any(body.values()):
                self._add("column", f"{table}.{column}", body, subject)
        else:
            sql = sql_of(tree, self.catalog)
            body = {
                "definition": description or sql,
                "synonyms": unique_names(synonyms, shown),
                "tables": [table],
                "expression": sql,
            }
            self._add("term", shown, body, subject)

    def _resolved(self, tree: exp.Expr, table: str | None) -> exp.Expr:
        """Return `tree` with the fields of datasets replaced by columns of tables."""

        def resolved(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column):
                return node
            owner = self.tables.get(node.table.lower()) if node.table else table
            if owner is None and not node.table:
                owners = {key for key, name in self.fields if name == node.name.lower()}
                owner = owners.pop() if len(owners) == 1 else None
            known = self.fields.get((owner, node.name.lower())) if owner else None
            if known is not None:
                return known.copy() if isinstance(known, exp.Column) else exp.paren(known.copy())
            return with_tables(node, self.catalog, owner, self.tables)

        if tree.find(exp.Query):
            raise Unresolved("it contains a subquery")
        result: exp.Expr = tree.copy().transform(resolved)
        return result

    def _read_relationship(self, content: Json) -> None:
        subject = f"relationship {content.get('name')}"
        own = self._start("relationship", content, subject)
        instructions, synonyms = self._context(content, subject)
        if synonyms:
            self._leave_out(subject, "synonyms of a relationship")
        ends = []
        for side in ("from", "to"):
            dataset = str(content.get(side)).lower()
            if dataset not in self.tables:
                self._leave_out(subject, f"the dataset `{content.get(side)}` is not imported")
                return
            columns = []
            for column in content.get(f"{side}_columns") or ():
                tree = self.fields.get((self.tables[dataset], str(column).lower()))
                name = tree.name if isinstance(tree, exp.Column) else column
                columns.append(f"{self.tables[dataset]}.{name}")
            ends.append(columns)
        key = sorted(str(column).lower() for column in content.get("from_columns") or ())
        is_unique = key in self.keys[str(content.get("from")).lower()]
        body = {
            "from": ends[0],
            "to": ends[1],
            "cardinality": "one-to-one" if is_unique else "many-to-one",
            "description": instructions,
            **own,
        }
        self._add("join", "join", body, subject)

    def _read_metric(self, content: Json) -> None:
        name, subject = str(content.get("name")), f"metric {content.get('name')}"
        own = self._start("metric", content, subject)
        if "metric" in own and isinstance(own["metric"], dict):
            self._add("metric", str(own["metric"].pop("name", name)), own["metric"], subject)
            return
        instructions, synonyms = self._context(content, subject)
        try:
            tree = self._resolved(self._expression(content), None)
            sql = sql_of(tree, self.catalog)
        except Unresolved as error:
            self._leave_out(subject, str(error))
            return
        shown = name.replace("_", " ")
        body = {
            "definition": _sentences(content.get("description"), instructions),
            "synonyms": unique_names(synonyms, shown),
            "expression": sql,
        }
        self._add("metric", shown, body, subject)


def _sentences(*texts: object) -> str:
    return " ".join(" ".join(str(text).split()) for text in texts if text)


def export_osi(knowledge: SourceKnowledge, name: str) -> tuple[str, list[LeftOut]]:
    """Return the used entries that fit the catalog as an OSI document in YAML, and what is left out.

    `name` is that of the semantic model. Datasets are the tables that the entries name, with all their columns.

    Raises:
        DriverMissing: the package `pyyaml` is not installed.
    """
    left_out = [
        LeftOut(item.id, str(next(problem for problem in knowledge.problems_of(item) if not problem.is_warning)))
        for item in knowledge.knowledge.used
        if not knowledge.is_valid(item)
    ]
    writer = _ModelWriter(knowledge.catalog, [item for item in knowledge.knowledge.used if knowledge.is_valid(item)])
    model = writer.model(_NAME.sub("_", name).strip("_") or "model")
    return dump_yaml({"semantic_model": [model]}), [*left_out, *writer.left_out]


@dataclass
class _ModelWriter:
    catalog: Catalog
    items: list[Item]
    left_out: list[LeftOut] = field(default_factory=list)
    extension: dict[str, list[Any]] = field(default_factory=dict)
    fields: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Computed fields by table."""

    def model(self, name: str) -> dict[str, Any]:
        metrics = [self._metric(item) for item in self.items if isinstance(item.entry, MetricEntry)]
        for item in self.items:
            if isinstance(item.entry, TermEntry):
                self._add_term(item)
        relationships = list(self._relationships())
        for item in self.items:
            if isinstance(item.entry, InstructionEntry):
                # Together they are the context of the model; the extension keeps them apart.
                self.extension.setdefault(item.kind, []).append(_dumped(item))
            elif not isinstance(item.entry, TableEntry | ColumnEntry | JoinEntry | MetricEntry | TermEntry):
                self._only_extension(item)
        datasets = [self._dataset(self.catalog.tables[key]) for key in self._tables()]
        instructions = [item.entry.text for item in self.items if isinstance(item.entry, InstructionEntry)]
        return _without_empty(
            {
                "name": name,
                "ai_context": _without_empty({"instructions": "\n".join(instructions)}),
                "datasets": datasets,
                "relationships": relationships,
                "metrics": [metric for metric in metrics if metric],
                "custom_extensions": _extensions(self.extension),
            }
        )

    def _tables(self) -> list[str]:
        """Return the keys of the tables that entries name."""
        keys: dict[str, None] = {}
        for item in self.items:
            entry = item.entry
            if isinstance(entry, TableEntry):
                keys[self.catalog.key_of(item.name) or item.name] = None
            elif isinstance(entry, ColumnEntry):
                keys[find_column(item.name, self.catalog)[0]] = None
            elif isinstance(entry, JoinEntry):
                keys |= dict.fromkeys(find_column(name, self.catalog)[0] for name in (*entry.source, *entry.target))
            elif isinstance(entry, TermEntry | MetricEntry):
                definition = definition_of(entry, self.catalog)
                keys |= dict.fromkeys(definition.tables if definition else ())
        return list(keys)

    def _only_extension(self, item: Item, reason: str = "it is written as a custom extension only") -> None:
        body = {"name": item.name, **_dumped(item)}
        self.extension.setdefault(item.kind, []).append(body)
        self.left_out.append(LeftOut(item.id, reason))

    def _dataset(self, table: Table) -> dict[str, Any]:
        item = self._item("table", table.key)
        entry = item.entry if item and isinstance(item.entry, TableEntry) else TableEntry()
        return _without_empty(
            {
                "name": _dataset_name(table.key),
                "source": table.key,
                "primary_key": list(table.primary_key),
                "description": entry.description or table.comment,
                "ai_context": _without_empty({"synonyms": list(entry.synonyms)}),
                "fields": [
                    *(self._field(table, column.name) for column in table.columns),
                    *self.fields.get(table.key, ()),
                ],
                "custom_extensions": _extensions({"hidden": True} if entry.hidden else {}),
            }
        )

    def _field(self, table: Table, name: str) -> dict[str, Any]:
        column = table.column(name)
        item = self._item("column", f"{table.key}.{name}")
        entry = item.entry if item and isinstance(item.entry, ColumnEntry) else ColumnEntry()
        own = _dumped(item) if item else {}
        extension = {key: value for key, value in own.items() if key not in ("description", "synonyms")}
        return _without_empty(
            {
                "name": name,
                "expression": _ansi(exp.Column(this=column_node(table.key, name, self.catalog).this)),
                "dimension": {"is_time": True} if column.type_class in ("date", "datetime") else None,
                "description": entry.description,
                "ai_context": _without_empty({"synonyms": list(entry.synonyms)}),
                "custom_extensions": _extensions(extension),
            }
        )

    def _item(self, kind: Kind, name: str) -> Item | None:
        key = f"{kind}:{name}".lower()
        return next((item for item in self.items if item.id.lower() == key), None)

    def _standard(self, tree: exp.Expr, definition: Definition, *, with_dataset: bool) -> dict[str, Any]:
        """Return an expression in standard SQL with the names of datasets, or without them in a field."""
        only = definition.tables[0] if len(definition.tables) == 1 else None
        qualified = with_tables(tree, self.catalog, only)

        def named(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column):
                return node
            key, _ = find_column(".".join(part.name for part in node.parts), self.catalog)
            return exp.Column(
                this=node.this.copy(), table=exp.to_identifier(_dataset_name(key)) if with_dataset else None
            )

        return _ansi(qualified.transform(named))

    def _metric(self, item: Item) -> dict[str, Any] | None:
        entry = item.entry
        assert isinstance(entry, MetricEntry), "only metrics are passed"
        definition = definition_of(entry, self.catalog)
        assert definition is not None and definition.expression is not None, "a metric has an expression"
        try:
            tree = definition.expression
            if definition.conditions:
                tree = filtered(tree, definition.conditions)
            expression = self._standard(tree, definition, with_dataset=True)
        except Unresolved as error:
            self._only_extension(item, f"it is written as a custom extension only: {error}")
            return None
        return _without_empty(
            {
                "name": _identifier(item.name),
                "expression": expression,
                "description": entry.definition,
                "ai_context": {"synonyms": unique_names([item.name, *entry.synonyms], _identifier(item.name))},
                "custom_extensions": _extensions({"metric": {"name": item.name, **_dumped(item)}}),
            }
        )

    def _add_term(self, item: Item) -> None:
        entry = item.entry
        assert isinstance(entry, TermEntry), "only terms are passed"
        definition = definition_of(entry, self.catalog)
        if definition is None or len(definition.tables) != 1:
            self._only_extension(item)
            return
        tree = definition.expression if definition.expression is not None else definition.conditions[0]
        try:
            expression = self._standard(tree, definition, with_dataset=False)
        except Unresolved as error:
            self._only_extension(item, f"it is written as a custom extension only: {error}")
            return
        body = {
            "name": _identifier(item.name),
            "expression": expression,
            "description": entry.definition,
            "ai_context": {"synonyms": unique_names([item.name, *entry.synonyms], _identifier(item.name))},
            "custom_extensions": _extensions({"term": {"name": item.name, **_dumped(item)}}),
        }
        self.fields.setdefault(definition.tables[0], []).append(_without_empty(body))

    def _relationships(self) -> Iterator[dict[str, Any]]:
        """Yield the declared joins, and the foreign keys of the database between the same tables."""
        known = set()
        for item in self.items:
            entry = item.entry
            if not isinstance(entry, JoinEntry):
                continue
            ends = [[find_column(name, self.catalog) for name in names] for names in (entry.source, entry.target)]
            known.add(frozenset(column for columns in ends for column in columns))
            if entry.cardinality == "many-to-many":
                self._only_extension(item)
                continue
            if entry.cardinality == "one-to-many":
                ends.reverse()
            extension = {key: value for key, value in _dumped(item).items() if key in ("from", "to", "cardinality")}
            if entry.cardinality == "many-to-one":
                extension = {}
            yield _relationship(ends[0], ends[1], entry.description, extension)
        tables = self._tables()
        for key in tables:
            for foreign in self.catalog.tables[key].foreign_keys:
                source = [(key, column) for column in foreign.columns]
                target = [(foreign.target, column) for column in foreign.target_columns]
                if not foreign.inferred and foreign.target in tables and frozenset([*source, *target]) not in known:
                    yield _relationship(source, target, None, {})


def _relationship(
    source: list[ColumnKey], target: list[ColumnKey], description: str | None, extension: Mapping[str, Any]
) -> dict[str, Any]:
    tables = [_dataset_name(columns[0][0]) for columns in (source, target)]
    return _without_empty(
        {
            "name": "_".join([tables[0], "to", tables[1], "by", *(column for _, column in source)]),
            "from": tables[0],
            "to": tables[1],
            "from_columns": [column for _, column in source],
            "to_columns": [column for _, column in target],
            "ai_context": description,
            "custom_extensions": _extensions(extension),
        }
    )


def _dumped(item: Item) -> dict[str, Any]:
    excluded = {"origin", "imported_from", "columns"}
    return item.entry.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=excluded)


def _ansi(tree: exp.Expr) -> dict[str, Any]:
    return {"dialects": [{"dialect": "ANSI_SQL", "expression": tree.sql(dialect=_ANSI)}]}


def _extensions(content: Mapping[str, Any]) -> list[dict[str, str]]:
    data = json.dumps({_EXTENSION: content}, ensure_ascii=False)
    return [{"vendor_name": _VENDOR, "data": data}] if content else []


def _identifier(name: str) -> str:
    return _NAME.sub("_", name).strip("_")


def _dataset_name(key: str) -> str:
    return _identifier(key)


def _without_empty(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if value not in (None, "", [], {})}
