"""Adjustment of a statement's outputs to the wording of the question: rounding, names, sort expressions and groups.

A small model often leaves these out, and rules read them from the question more reliably.
"""

import re

from sqlglot import exp

from datasphinx.agent.embedded.compact import identifier, table_nodes
from datasphinx.agent.embedded.grammar.columns import kind_of
from datasphinx.agent.embedded.shape import grouped_columns
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.schema.words import words
from datasphinx.agent.sql.dialects import exact_dialect
from datasphinx.agent.sql.names import key_of
from datasphinx.agent.sql.selects import aggregates_of

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


def requested_decimals(question: str) -> int | None:
    """Return the number of decimals to which `question` asks to round; None if it does not.

    >>> requested_decimals("What is the average price, rounded to 2 decimals?")
    2
    """
    return next(
        (decimals for decimals, pattern in _DECIMAL_PATTERNS if re.search(pattern, question, re.IGNORECASE)), None
    )


def without_rounding(question: str) -> str:
    """Return `question` without its words on rounding, which `adjust_outputs` applies."""
    for _, pattern in _DECIMAL_PATTERNS:
        question = re.sub(rf"{_ROUNDING_PREFIX}(?:{pattern}){_ROUNDING_SUFFIX}", "", question, flags=re.IGNORECASE)
    return question


def adjust_outputs(tree: exp.Query, catalog: Catalog, question: str) -> None:
    """Change the outputs of `tree` to those that `question` asks for, in place.

    Rows of a table that is joined only for its key are shown by name, statements are grouped by all columns that the
    question groups by, or else by those that they show beside a count, sum or average, groups without an order are
    sorted, a ranking also shows its sort expression unless the question specifies the outputs, and computed numbers are
    rounded. The names in `tree` are those of `catalog`.
    """
    if not isinstance(tree, exp.Select):
        return
    _show_names(tree, catalog, question)
    _group_as_asked(tree, catalog, question)
    _group_by_outputs(tree)
    _sort_groups(tree, catalog)
    if not _SPECIFIES_OUTPUTS.search(question):
        _show_sort_expression(tree)
    decimals = requested_decimals(question)
    if decimals is not None:
        _round(tree, decimals)


def _round(select: exp.Select, decimals: int) -> None:
    """Round the outputs that contain a sum, an average or a quotient to `decimals`."""
    for output in select.selects:
        expression = output.unalias()
        if expression.find(exp.Sum, exp.Avg, exp.Div) and not expression.find(exp.Round, exp.TimeToStr, exp.Window):
            copy = expression.copy()
            expression.replace(exp.Round(this=copy, decimals=exp.Literal.number(decimals) if decimals else None))


def _show_names(select: exp.Select, catalog: Catalog, question: str) -> None:
    """Replace a key in the outputs by the name column of its table.

    This applies to a joined table of which only the key is used, if exactly one of its text columns is named like a
    name or title. The other table contains that key as well, so the join would otherwise be redundant. A key that the
    `question` asks for is kept.
    """
    nodes = table_nodes(select)
    if len(nodes) < 2 or words(question) & _KEY_WORDS:
        return
    for node in nodes:
        key = key_of(node, catalog)
        if key is None:
            continue
        table = catalog.tables[key]
        names = [column.name for column in table.columns if column.type_class == "text" and _NAME.search(column.name)]
        columns = [column for column in select.find_all(exp.Column) if column.table == node.alias_or_name]
        used_columns = [column for column in columns if not column.find_ancestor(exp.Join)]
        keys = {column.name for column in used_columns}
        outputs = [column for column in used_columns if column.parent is select and column.arg_key == "expressions"]
        if len(names) == 1 and len(table.primary_key) == 1 and keys == set(table.primary_key) and outputs:
            name = _column(names[0], node, catalog)
            for output in outputs:
                output.replace(name.copy())
            if select.args.get("group"):
                select.group_by(name, copy=False)


def _show_sort_expression(select: exp.Select) -> None:
    """Append the sort expression of a ranking with several rows to its outputs."""
    limit, order = select.args.get("limit"), select.args.get("order")
    if limit is None or order is None or limit.expression.name == "1":
        return
    expression = order.expressions[0].this
    if len(select.selects) == 1 and expression not in [output.unalias() for output in select.selects]:
        select.select(expression.copy(), copy=False)


