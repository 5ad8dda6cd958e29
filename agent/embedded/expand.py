"""Translation of compact statements, which the embedded model writes, into SQL of the database."""

import re

import sqlglot
from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.transforms import eliminate_qualify

from datasphinx.agent.embedded.compact import conditions_between, identifier, join_condition, table_nodes
from datasphinx.agent.embedded.date_conditions import limit_dates
from datasphinx.agent.embedded.date_ranges import Days
from datasphinx.agent.embedded.outputs import adjust_outputs
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.dialects import exact_dialect
from datasphinx.agent.sql.names import key_of
from datasphinx.agent.sql.rankings import with_null_order

_AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Sum: "total", exp.Avg: "average", exp.Max: "highest", exp.Min: "lowest",
}  # fmt: skip
_DATE_PARTS = {"%Y-%m": "month", "%Y": "year", "%m": "month", "%d": "day", "%w": "weekday", "%Y-%m-%d": "day"}
_EXTRACTED_PARTS = {"%Y": "YEAR", "%m": "MONTH", "%d": "DAY"}
_ARITHMETIC = {"add", "sub", "mul", "div", "mod"}
_QUARTER = re.compile(r"\(STRFTIME\('%m', .*\) \+ 2\) / 3")
_PLAIN = re.compile(r"[A-Za-z_]\w*")


def expand(text: str, catalog: Catalog, question: str = "", days: Days | None = None) -> str:
    """Return the compact statement `text` as SQL of the catalog's dialect: with ON and output aliases, no QUALIFY.

    With `question`, the outputs are adjusted to it (`datasphinx.agent.embedded.outputs.adjust_outputs`). With `days`,
    the rows are limited to them (`datasphinx.agent.embedded.date_conditions.limit_dates`).

    Names are spelled as in the catalog. Unknown names are kept, and later checks report them.

    Raises:
        ValueError: the text cannot be parsed, foreign keys do not imply the condition of a join, or the dialect cannot
            express the statement.
    """
    try:
        null_order = exact_dialect(catalog.dialect).NULL_ORDERING
        tree = sqlglot.parse_one(text, read=with_null_order(SQLite, null_order))
        if not isinstance(tree, exp.Query):
            raise ValueError(f"this is no query: {text}")
        for select in list(tree.find_all(exp.Select)):
            source = select.args.get("from_")
            if source and isinstance(source.this, exp.Table):
                # sqlglot attaches the joins to the table if FROM comes first.
                joins = source.this.args.pop("joins", None) or ()
                select.set("joins", [*joins, *(select.args.get("joins") or ())])
            _join(select, catalog)
            _spell(select, catalog)
        if days:
            limit_dates(tree, catalog, days)
        if question:
            adjust_outputs(tree, catalog, question)
        _name_outputs(tree)
        tree = tree.transform(eliminate_qualify)
        if catalog.engine.enforces_types:
            tree = tree.transform(_without_text_arithmetic)
        return tree.sql(dialect=catalog.dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError) as error:
        raise ValueError(f"the statement cannot be read: {error}") from error


def _join(select: exp.Select, catalog: Catalog) -> None:
    keys = [key_of(node, catalog) for node in table_nodes(select)]
    for number, join in enumerate(select.args.get("joins") or (), 1):
        table_key = keys[number] if number < len(keys) else None
        condition = join.args.get("on")
        # sqlglot reads a join without a condition as ON TRUE.
        if table_key is None or (condition and not isinstance(condition, exp.Boolean)):
            continue
        key_pairs = conditions_between(catalog, table_key, [key for key in keys[:number] if key])
        if len(key_pairs) != 1:
            raise ValueError(f"no foreign key, or more than one, joins {table_key} with the tables before it")
        join.set("on", join_condition(catalog, key_pairs[0]))


def _spell(select: exp.Select, catalog: Catalog) -> None:
    keys = {".".join(part.name for part in node.parts).lower(): key_of(node, catalog) for node in table_nodes(select)}
    for node in table_nodes(select):
        key = key_of(node, catalog)
        if key:
            node.this.replace(identifier(catalog.full_names[key].name, catalog.dialect))
    for column in select.find_all(exp.Column):
        if column.parent_select is not select:
            continue
        owner = ".".join(part.name for part in column.parts[:-1]).lower()
        owners = [keys.get(owner)] if owner else list(keys.values())
        names = [name for key in owners if key for name in catalog.tables[key].column_names]
        match = next((name for name in names if name.lower() == column.name.lower()), None)
        if match:
            column.this.replace(identifier(match, catalog.dialect))
        key = keys.get(owner) if owner else None
        if key:
            column.set("table", identifier(catalog.full_names[key].name, catalog.dialect))


def _name_outputs(tree: exp.Query) -> None:
    """Give computed outputs a readable alias; the embedded model writes none."""
    if not isinstance(tree, exp.Select):
        return
    columns = {column.name.lower() for column in tree.find_all(exp.Column)}
    tables = table_nodes(tree)
    rows = tables[0].name.lower() if len(tables) == 1 and _PLAIN.fullmatch(tables[0].name) else "rows"
    aliases: set[str] = set()
    outputs = []
    for output in tree.expressions:
        name = _output_name(output, rows)
        is_free = name is not None and name.lower() not in aliases | columns
        aliases.add(name.lower() if name and is_free else output.output_name.lower())
        outputs.append(exp.alias_(output, name, quoted=False) if name and is_free else output)
    tree.set("expressions", outputs)


def _output_name(output: exp.Expr, rows: str) -> str | None:
    """Return a name for a computed output; `rows` are what COUNT(*) counts. None for other outputs."""
    while isinstance(output, (exp.Round, exp.Paren)):
        output = output.this
    if isinstance(output, exp.TimeToStr):
        return _DATE_PARTS.get(output.args["format"].name)
    column = output.find(exp.Column)
    subject = re.sub(r"\W", "_", column.name.lower()) if column else ""
    if any(_is_day_number(call) for call in output.find_all(exp.Anonymous)):
        subject = "days"
    if isinstance(output, exp.Count):
        return f"number_of_{subject or rows}"
    prefix = _AGGREGATES.get(type(output))
    if prefix == "total" and subject.startswith("total_"):
        return f"sum_of_{subject.removeprefix('total_')}"
    if prefix and subject:
        return f"{prefix}_{subject}"
    factor = output.find(exp.Literal) if isinstance(output, (exp.Div, exp.Mul)) else None
    return "percent" if factor is not None and factor.name in ("100", "100.0") else None


def _without_text_arithmetic(node: exp.Expr) -> exp.Expr:
    """Replace arithmetic on date texts by numeric functions; only SQLite converts texts to numbers implicitly."""
    if isinstance(node, exp.Sub) and _is_day_number(node.this) and _is_day_number(node.expression):
        later, earlier = node.this.expressions[0], node.expression.expressions[0]
        return exp.DateDiff(this=later, expression=earlier, unit=exp.var("DAY"))
    if _QUARTER.fullmatch(node.sql("sqlite")) and isinstance(node, exp.Div):
        return exp.Extract(this=exp.var("QUARTER"), expression=node.find(exp.TimeToStr).this)  # type: ignore[union-attr]
    if isinstance(node, exp.TimeToStr) and isinstance(node.parent, exp.Binary) and node.parent.key in _ARITHMETIC:
        part = _EXTRACTED_PARTS.get(node.args["format"].name)
        if part:
            return exp.Extract(this=exp.var(part), expression=node.this)
    return node


def _is_day_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "JULIANDAY" and len(node.expressions) == 1
