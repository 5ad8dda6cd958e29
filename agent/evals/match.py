"""Execution match: whether two statements gave the same answer.

The rule is the one of the project's benchmark data (`shared/benchmarks/README.md`, section "Execution match"): equal
number of rows and of columns; each row as a multiset of values, floats to four decimals; the rows as a multiset, or in
order where the reference statement has an ORDER BY at its top level. It follows the execution accuracy of Spider (Yu et
al. 2018) in that the order of columns is free, and is stricter in the order of rows. The rule is silent on types; the
figure that it states for its recorded statements (457 of 533) is reached only where 98 and the text "98" are equal.
"""

from agent.sql.equal_rows import Rows, content_of


def matches(reference: Rows, answer: Rows, *, ordered: bool) -> bool:
    """Return whether `answer` holds what `reference` holds; with `ordered` also in its order.

    When values are equal is said in `agent.sql.equal_rows`.
    """
    if len(reference["rows"]) != len(answer["rows"]) or len(reference["columns"]) != len(answer["columns"]):
        return False
    return content_of(reference, ordered=ordered) == content_of(answer, ordered=ordered)
