"""Import from Open Semantic Interchange (OSI), core specification 1.0.

Datasets are tables, simple fields are columns, computed fields are terms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from datasphinx.agent.engines import engines
from datasphinx.agent.knowledge.imports import Imported, unique_names
from datasphinx.agent.knowledge.knowledge import Kind
from datasphinx.agent.knowledge.references import Unresolved
from datasphinx.agent.knowledge.translation import read_expression, sql_of, with_tables
from datasphinx.agent.schema.catalog import Catalog

_STANDARD = "ANSI_SQL"
"""The dialect of an expression that names none; the names of others are those of sqlglot in capital letters."""
_KEYS: Mapping[str, frozenset[str]] = {
    "semantic model": frozenset(
        ("name", "description", "ai_context", "datasets", "relationships", "metrics")
    ),
    "dataset": frozenset(
        ("name", "source", "primary_key", "unique_keys", "description", "ai_context", "fields")
    ),
    "field": frozenset(("name", "expression", "dimension", "description", "ai_context")),
    "relationship": frozenset(
        ("name", "from", "to", "from_columns", "to_columns", "ai_context")
    ),
    "metric": frozenset(("name", "expression", "description", "ai_context")),
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
    for key in document:
        if key not in ("semantic_model", "version"):
            imported.leave_out(name, f"`{key}` of a document has no counterpart")
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
        self._report_unread("semantic model", model, self.model)
        for dataset in model.get("datasets") or ():
            self._read_dataset(dataset)
        for relationship in model.get("relationships") or ():
            self._read_relationship(relationship)
        for metric in model.get("metrics") or ():
            self._read_metric(metric)
        instructions, _ = self._context(model, self.model)
        if instructions:
            self._add("instruction", "instructions", {"text": instructions}, self.model)

    def _add(self, kind: Kind, name: str, body: Json, subject: str) -> None:
        self.imported.add(kind, name, body, f"{self.model}: {subject}")

    def _report_unread(self, kind: str, content: Json, subject: str) -> None:
        """Report the keys and the extensions that are not read."""
        for key in content.keys() - _KEYS[kind] - {"custom_extensions"}:
            self.imported.leave_out(subject, f"`{key}` of a {kind} has no counterpart")
        for extension in content.get("custom_extensions") or ():
            self.imported.leave_out(subject, f"a custom extension of {extension.get('vendor_name')}")

    def _context(self, content: Json, subject: str) -> tuple[str, list[str]]:
        """Return the instructions and the synonyms for AI tools."""
        context = content.get("ai_context")
        if isinstance(context, str):
            parts = [part.strip() for part in context.split(",")]
            is_list = len(parts) > 1 and all(len(part.split()) <= _MAX_WORDS for part in parts)
            return ("", parts) if is_list else (context.strip(), [])
        context = context if isinstance(context, Mapping) else {}
        if context.get("examples"):
            self.imported.leave_out(subject, "example questions, which have no SQL")
        return str(context.get("instructions") or "").strip(), [str(name) for name in context.get("synonyms") or ()]

    def _read_dataset(self, dataset: Json) -> None:
        name, subject = str(dataset.get("name")), f"dataset {dataset.get('name')}"
        table = self._table_of(str(dataset.get("source") or ""))
        if table is None:
            self.imported.leave_out(subject, f"its source `{dataset.get('source')}` is not a table of this source")
            return
        self.tables[name.lower()] = table
        unique = [dataset.get("primary_key") or [], *(dataset.get("unique_keys") or ())]
        self.keys[name.lower()] = [sorted(map(str.lower, map(str, key))) for key in unique if key]
        self._report_unread("dataset", dataset, subject)
        instructions, synonyms = self._context(dataset, subject)
        full = self.catalog.full_names[table].name
        names = unique_names([*([] if name.lower() == full.lower() else [name.replace("_", " ")]), *synonyms], full)
        body = {"description": _sentences(dataset.get("description"), instructions), "synonyms": names}
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
        """Return the expression in standard SQL, otherwise the first one in the dialect of an engine.

        Raises:
            Unresolved: there is none.
        """
        given = content.get("expression")
        # The examples of the specification also leave out the level `dialects`.
        dialects = given.get("dialects") if isinstance(given, Mapping) else given
        texts = {str(each.get("dialect", _STANDARD)): str(each.get("expression")) for each in dialects or ()}
        if _STANDARD in texts:
            return read_expression(texts[_STANDARD], self.catalog, "")
        for name, text in texts.items():
            if any(engine.dialect == name.lower() for engine in engines().values()):
                return read_expression(text, self.catalog, name.lower())
        raise Unresolved(f"it has no SQL expression, only {', '.join(texts) or 'none'}")

    def _read_field(self, content: Json, table: str, subject: str) -> None:
        name = str(content.get("name"))
        self._report_unread("field", content, subject)
        instructions, synonyms = self._context(content, subject)
        description = _sentences(content.get("description"), instructions)
        try:
            tree = self._resolved(self._expression(content), table)
        except Unresolved as error:
            self.imported.leave_out(subject, str(error))
            return
        self.fields[table, name.lower()] = tree
        shown = name.replace("_", " ")
        if isinstance(tree, exp.Column):
            column = tree.name
            others = [] if name.lower() == column.lower() else [shown]
            body = {"description": description, "synonyms": unique_names([*others, *synonyms], column)}
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
        self._report_unread("relationship", content, subject)
        instructions, synonyms = self._context(content, subject)
        if synonyms:
            self.imported.leave_out(subject, "synonyms of a relationship")
        ends = []
        for side in ("from", "to"):
            dataset = str(content.get(side)).lower()
            if dataset not in self.tables:
                self.imported.leave_out(subject, f"the dataset `{content.get(side)}` is not imported")
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
        }
        self._add("join", "join", body, subject)

    def _read_metric(self, content: Json) -> None:
        name, subject = str(content.get("name")), f"metric {content.get('name')}"
        self._report_unread("metric", content, subject)
        instructions, synonyms = self._context(content, subject)
        shown = name.replace("_", " ")
        with self.imported.left_out_if_unresolved(subject):
            tree = self._resolved(self._expression(content), None)
            body = {
                "definition": _sentences(content.get("description"), instructions),
                "synonyms": unique_names(synonyms, shown),
                "expression": sql_of(tree, self.catalog),
            }
            self._add("metric", shown, body, subject)


def _sentences(*texts: object) -> str:
    return " ".join(" ".join(str(text).split()) for text in texts if text)
