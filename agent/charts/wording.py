"""What a question says about charts: whether it asks for one, and which types it names."""

import re
from typing import Literal, NamedTuple

from agent.charts.plot_spec import ChartType


class Wish(NamedTuple):
    """The chart that a text asks for: named types, the first one first, and how bars and areas are arranged."""

    types: tuple[ChartType, ...]
    hints: tuple[ChartType, ...]
    """Types that the purpose suggests, such as a line for a trend; they are used only if they suit the rows."""
    stacked: bool
    horizontal: bool
    grouped: bool
    """Whether a measure is asked for by group ("by month")."""


Kind = Literal["chart", "table", "number", "text"]


def requested_form(question: str) -> Kind | None:
    """Return the form that `question` asks for: of several, the last; None if it names none.

    A rewritten follow-up may name an earlier form first. Words that name data ("plots of land", "graph databases",
    "график работы", "图书") and refused forms ("no chart", "не график", "不要图表") do not count.

    >>> requested_form("Plot sales by month"), requested_form("How many plots of land are there?")
    ('chart', None)
    """
    text = _REFUSED.sub(lambda match: "." * len(match[0]), _NOT_CHARTS.sub(lambda match: "." * len(match[0]), question))
    ends = {
        kind: max((match.end() for pattern in patterns for match in pattern.finditer(text)), default=-1)
        for kind, patterns in _FORMS.items()
    }
    form = max(ends, key=ends.__getitem__)
    return form if ends[form] >= 0 else None


def refuses_chart(question: str) -> bool:
    """Return whether `question` asks for an answer without a chart.

    >>> refuses_chart("Sales by month, no chart please"), refuses_chart("Sales by month without a table")
    (True, False)
    """
    return any(_CHART_WORD.search(match[0]) for match in _REFUSED.finditer(question))


def wish_of(text: str) -> Wish:
    """Return the types of charts that `text` names or suggests."""
    return Wish(
        _found(_TYPES, text),
        _found(_HINTS, text),
        bool(_STACKED.search(text)),
        bool(_HORIZONTAL.search(text)),
        bool(_GROUPED.search(text)),
    )


def _found(patterns: tuple[tuple[ChartType, re.Pattern[str]], ...], text: str) -> tuple[ChartType, ...]:
    found = [(match.start(), kind) for kind, pattern in patterns if (match := pattern.search(text))]
    return tuple(dict.fromkeys(kind for _, kind in sorted(found)))


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)


# Requests

_NOUN = r"(?:charts?|graphs?|diagrams?|plots?)"
_COMPOUND = (
    r"(?:(?:bar|line|pie|donut|doughnut|area|column|scatter|bubble|box|stacked|trend|time[- ]series|violin)"
    rf"[ -](?:{_NOUN})|histograms?|heat ?maps?|(?:scatter|box)plots?|trend ?lines?|sparklines?)"
)
_AFTER = (
    r"(?=\s*(?:$|[.,;:!?)\"”]|(?:of|for|with|by|per|showing|that shows|which shows|to|over|in|on|from|and|or|"
    r"comparing|versus|vs|please|between|about|against|instead|where|as|across|illustrating|depicting|displaying|"
    r"how|what|then|too|also|again|using|based|sorted|so)\b))"
)
_MAKE = (
    r"(?:draw|make|create|build|generate|produce|render|sketch|prepare|design|plot|give|show|display|present|need|"
    r"want|like|see|get|have|provide|put|add|return|output|do)"
)
_DETERMINER = r"(?:me |us |my |our )?(?:(?:a|an|the|one|this|some|another|nice|simple|single)\s+)+"
_OBJECT = (
    r"(?:the|a|an|this|that|these|those|it|them|my|our|their|its|his|her|all|each|every|both|how|me|us|"
    r"(?:daily|weekly|monthly|quarterly|yearly|annual|hourly|total|average|mean|median|cumulative|sum|number|count)\b)"
)
_SPLIT = r"(?:by|per|over|vs\.?|versus|against|across|for|in|from|of|since|between|with|as|and|through|during|along)"
_START = r"(?:^|[.,;:!?—–-]\s*|\b(?:please|and|then|you|now|also|let's|to|just|me|kindly|i want to|help)\s+)"

