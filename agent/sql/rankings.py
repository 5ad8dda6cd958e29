"""What a ranking is by, shown beside it where the question leaves open what to list."""

import re

from sqlglot import exp

_SAYS_WHAT = re.compile(
    r"\b(names?|titles?|ids?|list|which columns?)\b|назван|имена|имя|список|名称|名字|姓名|列出", re.IGNORECASE
)


def wants_figure(question: str) -> bool:
    """Return whether `question` leaves open what a ranking lists."""
    return not _SAYS_WHAT.search(question)


def show_figure(tree: exp.Query) -> None:
    """Give what the first of several rows of `tree` are ranked by as its last output, in place."""
    limit, order = tree.args.get("limit"), tree.args.get("order")
    if not isinstance(tree, exp.Select) or limit is None or order is None or limit.expression.name == "1":
        return
    figure = order.expressions[0].this
    if len(tree.selects) == 1 and figure not in [output.unalias() for output in tree.selects]:
        tree.select(figure.copy(), copy=False)
