"""Translation of compact statements, which the embedded model writes, into SQL of the database."""

import re
from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.transforms import eliminate_qualify

from agent.embedded.compact import conditions_between, join_condition
from agent.embedded.date_conditions import limit_dates
from agent.embedded.shape import grouped_columns
from agent.grounding.date_ranges import Days
from agent.schema.catalog import Catalog, Table
from agent.schema.words import words
from agent.sql.names import key_of

_DECIMAL_PATTERNS = (
    (0, r"(to|as|in) (the nearest )?(whole number|integer)|до цел\w+|取整|整数"),
    (1, r"\b(one|1) decimals?\b|до (одного|1) (десятичн\w+ )?знака|до десят\w+|[一1]位小数"),
    (
        2,
        r"\bto (the )?cents?\b|\b(two|2) decimals?\b|до (двух|2) (десятичн\w+ )?знак\w+|до (сот|копе)\w+|[两二2]位小数",
    ),
    (3, r"\b(three|3) decimals?\b|до (трёх|трех|3) (десятичн\w+ )?знак\w+|до тысячн\w+|[三3]位小数"),
)
_ROUNDING_PREFIX = r"[,;(（，]?\s*(?:and )?(?:rounded|округли\w*|с округлением|保留|结果)?\s*(?:to )?"
_ROUNDING_SUFFIX = r"(?: places?| points?|s\b)?(?: после запятой)?[)）]?"

_NAME = re.compile(r"(?:^|_|(?<=[a-z]))(?:name|title|label|Name|Title|Label)$")
_KEY_WORDS = words("id key code identifier")
_SPECIFIES_OUTPUTS = re.compile(
    r"\b(names?|titles?|ids?|list|which columns?)\b|назван|имена|имя|список|名称|名字|姓名|列出", re.IGNORECASE
)
_AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Sum: "total", exp.Avg: "average", exp.Max: "highest", exp.Min: "lowest",
}  # fmt: skip
_DATE_PARTS = {"%Y-%m": "month", "%Y": "year", "%m": "month", "%d": "day", "%w": "weekday", "%Y-%m-%d": "day"}
_EXTRACTED_PARTS = {"%Y": "YEAR", "%m": "MONTH", "%d": "DAY"}
_ARITHMETIC = {"add", "sub", "mul", "div", "mod"}
_QUARTER = re.compile(r"\(STRFTIME\('%m', .*\) \+ 2\) / 3")
_PRESERVES_CASE = {"sqlite", "mysql", "duckdb"}
_PLAIN = re.compile(r"[A-Za-z_]\w*")


def requested_decimals(question: str) -> int | None:
    """Return the number of decimals to which `question` asks to round; None if it does not.

    >>> requested_decimals("What is the average price, rounded to 2 decimals?")
    2
    """
    return next(
        (decimals for decimals, pattern in _DECIMAL_PATTERNS if re.search(pattern, question, re.IGNORECASE)), None
    )


def without_rounding(question: str) -> str:
    """Return `question` without its words on rounding, which `round_outputs` applies."""
    for _, pattern in _DECIMAL_PATTERNS:
        question = re.sub(rf"{_ROUNDING_PREFIX}(?:{pattern}){_ROUNDING_SUFFIX}", "", question, flags=re.IGNORECASE)
    return question


def round_outputs(tree: exp.Query, decimals: int) -> None:
    """Round the computed outputs of `tree`, except counts, to `decimals`, in place."""
    if not isinstance(tree, exp.Select):
        return
    for output in tree.selects:
        expression = output.unalias()
        if expression.find(exp.Sum, exp.Avg, exp.Div) and not expression.find(exp.Round, exp.TimeToStr, exp.Window):
            copy = expression.copy()
            expression.replace(exp.Round(this=copy, decimals=exp.Literal.number(decimals) if decimals else None))


def show_names(tree: exp.Query, catalog: Catalog, question: str) -> None:
    """Replace a key in the outputs of `tree` by the name column of its table, in place.

    This applies to a joined table of which only the key is used, if exactly one of its text columns is named like a
    name or title. The other table contains that key as well, so the join would otherwise be redundant. A key that the
    `question` asks for is kept.
    """
    if not isinstance(tree, exp.Select) or words(question) & _KEY_WORDS:
        return
    for table, node in _joined_tables(tree, catalog):
        names = [column.name for column in table.columns if column.type_class == "text" and _NAME.search(column.name)]
        columns = [column for column in tree.find_all(exp.Column) if column.table == node.alias_or_name]
        used_columns = [column for column in columns if not column.find_ancestor(exp.Join)]
        keys = {column.name for column in used_columns}
        outputs = [column for column in used_columns if column.parent is tree and column.arg_key == "expressions"]
        if len(names) == 1 and len(table.primary_key) == 1 and keys == set(table.primary_key) and outputs:
            for output in outputs:
                output.replace(exp.column(names[0], table=output.table))
            if tree.args.get("group"):
                tree.group_by(exp.column(names[0], table=node.alias_or_name), copy=False)


def _joined_tables(tree: exp.Select, catalog: Catalog) -> Iterator[tuple[Table, exp.Table]]:
    """Yield the joined tables of `tree`, each from the catalog and with its node."""
    joins = tree.args.get("joins") or ()
    for node in [tree.args["from_"].this, *(join.this for join in joins)] if joins else ():
        key = key_of(node, catalog) if isinstance(node, exp.Table) else None
        if key:
            yield catalog.tables[key], node


def leaves_outputs_open(question: str) -> bool:
    """Return whether `question` does not specify the outputs of a ranking."""
    return not _SPECIFIES_OUTPUTS.search(question)