def _group_as_asked(select: exp.Select, catalog: Catalog, question: str) -> None:
    """Group a statement by all columns that `question` groups by.

    With joins, this is done only if no column is grouped by: a column of a joined table may be the one that is named.
    A month or year in the outputs is grouped by as well; SQLite and MySQL would show that of any row.
    """
    if (
        len(list(select.find_all(exp.Select))) > 1
        or select.find(exp.Window)
        or select.args.get("limit")
        or not any(output.find(exp.AggFunc) for output in select.selects)
    ):
        return
    keys = list(select.args["group"].expressions) if select.args.get("group") else []
    grouped_names = {column.name for key in keys for column in key.find_all(exp.Column)}
    shown_names = {output.name for output in select.selects if isinstance(output.unalias(), exp.Column)}
    for column in _named_groups(select, keys, catalog, question):
        if column.name not in grouped_names:
            select.group_by(column.copy(), copy=False)
        if column.name not in shown_names and (column.name not in grouped_names or column in keys):
            first_figure = next(at for at, output in enumerate(select.selects) if output.find(exp.AggFunc))
            select.selects.insert(first_figure, column)
    periods = (output.unalias() for output in select.selects if isinstance(output.unalias(), exp.TimeToStr))
    for period in periods if select.args.get("group") else ():
        if period not in select.args["group"].expressions:
            select.group_by(period.copy(), copy=False)


def _group_by_outputs(select: exp.Select) -> None:
    """Group a statement without groups by the outputs beside its counts, sums and averages.

    SQLite would show those of any row. Beside a maximum or minimum, it shows those of its row.
    """
    if select.args.get("group") or all(isinstance(call, exp.Max | exp.Min) for call in aggregates_of(select)):
        return
    for output in (each.unalias() for each in select.selects):
        if output.find(exp.Column) and not output.find(exp.AggFunc, exp.Query):
            select.group_by(output.copy(), copy=False)


def _sort_groups(select: exp.Select, catalog: Catalog) -> None:
    """Sort groups without an order: those of a text by their first figure, the largest first, others by themselves."""
    outputs = [output.unalias() for output in select.selects]
    keys = [output for output in outputs if not output.find(exp.AggFunc, exp.Query, exp.Window)]
    figures = [output for output in outputs if output.find(exp.AggFunc) and not output.find(exp.Window)]
    if not (keys and figures and select.args.get("group")) or select.args.get("order") or select.args.get("limit"):
        return
    if len(keys) == 1 and _is_text(keys[0], select, catalog):
        select.order_by(exp.Ordered(this=figures[0].copy(), desc=True), copy=False)
    else:
        nulls_first = exact_dialect(catalog.dialect).NULL_ORDERING == "nulls_are_small"
        select.order_by(*(exp.Ordered(this=key.copy(), nulls_first=nulls_first) for key in keys), copy=False)


def _is_text(node: exp.Expr, select: exp.Select, catalog: Catalog) -> bool:
    """Return whether `node` is a column of texts other than dates."""
    if not isinstance(node, exp.Column):
        return False
    keys = (key_of(table, catalog) for table in table_nodes(select) if node.table in {"", table.alias_or_name})
    columns = [column for key in keys if key for column in catalog.tables[key].columns if column.name == node.name]
    return bool(columns) and all(kind_of(column) == "t" for column in columns)


def _named_groups(select: exp.Select, keys: list[exp.Expr], catalog: Catalog, question: str) -> list[exp.Column]:
    """Return the columns by which `question` groups, of the tables of `select`; none of several tables that have it."""
    tables = [(node, key_of(node, catalog)) for node in table_nodes(select)]
    has_joins = len(tables) > 1
    if has_joins and any(isinstance(key, exp.Column) for key in keys):
        return []
    named = [
        _column(name, node if has_joins else None, catalog)
        for node, key in tables
        if key is not None
        for name in grouped_columns(question, catalog.tables[key])
    ]
    names = [column.name for column in named]
    return [column for column in named if names.count(column.name) == 1]


def _column(name: str, table: exp.Table | None, catalog: Catalog) -> exp.Column:
    """Return the column `name`, prefixed by the name or alias of `table`, if any."""
    prefix = identifier(table.alias_or_name, catalog.dialect) if table else None
    return exp.Column(this=identifier(name, catalog.dialect), table=prefix)
