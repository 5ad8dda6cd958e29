"""The words with which questions ask for charts and name their types, in all languages."""

import re

from datasphinx.agent.generation.follow_ups import AskedForm
from datasphinx.agent.types import ChartForm, ChartType


def _regex(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_CHART = r"[ -]?(?:charts?|plots?|graphs?|diagrams?)"
_TYPES: dict[ChartType, re.Pattern[str]] = {
    "pie": _regex(
        rf"\b(?:pie|donut|doughnut){_CHART}", r"(?:kreis|torten|ring)-?(?:diagramm|grafik)",
        r"(?:кругов|кольцев)\w+ (?:диаграмм|график)", r"[饼环扇][状形]?图",
    ),
    "line": _regex(
        rf"\b(?:trend ?)?lines?{_CHART}|\bas (?:a )?lines?\b|\btrend ?line", r"(?:linien|kurven)-?(?:diagramm|grafik)",
        r"линейн\w+ (?:диаграмм|график)|(?:нарисуй|построй)\w* (?:лини|крив)", r"折线|(?<!箱)线图|曲线|[趋走]势图",
    ),
    "bar": _regex(
        rf"\b(?:bars?|columns?){_CHART}|\b(?:as|stacked|horizontal) bars\b", r"(?:balken|säulen)-?(?:diagramm|grafik)",
        r"столбчат\w+ (?:диаграмм|график)|столбиками", r"柱[状形]?图|条形图",
    ),
    "area": _regex(rf"\barea{_CHART}(?! by)", r"flächen-?(?:diagramm|grafik)", r"диаграмм\w+ с областями", r"面积图"),
    "scatter": _regex(
        rf"\b(?:scatter|bubble){_CHART}|^scatter of", r"(?:streu|punkt|blasen)-?(?:diagramm|grafik)",
        r"рассеян\w+|точечн\w+ (?:диаграмм|график)", r"散点|气泡图",
    ),
    "heatmap": _regex(r"\bheat[ -]?maps?\b", r"теплов\w+ карт", r"热[力度]?图"),
    "histogram": _regex(r"\bhistogram", r"гистограмм", r"直方图"),
}  # fmt: skip
_ASKS = _regex(
    r"\b(?:as|in|on|with|into|draw|make|create|build|generate|show|give|need|want|see)\b(?: (?:me|us))?"
    r"(?: (?:an?|the|some|\w+ed|\w+al))*(?: \w+)? (?:chart|graph|diagram)\b(?! data| of accounts)|\b(?:charts|visuali[sz]ation) of\b",
    r"^(?:(?:please|now|and|can|could|you) )*(?:plot|graph|chart|visuali[sz]e) (?!of\b|data)\w",
    r"[.?!] (?:plot|draw|graph|chart|visuali[sz]e) (?:it|this|them)\b",
    r"\b(?:as|generate|create|make|need|want) a (?:\w+ )?plot\b|\b(?:sales|revenue|data) (?:chart|graph)\b",
    r"\b\w*diagramm\w*|\b(?:als|in einer|zeichne|zeige|erstelle)\b(?: \w+){0,2} (?:grafik|schaubild|chart)\b",
    r"диаграмм|визуализ|(?:нарису|начерт|изобраз)\w+|(?:на|в виде|построй\w*|покажи\w*|сделай\w*|хочу) (?:\w+ )?график",
    r"图表|画图|绘[制图]|可视化|(?:^|[请我并])画(?!家)|[画做出][成个张一]?\w{0,6}图",
)
_NO_CHART = _regex(
    r"\b(?:no|not|without|don't|do not|instead of)(?: \w+){0,3}? (?:charts?|graphs?|plots?|diagrams?)\b",
    r"\b(?:kein\w*|ohne|statt)(?: \w+)? (?:\w*diagramm|grafik)",
    r"(?<!\w)(?:не|без|вместо)(?: \w+)? (?:график|диаграмм)\w*",
    r"(?:不要|不用|无需|不)(?:画|用)?图表?",
)
_NO_TABLE = _regex(r"\b(?:not|without)(?: as)?(?: an?)? table\b", r"\bohne tabelle", r"без таблиц", r"不要表格")
_TABLE = _regex(
    r"\b(?:as|in|draw) an? (?:table|list)\b", r"\bals (?:tabelle|liste)\b", r"таблицей|в виде таблицы", r"表格"
)
_STACKED = _regex(r"\bstacked\b", r"gestapelt", r"с накоплением|накопительн", r"堆[叠积]")
_HORIZONTAL = _regex(r"\bhorizontal", r"waagerecht", r"горизонтальн", r"水平|横向")


def asked_form(text: str) -> AskedForm:
    """Return the chart that `text` asks for, with the type that it names first; none if it asks for a table last.

    A rewritten follow-up may name an earlier form first. Forms after a negation ("no chart", "не график") do not count.

    >>> asked_form("Plot sales by month as bars"), asked_form("How many plots of land are there?")
    (AskedForm(output_type='plot', form={'chart': {'type': 'bar'}}), AskedForm(output_type=None, form={}))
    """
    plain = _NO_TABLE.sub("", _NO_CHART.sub("", text))
    chart, table = max(_last(pattern, plain) for pattern in (_ASKS, *_TYPES.values())), _last(_TABLE, plain)
    if chart > table:
        return AskedForm("plot", {"chart": form} if (form := _chart(plain)) else {})
    return AskedForm(None, {"chart": None} if table >= 0 or _NO_CHART.search(text) else {})


def _chart(text: str) -> ChartForm:
    found = [(match.start(), kind) for kind, pattern in _TYPES.items() if (match := pattern.search(text))]
    form = ChartForm(type=min(found)[1]) if found else ChartForm()
    if _STACKED.search(text):
        form["stacked"] = True
    if _HORIZONTAL.search(text):
        form["horizontal"] = True
    return form


def _last(pattern: re.Pattern[str], text: str) -> int:
    """Return where the last match of `pattern` begins; -1 if there is none."""
    return max((match.start() for match in pattern.finditer(text)), default=-1)
