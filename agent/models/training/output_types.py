"""Training examples of choosing the form of an answer: a question alone; answered by one of the agent's output types.

The types are those of `agent.state`: `number` and `string` for a single fact, `plot` for a chart, `dataframe` for the
rest. They follow `agent.answers.form`, but for what a result tells only by chance: a list that happens to have one row.
"""

import re
from collections.abc import Iterator, Sequence
from random import Random

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from agent.answers.form import choose_output_type
from agent.catalog.source import Source
from agent.charts.echarts import chart_of
from agent.errors import StatementError
from agent.models.embedded_jobs import output_type_messages
from agent.models.training.dataset import Asked
from agent.models.training.groups import Group, grouped
from agent.sql.result import Result
from agent.state import OutputType

_TYPES: tuple[OutputType, ...] = ("number", "string", "dataframe", "plot")
_USER = "<|im_start|>user\n"
_SINGULAR = re.compile(
    r"(what is the|what's the|who (is|was)|when (is|was|did)|where (is|was)|what (year|date|day|type|kind) "
    r"|какой|какая|какое|кто|когда|где)\b|(谁|哪位)",
    re.IGNORECASE,
)
_CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)
_HAN = re.compile("[\u3400-\u9fff]")
_ASKING = {
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
    source: Source, database: str, asked: Sequence[Asked], rng: Random, *, size: int, most: int
) -> Iterator[Group]:
    """Return at most `most` of `asked`, of every type nearly as many, in groups of at most `size`.

    A chart's question is one of `asked` that says so, or one whose result can be drawn with such words put to it.
    Left out is what does not run, and what has one row for another reason than that one was asked for.
    """
    found: dict[OutputType, list[str]] = {each: [] for each in _TYPES}
    for each in rng.sample(list(asked), len(asked)):
        for question, kind in _typed(each, source, rng):
            found[kind].append(question)
    share = min(most // len(_TYPES), 2 * min((len(questions) for questions in found.values() if questions), default=0))
    chosen = [(question, kind) for kind in _TYPES for question in found[kind][:share]]
    rng.shuffle(chosen)
    for start in range(0, len(chosen), size):
        exchanges = [(output_type_messages(question), kind) for question, kind in chosen[start : start + size]]
        yield grouped(database, "output", _USER, exchanges)


def _typed(asked: Asked, source: Source, rng: Random) -> Iterator[tuple[str, OutputType]]:
    """Return the question with its type, and where the result can be drawn, the same with the wish for a chart."""
    try:
        result = source.execute(asked.sql)
        select = sqlglot.parse_one(asked.sql, read="sqlite")
    except (StatementError, SqlglotError):
        return
    chart = chart_of(result, asked.question)
    kind = choose_output_type(asked.question, result, None, chart)
    is_value = kind in ("number", "string")
    if is_value != _is_single(select, asked.question):
        return
    if is_value and not _is_fact(result):
        return
    yield asked.question, kind
    if kind == "dataframe" and chart and _is_measured(select):
        yield _asking_for_chart(asked.question, rng), "plot"


def _is_measured(select: exp.Expr) -> bool:
    """True for a measure of each group."""
    outputs = select.selects if isinstance(select, exp.Select) and select.args.get("group") else []
    return len({output.find(exp.AggFunc) is None for output in outputs}) == 2


def _is_fact(result: Result) -> bool:
    """False where the agent shows a text for want of a value."""
    return all(value is not None for row in result["rows"] for value in row)


def _is_single(select: exp.Expr, question: str) -> bool:
    """True where one value is asked for: by the statement, or by the words of a question for one column."""
    if not isinstance(select, exp.Select) or len(select.selects) != 1 or isinstance(select.selects[0], exp.Star):
        return False
    limit = select.args.get("limit")
    if limit is not None:
        return bool(limit.expression.name == "1")
    if select.selects[0].find(exp.AggFunc) and not select.args.get("group"):
        return True
    return _SINGULAR.match(question) is not None


def _asking_for_chart(question: str, rng: Random) -> str:
    language = "ru" if _CYRILLIC.search(question) else "zh" if _HAN.search(question) else "en"
    if language == "en" and rng.random() < 0.2:
        language = rng.choice(("ru", "zh"))
    form = rng.choice(_ASKING[language])
    ends = form.startswith("{}") and form[3:4].isupper() or form.startswith("{} 画")
    return form.format(question if ends else _END.sub("", question))
