"""Execution match: compare two results by the project's rule.

The rule is the one of its benchmark data (`shared/benchmarks/README.md`, section "Execution match"): equal
numbers of rows and of columns; each row is a multiset of values, floats to four decimals; the rows are a multiset, or a
sequence if the reference SQL has an ORDER BY at its top level. It follows the execution accuracy of Spider (Yu et al.
2018) in ignoring the order of columns, and is stricter about the order of rows. The rule does not define types; its
stated result for the recorded statements (457 of 533) is reached only if 98 and the text "98" are equal.

An infinite float becomes NULL, bytes become hexadecimal text, and an integer beyond 2^53 becomes text.
"""

from collections.abc import Callable

from datasphinx.agent.sql.compare import Rows, comparison_key, is_ordered

Match = Callable[[Rows, Rows, str, str], bool]
"""Whether the second result equals the first one, that of a statement in a dialect."""


def results_match(reference: Rows, answer: Rows, sql: str, dialect: str) -> bool:
    """Return whether `answer` equals `reference`, the result of `sql` in `dialect`."""
    return matches(reference, answer, ordered=is_ordered(sql, dialect))


def matches(reference: Rows, answer: Rows, *, ordered: bool) -> bool:
    """Return whether two results are equal; with `ordered` also in the order of rows.

    `datasphinx.agent.sql.compare` defines the equality of values.
    """
    if len(reference["rows"]) != len(answer["rows"]) or len(reference["columns"]) != len(answer["columns"]):
        return False
    return comparison_key(reference, ordered=ordered) == comparison_key(answer, ordered=ordered)