_NOT_CHARTS = _pattern(
    # Plots, graphs and charts that are data
    r"\bplots?\s+(?:of\s+)?(?:(?:the|this|each|every|a|any|which|vacant|empty|arable|agricultural)\s+)?"
    r"(?:land|ground|soil|cemetery|movies?|films?|books?|novels?|stor(?:y|ies)|series|episodes?|garden|field)\b",
    r"\b(?:land|building|burial|garden|grave|cemetery|test|trial|field|experimental|sample|movie|film|main|sub)"
    r"[- ]?plots?\b",
    r"\bplots?\s+(?:sizes?|numbers?|owners?|holders?|boundar\w+|ids?|codes?|types?|twists?|summar\w+|lines?)\b",
    r"\bplots?\s+areas?\b(?! (?:by|per|over|vs))",
    r"\b(?:knowledge|social|property|directed|undirected|dependency|call|scene|citation)\s+graphs?\b",
    r"\bgraph\s+(?:data ?bases?|dbs?|stores?|theory|nodes?|edges?|neural|apis?|networks?|algorithms?|quer(?:y|ies)|"
    r"engines?|vendors?|ids?|names?|models?|types?|processing|analytics|technolog\w+)\b",
    r"\bcharts?\s+of\s+accounts?\b",
    r"\b(?:music|top|billboard|singles?|albums?|hit|pop|natal|birth|eye|flip)[- ]?charts?\b",
    r"\bchart\s+(?:positions?|ids?|names?|toppers?|numbers?|codes?|entr(?:y|ies)|ranks?|rankings?|types?|weeks?)\b",
    r"\bchart-topp\w+",
    r"\bcharts? of (?:each|every|all) (?:dashboards?|reports?|patients?)\b",
    r"\b(?:prize|lucky|lottery|goalless|scoreless)\s+draws?\b",
    r"\bdraws?\s+(?:dates?|numbers?|ids?|results?|times?|conclusions?|a conclusion|attention|lots?|comparisons?|"
    r"inferences?|up\b|down\b|from\b|on\b|\d+\b|(?:a |the )?(?:random|sample|winners?|cards?|tables?|lists?))",
    # Russian: schedules
    r"график\w*\s+(?:работ|отпуск|плат[её]ж|дежурств|поставок|погашени|смен|движени|заняти|трениров|при[её]м|выплат|"
    r"обслуживани|обучени|отгрузок|ремонт|уборк|публикаци|выход|релиз|мероприяти)\w*",
    r"(?<!\w)(?:по|вне|сменн\w*|гибк\w*|рабоч\w*|скользящ\w*|свободн\w*|плавающ\w*)\s+график\w*",
    r"график\w*\s+\d+\s*/\s*\d+",
    # Chinese: books, maps, pictures, paintings
    r"图书|地图|图片|图像|图库|图案|图纸|图号|图标|图数据库|图谱|版图|企图|意图|试图|蓝图|插图|图画|图腾|图文|图灵|图章|图层|截图|[绘制]图[员师]",
    r"[油漫动国绘书字刻版壁名计策幅副]画",
    r"画(?:家|作|廊|像|册|展|师|面|室|质|院|框|布|笔|派|坛|风|幅|出自|出售|出版|出口|出现)",
    r"绘制(?:的|者|于|日期|时间|人|员)",
    r"可视化(?:课程|工程师|工具|岗位|平台|部门|产品|软件|项目|专业)",
)
_REFUSED = _pattern(
    r"\b(?:no|not|without|don't|do not|never|instead of|rather than|skip|omit)\b(?:\s+\w+){0,3}?\s+"
    r"(?:charts?|graphs?|plots?|diagrams?|histograms?|draw|visuali[sz]\w+|tables?|lists?)\b"
    r"(?:\s+(?:an?\s+|the\s+|any\s+)?(?:\w+\s+)?(?:charts?|graphs?|plots?|diagrams?|histograms?)\b)?",
    r"(?<!\w)(?:не|без|вместо|никаких)\s+(?:\w+\s+){0,3}?(?:график|диаграмм|гистограмм|рису|строй|визуализ|таблиц|спис)\w*"
    r"(?:\s+(?:\w+\s+)?(?:график|диаграмм|гистограмм)\w*)?",
    r"(?:不要|不用|无需|不需要|别|不必|而不是|而非|不是|没有|不带|不)(?:再)?(?:给我|用|以|画|做|生成|显示|任何|绘制|出)*"
    r"(?:\w{0,3}图表?|可视化|表格|列表|画图|绘图|画)",
)
_CHART_WORD = _pattern(
    r"chart|graph|plot|diagram|histogram|draw|visuali",
    r"график|диаграмм|гистограмм|рису|строй|визуализ",
    r"图|画|绘|可视化",
)
_FORMS: dict[Kind, tuple[re.Pattern[str], ...]] = {
    "chart": (
        _pattern(
            rf"\b{_COMPOUND}\b(?!\s+(?:are|were|was|is|has|have|did|do|does)\b)",
            rf"\b{_MAKE}\s+{_DETERMINER}(?:[\w-]+\s+){{0,4}}?(?:chart|graph|diagram)\b{_AFTER}",
            rf"\b{_MAKE}\s+(?:me |us )?(?:a|an)\s+(?:[\w-]+\s+){{0,3}}?plot\b{_AFTER}",
            rf"\b(?:draw|make|create|build|generate|produce|render|sketch|prepare)\s+(?:[\w-]+\s+){{0,4}}?{_NOUN}\b{_AFTER}",
            rf"\b(?:show|display|give|present)\s+(?:me\s+|us\s+)?(?:[\w-]+\s+){{0,2}}?(?:charts?|diagrams?)\b{_AFTER}",
            rf"\b(?:as|in|on|with|into|using|via)\s+(?:an?|the)\s+(?:[\w-]+\s+){{0,2}}?(?:chart|graph|diagram)\b{_AFTER}",
            rf"\b(?:as|in|on|with|into|using|via)\s+(?!the\b)(?:[\w-]+\s+){{0,2}}?(?:chart|graph|diagram)s?\b{_AFTER}",
            r"\bas\s+(?:an?\s+)?(?:[\w-]+\s+){0,2}?plots?\b",
            r"\bin\s+(?:an?\s+)(?:[\w-]+\s+){0,2}?plot\b",
            r"\b(?:in|as)\s+(?:chart|graph|graphical|visual)\s+form\b|\bgraphically\b",
            r"\bas\s+(?:an?\s+)?(?:stacked\s+|horizontal\s+|vertical\s+|grouped\s+)*(?:pie|bars?|lines?|area|scatter|donut)\b"
            r"(?!\s+(?:of|items?|code))",
            rf"{_START}(?:plot|graph|chart)\s+(?:{_OBJECT}|(?!of\b|is\b|are\b|has\b)(?:[\w'’%$€-]+\s+){{1,6}}?{_SPLIT}\b|[\w'’-]+\s*[.!]?$)",
            rf"{_START}(?:draw|sketch)\s+\w",
            r"^(?:an?\s+)?(?:scatter|(?:stacked|grouped|horizontal|vertical)\s+(?:bars?|columns?|areas?))\s+(?:of|by|for|with)\b",
            r"\bvisuali[sz]e\b|\b(?:a|as|data|some|the)\s+visuali[sz]ation\b|^visuali[sz]ation\b",
            r"^(?!(?:how|which|what|who|whose|where|when|why|list|count|find|is|are|do|does|did)\b)(?:[\w'’-]+\s+){0,6}?"
            r"(?:chart|graph|diagram|plot)\s+(?:of|for|showing|comparing|by|with|over)\b",
            r"^(?!(?:how|which|what|who|whose|where|when|why|list|count|find|is|are|do|does|did)\b).*\b(?:chart|graph|diagram)\s*[.!]?$",
        ),
        _pattern(
            r"(?<!\w)(?:нарисуй|начерти|изобрази|визуализируй|нарисовать|начертить|изобразить|визуализировать|отрисуй)(?:те)?(?!\w)"
            r"(?!\s+(?:таблиц|спис))",
            r"(?<!\w)визуализаци\w+",
            r"(?<!\w)(?:диаграмм|гистограмм)\w*(?<!диаграмм сколько)",
            r"(?:постро\w+|нарисова\w+|нарисуй\w*|покаж\w+|показать|сдела\w+|выве\w+|дай\w*|нуж[её]н|нужны|хочу|хотим|созда\w+|"
            r"начерти\w*|отобраз\w+|изобраз\w+|представ\w+|приведи\w*|составь\w*|подготовь\w*|сгенериру\w+|можно)\s+"
            r"(?:[\w-]+\s+){0,3}?график\w*",
            r"(?:на|в виде|как|через|с помощью|в форме)\s+(?:[\w-]+\s+){0,2}?(?:график|диаграмм|гистограмм)\w*",
            r"(?<!\w)(?:графиком|графически|столбиками|столбцами на графике)(?!\w)",
            r"^(?:[\w-]+\s+){0,2}?графики?\s+(?!у\b)\w",
            r"(?<!\w)(?:линейн|столбчат|кругов|точечн|сводн)\w+\s+график\w*",
            r"постро\w+\s+(?:[\w-]+\s+){0,2}?(?:лини|крив|тренд|столб|круг|динамик|теплов|зависимост|распределени)\w*",
            r"теплов\w+\s+карт\w+|(?<!\w)(?:боксплот|ящик\w* с усами)",
        ),
        _pattern(
            r"画(?:出|成|个|一|图|下|张|条|幅|为|在|上|各|每|每个|线|曲线|折线|柱|饼|散点|销|趋势|近|过|本|去|今|全|20|所有|不同|价|数|用|面|热|箱)",
            r"(?:请|帮我|给我|帮忙|你|能|可以|想|要|并|再|来|^)\s*画(?=[\u3400-\u9fff\w])",
            r"绘制|绘出|绘图|绘成|作图|制图|作个图|可视化|图形化|图示",
            r"(?:图表|[线状形饼点方力热箱积势布比环计析形柱雷达谱面区气泡条]图)(?!书|片|像|案|纸|号|标|数据库)",
            r"(?:做|生成|出|给|来|要|用|以|弄|制作|显示|展示|看)(?:一?[个张幅份])?[^\s，。；,;]{0,12}?图(?=$|[，。！？,.!?；;：:\s吧呢吗来看展显说表形])",
            r"[^\s，。；？]{2,}图$",
        ),
    ),
    "table": (
        _pattern(
            r"\b(?:as|in) an? (?:\w+ )?(?:table|list)\b|\bas (?:table|list)\b|\bdraw (?:a |the )?table\b",
            r"(?<!\w)(?:таблицей|списком)(?!\w)|в виде (?:таблицы|списка)",
            r"(?<!\w)(?:нарисуй|построй|сделай)(?:те)? (?:\w+ )?таблицу",
            r"表格|列表",
        ),
    ),
    "number": (_pattern(r"\bas an? number\b|\bas number\b|(?<!\w)числом(?!\w)|в виде числа"),),
    "text": (_pattern(r"\b(?:as|in) (?:a )?text\b|(?<!\w)текстом(?!\w)|в виде текста"),),
}

