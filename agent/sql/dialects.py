"""SQL dialects that parse and print a statement without changing its meaning.

sqlglot normalises functions, types and literals to translate between engines. Within one engine this can change a
result (SQLite's `mod` of fractions is not its `%`), drop an argument, or print a function that another version lacks
(MariaDB has no REGEXP_LIKE). The dialects here print calls, types and numbers as they were written, and `lost_words`
tells what the printed text lacks nevertheless.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from sqlglot import exp, parser
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.generator import Generator
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from datasphinx.agent.engines import engine_of
from datasphinx.agent.engines.base import Engine
from datasphinx.agent.errors import PackageConflict

_WORD = re.compile(r"\w+")
_TIME_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_UNITS = {unit + ending for unit in _TIME_UNITS for ending in ("", "s")}
_NOISE = {
    "as", "inner", "outer", "asc", "all", "nulls", "first", "last", "row", "rows", "only", "next",
    "mod", "rlike", "table", "top", "limit", "fetch", "convert", "using", "extract", "from", "qualify", "dow",
    "some", "dual", "minus", "sample", "position", "in", "for", "unknown", "regexp",
    "both", "array", "argmax", "argmin", "string_agg", "group_concat", "listagg",
}  # fmt: skip
"""Words that may be left out, or that have a synonym which sqlglot prints."""
_WRITTEN = "written"
"""Meta key of a call or of a node without children: how it was written, with its dialect."""
_STRINGS = {
    TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING,
}  # fmt: skip
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_OR_SPECIAL = {
    "ARG_MAX", "ARG_MIN", "CEIL", "CHAR", "CHR", "DATEPART", "DECODE", "FLOOR", "GROUP_CONCAT", "INITCAP",
    "JSON_VALUE", "JSON_QUERY", "LISTAGG", "MAX_BY", "MIN_BY", "NORMALIZE", "OVERLAY", "POSITION", "STRING_AGG",
    "SUBSTR", "SUBSTRING", "TRANSLATE", "TRIM",
}  # fmt: skip
"""Functions with a special syntax, such as TRIM(BOTH ' ' FROM x), that may also be written as ordinary calls."""
_PLAIN = {"DATE_PART", "MEDIAN"}
"""Functions that sqlglot parses to another function: EXTRACT, whose result has another type, and a quantile."""
_FROM_STRING = "from_string"
"""Meta key of an alias written as a string, such as `AS 'Number of orders'`."""


_ENDS_FROM = {
    TokenType.R_PAREN, TokenType.SEMICOLON, TokenType.UNION, TokenType.WHERE, TokenType.LIMIT, TokenType.ORDER_BY,
}  # fmt: skip
_SET_OPERATIONS = {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT}
_SPECIAL_WORDS = {
    "distinct", "from", "for", "using", "in", "to", "as", "separator", "placing", "both", "leading", "trailing", "on",
    "returning", "passing", "with", "without",
}  # fmt: skip
"""Words that only the special syntax has between its arguments."""


class _Written(NamedTuple):
    """The text of a type or number in `dialect`, as long as the node has this `value`."""

    dialect: str
    text: str
    value: Any


_Place: TypeAlias = tuple[tuple[str, int], ...]
"""The way from a call to an argument: keys, and positions in lists. sqlglot may wrap arguments in conversions."""


class _Call(NamedTuple):
    """A call as it was written in `dialect`.

    `arguments` holds the place of each argument in the node, and units and formats, which sqlglot converts, themselves.
    """

    dialect: str
    name: str
    arguments: tuple[_Place | exp.Expr, ...]
    children: int


def _places(node: exp.Expr, wanted: set[int], start: _Place = ()) -> Iterator[tuple[int, _Place]]:
    for key, value in node.args.items():
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            place = (*start, (key, index))
            if id(child) in wanted:
                yield id(child), place
            elif isinstance(child, exp.Expr):
                yield from _places(child, wanted, place)


def _call_of(node: exp.Expr, name: str, arguments: Sequence[exp.Expr], dialect: str) -> _Call | None:
    """Return how the call `node` was written; None if the node lacks an argument."""
    places = dict(_places(node, {id(argument) for argument in arguments}))
    converted = {child.name.casefold() for child in node.iter_expressions() if isinstance(child, exp.Var | exp.Literal)}
    written: list[_Place | exp.Expr] = []
    for argument in arguments:
        is_text = isinstance(argument, exp.Literal) and argument.is_string
        is_word = isinstance(argument, exp.Column) and isinstance(argument.this, exp.Identifier) and not argument.table
        if id(argument) in places:
            written.append(places[id(argument)])
        elif (is_text or is_word) and argument.name.casefold() in converted:
            written.append(argument.copy() if is_text else exp.var(argument.name))
        elif is_text and isinstance(node.args.get("format"), exp.Literal):
            written.append(argument.copy())
        else:
            return None
    return _Call(dialect, name, tuple(written), sum(1 for _ in node.iter_expressions()))


class _Functions(NamedTuple):
    """The functions of a dialect for a call of `name`, as the parser looks them up."""

    name: str
    known: Mapping[str, Callable[..., Any]]
    dialect: Dialect

    def get(self, upper: str) -> Callable[[list[exp.Expr]], exp.Expr] | None:
        """Return the function that makes the node of a call of `upper`; None if sqlglot does not know it."""
        return partial(self._build, self.known[upper]) if upper in self.known else None

    def _build(self, build: Callable[..., Any], arguments: list[exp.Expr]) -> exp.Expr:
        node: exp.Expr | None = None
        # A function that fails on these arguments does not know this call.
        with suppress(AttributeError, IndexError, SqlglotError, TypeError, ValueError):
            try:
                node = build(list(arguments))
            except TypeError:
                node = build(list(arguments), dialect=self.dialect)
        call = None
        if node is not None and not node.error_messages(arguments):
            call = _call_of(node, self.name, arguments, name_of(self.dialect))
        if node is None or call is None:
            kind = exp.AnonymousAggFunc if isinstance(node, exp.AggFunc) else exp.Anonymous
            return kind(this=self.name, expressions=arguments)
        node.meta[_WRITTEN] = call
        return node


class _ExactParser(Parser):
    """Parser that notes how calls, types and numbers are written, and marks aliases that are written as strings."""

    engine: Engine

    def _parse_function_call(
        self,
        functions: Any = None,
        anonymous: bool = False,
        optional_parens: bool = True,
        any_token: bool = False,
    ) -> exp.Expr | None:
        if functions is None and self._curr and self._curr.token_type != TokenType.IDENTIFIER:
            functions = _Functions(self._curr.text, self.FUNCTIONS, self.dialect)
        return super()._parse_function_call(functions, anonymous, optional_parens, any_token)

    def _parse_if(self) -> exp.Expr | None:
        name, is_call = self._prev.text, self._curr.token_type == TokenType.L_PAREN
        node = super()._parse_if()
        if is_call and isinstance(node, exp.If):
            places = tuple(((key, 0),) for key in ("this", "true", "false") if node.args.get(key))
            node.meta[_WRITTEN] = _Call(name_of(self.dialect), name, places, len(places))
        return node

    def _parse_types(self, *args: Any, **options: Any) -> exp.Expr | None:
        start = self._index
        node = super()._parse_types(*args, **options)
        if isinstance(node, exp.DataType) and self._index > start and self.sql:
            first, last = self._tokens[start], self._tokens[self._index - 1]
            text = " ".join(self.sql[first.start : last.end + 1].split())
            # Spark's 10L has a type that is not written.
            is_written = text.casefold().startswith(first.text.casefold()) or first.token_type == TokenType.IDENTIFIER
            if is_written and not any(mark in text for mark in ("/*", "--", "#")):
                node.meta[_WRITTEN] = _Written(name_of(self.dialect), text, node.this)
        return node

    def _parse_with(self, skip_with_token: bool = False) -> exp.With | None:
        node = super()._parse_with(skip_with_token)
        if node is not None and self.engine.recurses_without_keyword:
            for cte in node.expressions:
                if any(table.name.casefold() == cte.alias.casefold() for table in cte.this.find_all(exp.Table)):
                    node.set("recursive", True)
        return node

    def _parse_from(self, *args: Any, **options: Any) -> exp.From | None:
        node = super()._parse_from(*args, **options)
        if node is None or not self.engine.has_dual or not isinstance(node.this, exp.Table):
            return node
        table, is_alone = node.this, not self._curr or self._curr.token_type in _ENDS_FROM
        is_dual = len(table.parts) == 1 and table.name.lower() == "dual" and not table.this.args.get("quoted")
        return None if is_dual and is_alone else node

    def _parse_term(self, parse_mod: bool = True) -> exp.Expr | None:
        return super()._parse_term(parse_mod or not self.engine.has_limit_percent)

    def _parse_primary(self) -> exp.Expr | None:
        begins_with_dot = self._curr and self._curr.token_type == TokenType.DOT
        node = super()._parse_primary()
        if begins_with_dot and isinstance(node, exp.Literal):
            node.meta[_WRITTEN] = _Written(name_of(self.dialect), f".{self._prev.text}", node.this)
        return node

    def _parse_hint(self) -> None:
        # Hints affect the plan only; those of other engines are refused in the text.
        self._match(TokenType.HINT)

    def _parse_json_column_def(self) -> exp.JSONColumnDef:
        node = super()._parse_json_column_def()
        node.set("on_condition", self._parse_on_condition())
        return node

    def _parse_string_as_identifier(self) -> exp.Identifier | None:
        identifier = super()._parse_string_as_identifier()
        if identifier is not None:
            identifier.meta[_FROM_STRING] = True
        return identifier

    def _parse_id_var(self, any_token: bool = True, tokens: Collection[TokenType] | None = None) -> exp.Expr | None:
        is_string = self._curr is not None and self._curr.token_type == TokenType.STRING
        identifier = super()._parse_id_var(any_token, tokens)
        if is_string and identifier is not None:
            identifier.meta[_FROM_STRING] = True
        return identifier


def _number_as_written(parse: Callable[..., Any], self: Any, token: Token) -> exp.Expr:
    node: exp.Expr = parse(self, token)
    node.meta[_WRITTEN] = _Written(name_of(self.dialect), self.sql[token.start : token.end + 1], node.this)
    return node


def _plain_or_special(special: Callable[..., Any], self: Any) -> exp.Expr | None:
    """Parse the arguments of a function with a special syntax, as those of other functions if they are plain."""
    name = self._tokens[self._index - 2].text
    build = _Functions(name, self.FUNCTIONS, self.dialect).get(name.upper())
    if build is None or not _has_plain_arguments(self._tokens[self._index :]):
        return special(self)  # type: ignore[no-any-return]
    return build(self._parse_function_args())


def _has_plain_arguments(tokens: Sequence[Token]) -> bool:
    depth = 0
    for token in tokens:
        if depth == 0 and token.token_type == TokenType.R_PAREN:
            return True
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0 and token.text.casefold() in _SPECIAL_WORDS and token.token_type not in _STRINGS:
            return False
    return False


class _ExactGenerator(Generator):
    """Generator that prints calls, types and numbers as they were written in the same dialect."""

    def sql(self, expression: Any, key: str | None = None, comment: bool = True) -> str:
        """Return `expression`, or its part `key`, as SQL."""
        written = (
            expression.meta.get(_WRITTEN)
            if key is None and isinstance(expression, exp.Expr) and expression._meta
            else None
        )
        if written is not None and written.dialect == name_of(self.dialect):
            if isinstance(written, _Written):
                if written.value == expression.this:
                    return written.text.upper() if self.normalize_functions else written.text
            elif written.children == sum(1 for _ in expression.iter_expressions()):
                arguments = [
                    part if isinstance(part, exp.Expr) else _child(expression, part) for part in written.arguments
                ]
                return self.func(written.name, *arguments)
        return str(super().sql(expression, key, comment))

    def query_modifiers(self, expression: exp.Expr, *sqls: str) -> str:
        """Return a query with its clauses; sqlglot prints FETCH as LIMIT without what LIMIT cannot express."""
        limit = expression.args.get("limit")
        options = limit.args.get("limit_options") if isinstance(limit, exp.Fetch) else None
        if self.LIMIT_FETCH == "LIMIT" and options and (options.args.get("with_ties") or options.args.get("percent")):
            self.unsupported(f"LIMIT cannot express FETCH{self.sql(options)}")
        return super().query_modifiers(expression, *sqls)

    def jsoncolumndef_sql(self, expression: exp.JSONColumnDef) -> str:
        """Return a column of JSON_TABLE with its ON EMPTY and ON ERROR."""
        condition = self.sql(expression, "on_condition")
        return f"{super().jsoncolumndef_sql(expression)}{f' {condition}' if condition else ''}"


def _child(node: Any, place: _Place) -> Any:
    for key, index in place:
        value = node.args[key]
        node = value[index] if isinstance(value, list) else value
    return node


def _cast_as_written(self: Any, node: exp.Cast) -> str:
    written = node.to.meta.get(_WRITTEN)
    if written is None or written.value != node.to.this or node.to.this not in self.CAST_MAPPING:
        return str(self.cast_sql(node))
    return f"CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})"


def _trim(self: Any, node: exp.Trim) -> str:
    """Print TRIM(LEADING FROM x), where sqlglot prints LTRIM(x)."""
    if not node.args.get("position"):
        return str(self.trim_sql(node))
    words = (self.sql(node, "position"), self.sql(node, "expression"), "FROM", self.sql(node, "this"))
    return f"TRIM({' '.join(word for word in words if word)})"


def _within_group(self: Any, node: exp.WithinGroup) -> str:
    return f"{self.sql(node, 'this')} WITHIN GROUP ({self.sql(node, 'expression').strip()})"


@cache
def exact_dialect(dialect: str) -> Dialect:
    """Return the sqlglot dialect that parses and prints the SQL of `dialect` without changing its meaning.

    Raises:
        ValueError: sqlglot does not support this dialect.
        PackageConflict: the compiled sqlglot is installed, whose parsers cannot be extended.
    """
    base: Any = type(Dialect.get_or_raise(dialect))
    if str(parser.__file__).endswith((".so", ".pyd")):
        raise PackageConflict("sqlglotc")
    special = base.parser_class.FUNCTION_PARSERS
    numbers = (TokenType.HEX_STRING, TokenType.BIT_STRING)

    own = engine_of(dialect)

    class ExactParser(*own.parser_mixins, _ExactParser, base.parser_class):  # type: ignore[misc]
        engine = own
        FUNCTIONS = {"STRING_AGG": exp.GroupConcat.from_arg_list, **base.parser_class.FUNCTIONS}
        FUNCTION_PARSERS = {name: parse for name, parse in special.items() if name not in _PLAIN} | {
            name: partial(_plain_or_special, special[name]) for name in _PLAIN_OR_SPECIAL & special.keys()
        }
        PRIMARY_PARSERS = base.parser_class.PRIMARY_PARSERS | {
            kind: partial(_number_as_written, base.parser_class.PRIMARY_PARSERS[kind]) for kind in numbers
        }

    class ExactGenerator(_ExactGenerator, *own.generator_mixins, base.generator_class):  # type: ignore[misc]
        MULTI_ARG_DISTINCT = True
        TRANSFORMS = {
            **{kind: sql for kind, sql in base.generator_class.TRANSFORMS.items() if kind is not exp.Pivot},
            exp.WithinGroup: _within_group,
            **({exp.Trim: _trim} if own.has_trim_from else {}),
            **({exp.Cast: _cast_as_written} if hasattr(base.generator_class, "CAST_MAPPING") else {}),
            **own.transforms,
        }
        TYPE_MAPPING = {**base.generator_class.TYPE_MAPPING, **own.type_names}

    parts = {
        "Parser": ExactParser,
        "Generator": ExactGenerator,
        "exact_name": dialect,
        # Keys and paths stay as they are written.
        "to_json_path": lambda self, path: path,
    }
    return Dialect.get_or_raise(type(base)(f"Exact{base.__name__}", (base,), parts))


def name_of(dialect: Dialect) -> str:
    """Return the name with which `exact_dialect` made `dialect`; empty for others."""
    return getattr(dialect, "exact_name", "")


def build_call(name: str, arguments: list[exp.Expr], dialect: Dialect) -> exp.Expr | None:
    """Return a call of a function of `dialect`, as a node that other dialects can print; None if there is none."""
    build = _Functions(name, dialect.parser_class.FUNCTIONS, dialect).get(name.upper())
    call = build(arguments) if build else None
    return None if isinstance(call, exp.Anonymous | exp.AnonymousAggFunc) else call


def arguments_of(call: exp.Expr) -> list[exp.Expr] | None:
    """Return the arguments of a parsed call as they were written; None if they are unknown."""
    written = call.meta.get(_WRITTEN)
    if isinstance(written, _Call):
        return [part if isinstance(part, exp.Expr) else _child(call, part) for part in written.arguments]
    return list(call.expressions) if isinstance(call, exp.Anonymous | exp.AnonymousAggFunc) else None


def lost_words(before: Sequence[Token], after: Sequence[Token], tree: exp.Expr, dialect: str) -> list[str]:
    """Return the words, numbers and strings of the tokens `before` that those printed from their `tree` lack.

    Words without a meaning of their own and those with a synonym do not count. A string may become the name of an
    alias, a number with a unit of time, or part of another string; printed without its quotes it would become SQL.
    """
    lost = _words(before) - _words(after) - (_unneeded(before) - _unneeded(after))
    noise = _NOISE | {"is", "distinct", "not"} if tree.find(exp.NullSafeEQ, exp.NullSafeNEQ) else _NOISE
    if engine_of(dialect).has_isnull:
        noise = noise | {"isnull", "notnull"}
    words = [word for word in lost if word not in noise]
    aliases = Counter(node.name.casefold() for node in tree.find_all(exp.Identifier) if _FROM_STRING in node.meta)
    strings = _texts(before) - _texts(after) - aliases
    inside = {word for text in _texts(after) for word in _WORD.findall(text)} | _UNITS
    texts = [text for text in strings if not text or not all(w.isdecimal() or w in inside for w in _WORD.findall(text))]
    return words + texts


def _words(tokens: Sequence[Token]) -> Counter[str]:
    # The parts of a number with a type, such as Spark's 10L, begin at the same place.
    starts = [-1, *(token.start for token in tokens)]
    written = [token for token, before in zip(tokens, starts, strict=False) if token.start != before]
    texts = (token.text.casefold() for token in written if token.token_type != TokenType.HINT)
    return Counter(word for text in texts for word in _WORD.findall(text))


def _unneeded(tokens: Sequence[Token]) -> Counter[str]:
    """Return the DISTINCT of set operations, and the EXCEPT after a star, which DuckDB calls EXCLUDE."""
    return Counter(
        token.text.casefold()
        for before, token in pairwise(tokens)
        if (token.token_type == TokenType.DISTINCT and before.token_type in _SET_OPERATIONS)
        or (token.token_type == TokenType.EXCEPT and before.token_type == TokenType.STAR)
    )


def _texts(tokens: Sequence[Token]) -> Counter[str]:
    return Counter(token.text.casefold() for token in tokens if token.token_type in _STRINGS)


def print_statement(
    tree: exp.Expr,
    dialect: str,
    *,
    normalize_functions: str | bool = False,
    in_lines: bool = False,
    copy: bool = True,
) -> str:
    """Return `tree` as SQL of `dialect`, without comments and with parameters as `:name`.

    `normalize_functions` is the case of functions and types, "upper" or "lower"; False keeps that of the statement.
    With `in_lines`, clauses and their parts stand on lines of their own. Without `copy`, the tree may be changed.

    Raises:
        sqlglot.errors.SqlglotError: `dialect` cannot express a node of the tree.
    """
    generator = _quoting_generator(dialect)(
        dialect=exact_dialect(dialect),
        comments=False,
        unsupported_level=ErrorLevel.RAISE,
        normalize_functions=normalize_functions,
        pretty=in_lines,
    )
    return generator.generate(tree, copy=copy)


@cache
def _quoting_generator(dialect: str) -> type[Generator]:
    """Return the generator of `dialect`, quoting every name whose characters engines may read in different ways.

    It prints a named parameter as `:name`, and typed and unnamed placeholders as the dialect has them.
    """
    base: Any = exact_dialect(dialect).generator_class
    engine = engine_of(dialect)

    class QuotingGenerator(base):  # type: ignore[misc]
        def identifier_sql(self, expression: exp.Identifier) -> str:
            if not expression.args.get("quoted") and not _PLAIN_NAME.fullmatch(expression.name):
                expression = exp.Identifier(this=engine.stored_spelling(expression.name), quoted=True)
            return str(super().identifier_sql(expression))

        def placeholder_sql(self, expression: exp.Placeholder) -> str:
            is_named = bool(expression.name) and not expression.args.get("kind")
            return f":{expression.name}" if is_named else str(super().placeholder_sql(expression))

    return QuotingGenerator


def with_negations(tree: exp.Expr) -> exp.Expr:
    """Return `tree` with `NOT LIKE` and `IS NOT NULL` as negations of LIKE and IS, changed in place.

    sqlglot parses them as `exp.Not` or as a comparison with the argument `negate`, depending on the dialect. On
    PostgreSQL, `IS NOT NULL` of a row is more than the negation of IS NULL: a tree in this form is for reading only.
    """
    for node in [node for node in tree.find_all(exp.Like, exp.ILike, exp.Is) if node.args.get("negate")]:
        node.set("negate", None)
        condition = node.parent if isinstance(node.parent, exp.Escape) else node
        negation = exp.Not(this=condition.copy())
        if condition is tree:
            return negation
        condition.replace(negation)
    return tree
