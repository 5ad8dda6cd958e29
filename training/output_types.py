"""Examples of the output type task: a question without a schema, answered by an output type.

The types are those of `agent.types.OutputType`: `number` and `string` for a single fact, `plot` for a chart,
`dataframe` otherwise. They follow `agent.answers.outputs`, except for lists that happen to have one row.
"""

import re
from collections.abc import Iterator, Sequence
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.answers.outputs import choose_output_type
from agent.charts.echarts import chart_of
from agent.embedded.prompts import output_type_messages
from agent.errors import StatementError
from agent.sources.source import Source
from agent.types import OutputType, Result
from training.dataset import GoldQuestion
from training.groups import Group, grouped

_TYPES: tuple[OutputType, ...] = ("number", "string", "dataframe", "plot")
_USER = "<|im_start|>user\n"
_SINGULAR = re.compile(
    r"(what is the|what's the|who (is|was)|when (is|was|did)|where (is|was)|what (year|date|day|type|kind) "
    r"|какой|какая|какое|кто|когда|где)\b|(谁|哪位)",
    re.IGNORECASE,
)
_CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)
_HAN = re.compile("[\u3400-\u9fff]")
_CHART_REQUESTS = {
    "en": (
        "{}, as a chart", "{} Show it as a chart.", "{} Plot it.", "Plot a graph: {}", "{} Draw a diagram.",
        "{} Visualize the result.", "{} Visualise this.", "{} as a bar chart", "{} Show the trend in a graph.",
        "Make a chart of this: {}",
    ),
    "ru": (
        "{} Построй график.", "{} Нарисуй диаграмму.", "{} Покажи на графике.", "Построй диаграмму: {}",
        "{} Визуализируй результат.", "{} в виде гистограммы",
    ),
    "zh": ("{} 画图", "{} 请画成图表。", "绘制图表：{}", "{} 用柱状图显示", "{} 用折线图展示趋势"),
}  # fmt: skip
_END = re.compile(r"[\s?.!。？！]+$")


def output_types(
    source: Source, database: str, questions: Sequence[GoldQuestion], rng: Random, *, size: int, limit: int
) -> Iterator[Group]:
    """Yield at most `limit` of `questions`, balanced by type, in groups of at most `size`.

    A chart question names a chart, or is one with a result that can be charted, extended by a request for a chart.
    Statements that fail are left out, and so are single values that the question does not ask for.
    """
    by_type: dict[OutputType, list[str]] = {kind: [] for kind in _TYPES}
    for gold in rng.sample(list(questions), len(questions)):
        for question, kind in _typed(gold, source, rng):
            by_type[kind].append(question)
    share = min(limit // len(_TYPES), 2 * min((len(texts) for texts in by_type.values() if texts), default=0))
    sample = [(question, kind) for kind in _TYPES for question in by_type[kind][:share]]
    rng.shuffle(sample)
    for start in range(0, len(sample), size):
        exchanges = [(output_type_messages(question), kind) for question, kind in sample[start : start + size]]
        yield grouped(database, "output", _USER, exchanges)


def _typed(gold: GoldQuestion, source: Source, rng: Random) -> Iterator[tuple[str, OutputType]]:
    """Yield the question with its type and, if its result can be charted, a variant that requests a chart."""
    try:
        result = source.execute(gold.sql)
        select = sqlglot.parse_one(gold.sql, read="sqlite")
    except (StatementError, SqlglotError):
        return
    chart = chart_of(result, gold.question)
    kind = choose_output_type(gold.question, result, None, chart)
    is_value = kind in ("number", "string")
    if is_value != _is_single(select, gold.question):
        return
    if is_value and not _is_fact(result):
        return
    yield gold.question, kind
    if kind == "dataframe" and chart and _is_measured(select):
        yield _with_chart_request(gold.question, rng), "plot"


def _is_measured(select: exp.Expr) -> bool:
    """Return whether the statement computes a measure per group."""
    outputs = select.selects if isinstance(select, exp.Select) and select.args.get("group") else []
    return len({output.find(exp.AggFunc) is None for output in outputs}) == 2


def _is_fact(result: Result) -> bool:
    """Return whether no value of the result is NULL."""
    return all(value is not None for row in result["rows"] for value in row)


def _is_single(select: exp.Expr, question: str) -> bool:
    """Return whether a single value is requested, by the statement or the wording of a question about one column."""
    if not isinstance(select, exp.Select) or len(select.selects) != 1 or isinstance(select.selects[0], exp.Star):
        return False
    limit = select.args.get("limit")
    if limit is not None:
        return bool(limit.expression.name == "1")
    if select.selects[0].find(exp.AggFunc) and not select.args.get("group"):
        return True
    return _SINGULAR.match(question) is not None


def _with_chart_request(question: str, rng: Random) -> str:
    language = "ru" if _CYRILLIC.search(question) else "zh" if _HAN.search(question) else "en"
    if language == "en" and rng.random() < 0.2:
        language = rng.choice(("ru", "zh"))
    template = rng.choice(_CHART_REQUESTS[language])
    keeps_end = template.startswith("{}") and template[3:4].isupper() or template.startswith("{} 画")
    return template.format(question if keeps_end else _END.sub("", question))