# Types

_CHART = r"[ -]?(?:charts?|plots?|graphs?|diagrams?)"
_TYPES: tuple[tuple[ChartType, re.Pattern[str]], ...] = (
    (
        "pie",
        _pattern(
            rf"\b(?:pie|donut|doughnut){_CHART}|\bas an? (?:pie|donut|doughnut)\b|\bpie of\b",
            r"кругов\w+ (?:диаграмм|график)|кольцев\w+ диаграмм|(?<!\w)пирог\w*",
            r"饼状?图|圆饼图|饼形图|环形图|环状图|扇形图",
        ),
    ),
    (
        "line",
        _pattern(
            rf"\b(?:multi-?)?lines?{_CHART}|\bas (?:an? )?lines?\b|\bcurve\b",
            r"\b(?:draw|plot|show) (?:me )?(?:an? |the )?lines?\b",
            r"линейн\w+ (?:диаграмм|график)|(?<!\w)(?:лини[юяией]+|крив(?:ую|ая|ой))(?!\w)",
            r"折线|(?<!箱)线图|曲线|趋势图|走势图|画线|条线",
        ),
    ),
    (
        "bar",
        _pattern(
            rf"\b(?:bars?|columns?){_CHART}|\bas (?:stacked |horizontal |grouped )*bars\b|\bstacked bars?\b",
            r"столбчат\w+|столбик\w*|столбц(?:ами|овая|овую)|линейчат\w+",
            r"柱状|柱形|条形图|堆积柱|柱图",
        ),
    ),
    (
        "area",
        _pattern(rf"\barea{_CHART}", r"диаграмм\w+ с областями|област(?:ями|ная|ную) диаграмм\w*", r"面积图|区域图"),
    ),
    (
        "scatter",
        _pattern(
            rf"\b(?:scatter|bubble){_CHART}|\bscatterplots?\b|\bas an? scatter\b",
            r"рассеян\w+|точечн\w+ (?:диаграмм|график)|(?<!\w)разброс\w*",
            r"散点|气泡图",
        ),
    ),
    ("heatmap", _pattern(r"\bheat[ -]?maps?\b", r"теплов\w+ (?:карт|диаграмм)\w*", r"热力图|热图|热度图")),
    (
        "box",
        _pattern(
            rf"\bbox(?:[ -]and[ -]whiskers?)?{_CHART}|\bboxplots?\b|\bwhisker",
            r"боксплот\w*|ящик\w* с усами|ящичн\w+ диаграмм\w*|диаграмм\w+ размаха",
            r"箱线图|箱形图|箱型图|盒须图|盒图|盒形图|箱图",
        ),
    ),
    ("histogram", _pattern(r"\bhistograms?\b", r"гистограмм\w*", r"直方图|频率分布图|频数分布")),
)
_HINTS: tuple[tuple[ChartType, re.Pattern[str]], ...] = (
    (
        "line",
        _pattern(
            r"\b(?:trends?|over time|time series|dynamics|evolution|development)\b",
            r"тренд\w*|динамик\w*",
            r"趋势|走势|变化",
        ),
    ),
    (
        "scatter",
        _pattern(
            r"\b(?:correlat\w+|relationship|depend\w*|versus|vs\.?|against)\b",
            r"зависимост\w*|коррел\w+|взаимосвяз\w+|соотношени\w+",
            r"相关|关系|关联|随着",
        ),
    ),
    ("histogram", _pattern(r"\bdistributions?\b", r"распределени\w+", r"分布")),
)
_STACKED = _pattern(
    r"\bstack(?:ed|ing)?\b", r"накоплени\w+|накопительн\w+|составн\w+|нормированн\w+|слоями", r"堆[叠积]|叠加|堆砌"
)
_HORIZONTAL = _pattern(r"\bhorizontal(?:ly)?\b", r"горизонтальн\w+|линейчат\w+", r"水平|横向|横条")
_GROUPED = _pattern(
    r"\b(?:by|per|for each|for every|in each|across|over)\b",
    r"(?<!\w)(?:по|кажд\w+|за)(?!\w)",
    r"各|每|按|分(?:月|年|季|地区|类|品)|不同",
)