def show_sort_expression(tree: exp.Query) -> None:
    """Append the sort expression of a ranking with several rows to its outputs, in place."""
    limit, order = tree.args.get("limit"), tree.args.get("order")
    if not isinstance(tree, exp.Select) or limit is None or order is None or limit.expression.name == "1":
        return
    expression = order.expressions[0].this
    if len(tree.selects) == 1 and expression not in [output.unalias() for output in tree.selects]:
        tree.select(expression.copy(), copy=False)


def group_as_asked(tree: exp.Query, catalog: Catalog, question: str) -> None:
    """Group a statement by all columns that `question` groups by, in place.

    With joins, this is done only if no column is grouped by: a column of a joined table may be the one that is named.
    A month or year in the outputs is grouped by as well; SQLite and MySQL would show that of any row.
    """
    if (
        not isinstance(tree, exp.Select)
        or len(list(tree.find_all(exp.Select))) > 1
        or tree.find(exp.Window)
        or tree.args.get("limit")
        or not any(each.find(exp.AggFunc) for each in tree.selects)
    ):
        return
    keys = list(tree.args["group"].expressions) if tree.args.get("group") else []
    grouped_names = {column.name for each in keys for column in each.find_all(exp.Column)}
    shown_names = {each.name for each in tree.selects if isinstance(each.unalias(), exp.Column)}
    for column in _named_groups(tree, keys, catalog, question):
        if column.name not in grouped_names:
            tree.group_by(column.copy(), copy=False)
        if column.name not in shown_names and (column.name not in grouped_names or column in keys):
            first_figure = next(at for at, each in enumerate(tree.selects) if each.find(exp.AggFunc))
            tree.selects.insert(first_figure, column)
    periods = (each.unalias() for each in tree.selects if isinstance(each.unalias(), exp.TimeToStr))
    for period in periods if tree.args.get("group") else ():
        if period not in tree.args["group"].expressions:
            tree.group_by(period.copy(), copy=False)


def _named_groups(select: exp.Select, keys: list[exp.Expr], catalog: Catalog, question: str) -> list[exp.Column]:
    """Return the columns by which `question` groups, of the tables of `select`; none of several tables that have it."""
    tables = [(node, key_of(node, catalog)) for node in _tables(select)]
    has_joins = len(tables) > 1
    if has_joins and any(isinstance(each, exp.Column) for each in keys):
        return []
    named = [
        (name, node.alias_or_name if has_joins else None)
        for node, key in tables
        if key is not None
        for name in grouped_columns(question, catalog.tables[key])
    ]
    names = [name for name, _ in named]
    return [
        exp.column(exp.to_identifier(name, quoted=not _PLAIN.fullmatch(name)), table=table)
        for name, table in named
        if names.count(name) == 1
    ]


def expand(text: str, catalog: Catalog, question: str = "", days: Days | None = None) -> str:
    """Return the compact statement `text` as SQL of the catalog's dialect: with ON and output aliases, no QUALIFY.

    With `question`, numbers are rounded as it asks, a ranking also shows its sort expression unless the question
    specifies the outputs, and rows of a table joined only for its key are shown by name. With `days`, the rows are
    limited to them (`agent.embedded.date_conditions.limit_dates`).

    Names are spelled as in the catalog. Unknown names are kept, and later checks report them.

    Raises:
        ValueError: the text cannot be parsed, foreign keys do not imply the condition of a join, or the dialect cannot
            express the statement.
    """
    try:
        tree = sqlglot.parse_one(text, read="sqlite")
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
            show_names(tree, catalog, question)
            group_as_asked(tree, catalog, question)
        if question and leaves_outputs_open(question):
            show_sort_expression(tree)
        decimals = requested_decimals(question)
        if decimals is not None:
            round_outputs(tree, decimals)
        _name_outputs(tree)
        tree = tree.transform(eliminate_qualify)
        if catalog.dialect != "sqlite":
            tree = tree.transform(_without_text_arithmetic)
        return tree.sql(dialect=catalog.dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError) as error:
        raise ValueError(f"the statement cannot be read: {error}") from error


def _tables(select: exp.Select) -> list[exp.Table]:
    source = select.args.get("from_")
    nodes = [source.this, *(join.this for join in select.args.get("joins") or ())] if source else []
    return [node for node in nodes if isinstance(node, exp.Table)]


def _join(select: exp.Select, catalog: Catalog) -> None:
    keys = [key_of(node, catalog) for node in _tables(select)]
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
    keys = {".".join(part.name for part in node.parts).lower(): key_of(node, catalog) for node in _tables(select)}
    for node in _tables(select):
        key = key_of(node, catalog)
        if key:
            _rename(node.this, catalog.full_names[key].name, catalog.dialect)
    for column in select.find_all(exp.Column):
        if column.parent_select is not select:
            continue
        owner = ".".join(part.name for part in column.parts[:-1]).lower()
        owners = [keys.get(owner)] if owner else list(keys.values())
        names = [name for key in owners if key for name in catalog.tables[key].column_names]
        match = next((name for name in names if name.lower() == column.name.lower()), None)
        if match:
            _rename(column.this, match, catalog.dialect)
        key = keys.get(owner) if owner else None
        if key:
            _rename(column.args["table"], catalog.full_names[key].name, catalog.dialect)


def _rename(identifier: exp.Identifier, name: str, dialect: str) -> None:
    needs_quotes = dialect not in _PRESERVES_CASE and name != name.lower()
    identifier.set("this", name)
    identifier.set("quoted", bool(identifier.args.get("quoted")) or needs_quotes or not _PLAIN.fullmatch(name))


def _name_outputs(tree: exp.Query) -> None:
    """Give computed outputs a readable alias; the embedded model writes none."""
    if not isinstance(tree, exp.Select):
        return
    columns = {column.name.lower() for column in tree.find_all(exp.Column)}
    tables = _tables(tree)
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
