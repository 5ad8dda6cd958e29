"""Rules of the clauses after FROM, for the columns of one scope.

In the templates, `@` is the prefix of a scope, `#` the depth of the query, and `+` the depth of a query nested in it.
Alternatives share their prefix and branch after it, because many open alternatives slow the sampler down.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache

SUBQUERY_DEPTH = 2
"""Maximum nesting depth of subqueries."""

KEY_KIND = re.compile(r"k\d+")
"""The names of the kinds of key columns."""

_GLOBAL = r"""
compare ::= ("=" | "!=" | "<" "="? | ">" "="?) " "
bool ::= " AND " | " OR "
set ::= " UNION " "ALL "? | " INTERSECT " | " EXCEPT "
chain ::= " UNION " "ALL "? | " EXCEPT "
hundred ::= "100" ".0"? " * "
null ::= " IS " "NOT "? "NULL"
truth ::= "TRUE" | "FALSE"
format ::= "%" ("Y" "-%m"? | [mdw])
few ::= [1-9] [0-9]{0,2}
formats ::= "%" ("Y-%m" | [mdw])
ranker ::= "RANK" | "DENSE_RANK" | "ROW_NUMBER"
total ::= "SUM" | "AVG"
extreme ::= "MIN" | "MAX"
frame ::= " ROWS BETWEEN " ("UNBOUNDED" | few) " PRECEDING AND CURRENT ROW"
"""

_SCOPE = r"""
@x ::= @t | @s | @d | @b | @k
@moment ::= @s | @d | @o
@date ::= @quarter | "strftime('" format "', " @moment ")"
@within ::= @quarter | "strftime('" formats "', " @moment ")"
@year ::= "strftime('%Y', " @moment ")"
@letters ::= @t | @s | @v | @n
@text ::= ("LOWER(" | "UPPER(") @letters ")"
@v ::= @o | @u
@days ::= "JULIANDAY(" @d ") - JULIANDAY(" @d ")"
@leaf ::= @n | @v | number | @days
@few ::= @leaf (op @leaf){0,2}
@quarter ::= "(strftime('%m', " @moment ") + 2) / 3"
@call ::= ("ABS(" @few | "LENGTH(" @letters | ("COALESCE(" | "NULLIF(") @few ", " number) ")"
@p0 ::= @leaf | @call
@p1 ::= @p0 | "(" @p0 (op @p0){1,3} ")"
@p2 ::= @p0 | "(" @p1 (op @p1){1,3} ")"
@when ::= " WHEN " @pred2 (bool @pred2){0,2} " THEN "
@case ::= "CASE" (@when @p0 (op @p0)?){1,3} (" ELSE " @p0 (op @p0)?)? " END"
@label ::= string | @x
@labels ::= "CASE" (@when @label){1,3} (" ELSE " @label)? " END"
@g ::= @p2 | @case
@amount ::= hundred? @g (op @g){0,3}
@any ::= @amount | @x | @text | @labels | @date
@agg ::= "COUNT(" ("*" | "DISTINCT "? @any) ")" | total "(" "DISTINCT "? @amount ")" | extreme "(" @any ")"
@metric ::= total "(" @m ")" | "COUNT(" @c ")"
@a ::= @leaf | @agg
@acall ::= ("ABS(" @afew | "LENGTH(" @letters | ("COALESCE(" | "NULLIF(") @afew ", " number) ")"
@afew ::= @a (op @a){0,2}
@a0 ::= @a | @acall
@a1 ::= @a0 | "(" @a0 (op @a0){1,3} ")"
@a2 ::= @a0 | "(" @a1 (op @a1){1,3} ")"
@anum ::= @a2 (op @a2){0,3} | "ROUND(" @a2 (op @a2){0,3} (", " [0-9])? ")"
@aval ::= @anum | @x | @text | @date | @metric
@by ::= @aval " DESC"?
@sorted ::= "ORDER BY " @by (", " @by){0,2}
@parts ::= "PARTITION BY " @any (", " @any){0,2}
@over ::= " OVER (" (@parts (" " @sorted frame?)? | @sorted frame?)? ")"
@ordered ::= " OVER (" (@parts " ")? @sorted ")"
@rank ::= ranker "()" @ordered
@window ::= @rank | ("LAG" | "LEAD") "(" @aval (", " few)? ")" @ordered | (total | extreme) "(" @agg ")" @over
@i ::= @leaf | @agg | @agg @over | @window
@ifew ::= @i (op @i){0,3}
@icall ::= ("ABS(" @ifew | "LENGTH(" @letters | ("COALESCE(" | "NULLIF(") @ifew ", " number) ")"
@i0 ::= @i | @icall | @case | "(" sub1 ")"
@i1 ::= @i0 | "(" @i0 (op @i0){1,3} ")"
@i2 ::= @i0 | "(" @i1 (op @i1){1,3} ")"
@inum ::= hundred? @i2 (op @i2){0,4}
@item ::= @inum | "ROUND(" @inum (", " [0-9])? ")" | @x | @text | @labels | @date | @metric
@groups ::= " GROUP BY " @any (", " @any){0,3}
@top ::= " QUALIFY " @rank (" <= " | " = ") few
@order ::= " ORDER BY " @item " DESC"? (", " @item " DESC"?){0,2}
@core ::= "DISTINCT "? @item (", " @item){0,7} (" WHERE " @where0)? (@groups (" HAVING " @having0)?)? @top?
@body0 ::= @core (@order? limit? | set right)
@bodyr ::= @core @order? limit? | @chained
@chained ::= @core chain last
@bodyl ::= @core
@body1 ::= @inner1 ((" " @sorted)? limit? | set subright)
@bodys ::= @inner1
@body2 ::= @inner2 (" " @sorted)? limit?
"""

_QUERY = r"""
@where# ::= @clause# (bool @clause#){0,4}
@clause# ::= @pred# | "(" @pred# (bool @pred#){1,3} ")"
@pred# ::= @n (op @p2){0,3} " " @nrest# | @days " " @nrest# | @v (op @p2){0,3} " " @orest# | @date (op @p2){1,3} " " @orest# | @within " " @orest# | @year " " @yrest# | @call (op @p2){0,3} " " @nrest# | "(" @p1 (op @p1){1,3} ")" (op @p2){0,3} " " @nrest# | number (op @p2){1,3} " " @nrest# | @t " " @trest# | @s " " @drest# | @d " " @drest# | @text " " @trest# | @b " " @orest# | @keyed# | @nil null | @own
@nrest# ::= compare @nright# | "NOT "? @nset#
@nright# ::= @r# (op @r#){0,3}
@r# ::= @p2 | "(" sub+ ")"
@nset# ::= "BETWEEN " number " AND " number | "IN (" numbers ")" | "IN (" sub+ ")"
@trest# ::= compare @tright# | "NOT "? @tset#
@tright# ::= string | @t | @v | @text | "(" sub+ ")"
@drest# ::= compare @dright# | "NOT "? @tset#
@dright# ::= string | @s | @d | @v | @date | "(" sub+ ")"
@tset# ::= "LIKE " pattern | "BETWEEN " string " AND " string | "IN (" strings ")" | "IN (" sub+ ")"
@yrest# ::= compare @yright# | "NOT "? @yset#
@yright# ::= year | @date | "(" sub+ ")"
@yset# ::= "BETWEEN " year " AND " year | "IN (" year (", " year){0,19} ")" | "IN (" sub+ ")"
@orest# ::= compare @oright# | "NOT "? @oset#
@oright# ::= @nright# | string | truth | @x
@oset# ::= "LIKE " pattern | "BETWEEN " literal " AND " literal | "IN (" literals ")" | "IN (" sub+ ")"
@having# ::= @check# (bool @check#){0,2}
@check# ::= @anum " " @hrest# | @x " " @trest# | @metric " " @hrest#
@hrest# ::= compare @hright# | "NOT "? @oset#
@hright# ::= @h# (op @h#){0,3} | string
@h# ::= @a2 | "(" sub+ ")"
@inner# ::= "DISTINCT "? @aval (" WHERE " @where#)? (@groups (" HAVING " @having#)?)?
"""  # noqa: E501 - a rule is one line

_KEY_RULES = r"""
@~rest# ::= compare @~right# | "NOT "? @~set#
@~right# ::= number | @~ | "(" sub~at+ ")"
@~set# ::= "BETWEEN " number " AND " number | "IN (" numbers ")" | "IN (" sub~at+ ")"
@body~at# ::= "DISTINCT "? @~ (" WHERE " @where#)? (@groups (" HAVING " @having#)?)? (" " @sorted)? limit?
"""
"""The rules for one kind of key columns, `~`."""

_WINDOW_RULES = ("@over", "@window")
_CHAIN_RULES = ("@chained", "@bodyl")

_PART = re.compile(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]|[()]|\|')
_NAME = re.compile(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]|(@?[a-z][a-z0-9]*)')
_EXTERNAL_NAMES = frozenset({
    "op", "limit", "number", "year", "string", "strings", "numbers", "literal", "literals", "pattern",
    "right", "subright", "last",
    *re.findall(r"^([a-z]+) ::=", _GLOBAL, re.M),
})  # fmt: skip


def scope_rules(scope: str, columns: Mapping[str, str], *, windows: bool, chains: bool) -> str:
    """Return the rules of one scope, with `scope` as the prefix of their names.

    `columns` contains the rules of its columns by kind. Without `windows`, window functions are excluded, and without
    `chains`, set operations of three queries. The bodies of queries are `body0`, `bodyr` for the right side of a set
    operation, `bodyl` for the third query of a chain, and `body1`, `body2` by depth.
    """
    column_rules = "\n".join(f"{scope}{kind} ::= {rule}" for kind, rule in columns.items())
    template = _template(frozenset(columns), windows, chains)
    return f"{column_rules}\n{template.replace('@', scope)}"


def global_rules() -> str:
    """Return the rules that all scopes share."""
    return _GLOBAL.strip()


@cache
def _template(kinds: frozenset[str], windows: bool, chains: bool) -> str:
    """Return the rules without the alternatives that need a column kind outside `kinds`, or what is excluded."""
    keys = sorted(kind for kind in kinds if KEY_KIND.fullmatch(kind))
    key_predicates = " | ".join(f'@{kind} " " @{kind}rest#' for kind in keys)
    key_rules = (f"@keyed# ::= {key_predicates}\n" if keys else "") + "".join(
        _KEY_RULES.replace("~", kind) for kind in keys
    )
    excluded = (() if windows else _WINDOW_RULES) + (() if chains else _CHAIN_RULES)
    rules = {name: parts for name, parts in _ALTERNATIVES.items() if name not in excluded}
    for kind, function in (("m", "total "), ("c", '"COUNT(')):
        if kind in kinds:
            # The question names a metric; its own columns are not summed, or other things counted, instead.
            rules["@agg"] = [part for part in rules["@agg"] if not part.startswith(function)]
    rules |= _read(line for line in _depths(key_rules).splitlines() if line)
    depths = range(1, SUBQUERY_DEPTH + 1)
    external = {*_EXTERNAL_NAMES, *(f"@{kind}" for kind in kinds)}
    external |= {f"sub{part}" for depth in depths for part in (depth, *(f"{kind}at{depth}" for kind in keys))}
    while True:
        defined = external.union(rules)
        usable_rules = {name: [part for part in parts if _names(part) <= defined] for name, parts in rules.items()}
        usable_rules = {name: parts for name, parts in usable_rules.items() if parts}
        if usable_rules == rules:
            return "\n".join(f"{name} ::= {' | '.join(parts)}" for name, parts in rules.items())
        rules = usable_rules


def _names(part: str) -> set[str]:
    return {name for name in _NAME.findall(part) if name}


def _read(lines: Iterable[str]) -> dict[str, list[str]]:
    return {name: _alternatives(rule) for name, _, rule in (line.partition(" ::= ") for line in lines)}


def _alternatives(rule: str) -> list[str]:
    """Split a rule into its top-level alternatives."""
    cuts, depth = [0], 0
    for part in _PART.finditer(rule):
        depth += {"(": 1, ")": -1}.get(part[0], 0)
        if part[0] == "|" and not depth:
            cuts += [part.start(), part.end()]
    return [rule[start:end].strip() for start, end in zip(cuts[::2], [*cuts[1::2], len(rule)], strict=True)]


def _depths(rules: str) -> str:
    return "".join(
        rules.replace("#", str(depth)).replace("sub+", f"sub{depth + 1}").replace("at+", f"at{depth + 1}")
        for depth in range(SUBQUERY_DEPTH + 1)
    )


_ALTERNATIVES = _read(line for line in (_SCOPE + _depths(_QUERY)).splitlines() if line)
