"""The words with which questions ask for charts and name their types, in all languages."""

import re
from functools import cache

from datasphinx.agent.generation.follow_ups import AskedForm
from datasphinx.agent.types import ChartForm, ChartType

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
_CHART = r"[ -]?(?:charts?|plots?|graphs?|diagrams?)"
_ANY_GERMAN_NOUN = r"(?:\w*diagramme?n?s?|(?<!\w)(?:charts?|graph(?:en|iken?)?|grafik(?:en)?|plots?|schaubild\w*|kurven?|histogramme?n?s?|heat ?maps?|boxplots?)(?!\w))"
_GERMAN_NOUN = r"(?:\w*diagramme?n?s?|(?<!\w)(?:grafik(?:en)?|schaubild\w*|kurven?|histogramme?n?s?)(?!\w))"
"""Without words that English has too."""
_GERMAN_MAKE = r"(?:zeichne\w*|erstelle?n?|mach(?:e|en)?|bau(?:e|en)?|generiere?n?|stelle?n?|zeige?n?|gib|geben|plotte?n?|brauche|möchte|hätte|visualisiere?n?|darstellen|anzeigen|abbilden)"
_NOT_CHARTS = (
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
    r"\b(?:fluss|organisations|schalt|ablauf|klassen|uml-?)diagramm\w*",
    r"\b(?:wissens|sozial|abhängigkeits)graph\w*|\bgraph(?:en)?-?datenbank\w*",
    r"\bgrafik(?:karten?|er\w*|design\w*)\b|\bcharts?platzierung\w*|\b(?:musik|single|album)-?charts?\b",
    r"график\w*\s+(?:работ|отпуск|плат[её]ж|дежурств|поставок|погашени|смен|движени|заняти|трениров|при[её]м|выплат|"
    r"обслуживани|обучени|отгрузок|ремонт|уборк|публикаци|выход|релиз|мероприяти)\w*",
    r"(?<!\w)(?:по|вне|сменн\w*|гибк\w*|рабоч\w*|скользящ\w*|свободн\w*|плавающ\w*)\s+график\w*",
    r"график\w*\s+\d+\s*/\s*\d+",
    r"图书|地图|图片|图像|图库|图案|图纸|图号|图标|图数据库|图谱|版图|企图|意图|试图|蓝图|插图|图画|图腾|图文|图灵|图章|图层|截图|[绘制]图[员师]",
    r"[油漫动国绘书字刻版壁名计策幅副]画",
    r"画(?:家|作|廊|像|册|展|师|面|室|质|院|框|布|笔|派|坛|风|幅|出自|出售|出版|出口|出现)",
    r"绘制(?:的|者|于|日期|时间|人|员)",
    r"可视化(?:课程|工程师|工具|岗位|平台|部门|产品|软件|项目|专业)",
)
_REFUSED = (
    r"\b(?:no|not|without|don't|do not|never|instead of|rather than|skip|omit)\b(?:\s+\w+){0,3}?\s+"
    r"(?:charts?|graphs?|plots?|diagrams?|histograms?|draw|visuali[sz]\w+|tables?|lists?)\b"
    r"(?:\s+(?:an?\s+|the\s+|any\s+)?(?:\w+\s+)?(?:charts?|graphs?|plots?|diagrams?|histograms?)\b)?",
    rf"\b(?:kein(?:e[nsmr]?)?|ohne|nicht als|statt(?: eine[rs])?|anstelle eine[rs])\b(?:\s+\w+){{0,2}}?\s+(?:{_ANY_GERMAN_NOUN}|tabellen?|listen?)",
    r"\bnicht (?:zeichnen|visualisieren|grafisch)\b",
    r"(?<!\w)(?:не|без|вместо|никаких)\s+(?:\w+\s+){0,3}?(?:график|диаграмм|гистограмм|рису|строй|визуализ|таблиц|спис)\w*"
    r"(?:\s+(?:\w+\s+)?(?:график|диаграмм|гистограмм)\w*)?",
    r"(?:不要|不用|无需|不需要|别|不必|而不是|而非|不是|没有|不带|不)(?:再)?(?:给我|用|以|画|做|生成|显示|任何|绘制|出)*"
    r"(?:\w{0,3}图表?|可视化|表格|列表|画图|绘图|画)",
)
_CHART_WORDS = (
    r"chart|graph|plot|diagram|histogram|draw|visuali",
    r"diagramm|chart|grafi[ks]|graph|plot|schaubild|kurve|histogramm|zeichn|visualis",
    r"график|диаграмм|гистограмм|рису|строй|визуализ",
    r"图|画|绘|可视化",
)
_CHARTS = (
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
    rf"\b{_GERMAN_MAKE}\b(?:\s+[\w-]+){{0,4}}?\s+{_ANY_GERMAN_NOUN}",
    rf"\b(?:als|in einem|im|mit einem|in form eine[rs])\s+(?:\w+\s+){{0,2}}?{_ANY_GERMAN_NOUN}",
    r"\b\w*(?:linien|balken|säulen|kreis|torten|punkt|streu|flächen|kasten)diagramme?n?s?\b|\bhistogramm\w*|\bheat ?maps?\b|\bboxplots?\b",
    rf"^(?:\w+\s+){{0,3}}?{_GERMAN_NOUN}\s+(?:der|des|von|für|mit|zu|nach)\b",
    rf"{_GERMAN_NOUN}\s*[.!]?$",
    r"\b(?:zeichne|visualisiere|plotte)(?:n|t)?\b|\bgrafisch\b|\bvisualisierung\b",
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
    r"画(?:出|成|个|一|图|下|张|条|幅|为|在|上|各|每|每个|线|曲线|折线|柱|饼|散点|销|趋势|近|过|本|去|今|全|20|所有|不同|价|数|用|面|热|箱)",
    r"(?:请|帮我|给我|帮忙|你|能|可以|想|要|并|再|来|^)\s*画(?=[\u3400-\u9fff\w])",
    r"绘制|绘出|绘图|绘成|作图|制图|作个图|可视化|图形化|图示",
    r"(?:图表|[线状形饼点方力热箱积势布比环计析形柱雷达谱面区气泡条]图)(?!书|片|像|案|纸|号|标|数据库)",
    r"(?:做|生成|出|给|来|要|用|以|弄|制作|显示|展示|看)(?:一?[个张幅份])?[^\s，。；,;]{0,12}?图(?=$|[，。！？,.!?；;：:\s吧呢吗来看展显说表形])",
    r"[^\s，。；？]{2,}图$",
)
_TABLES = (
    r"\b(?:as|in) an? (?:\w+ )?(?:table|list)\b|\bas (?:table|list)\b|\bdraw (?:a |the )?table\b",
    r"\b(?:als|in einer|in tabellenform|in form einer) (?:\w+ )?(?:tabelle|liste)\b|\btabellarisch\b",
    r"(?<!\w)(?:таблицей|списком)(?!\w)|в виде (?:таблицы|списка)",
    r"(?<!\w)(?:нарисуй|построй|сделай)(?:те)? (?:\w+ )?таблицу",
    r"表格|列表",
)
_STACKED = (
    r"\bstack(?:ed|ing)?\b",
    r"\bgestapelt\w*|\bstapel\w*",
    r"накоплени\w+|накопительн\w+|составн\w+|нормированн\w+|слоями",
    r"堆[叠积]|叠加|堆砌",
)
_HORIZONTAL = (
    r"\bhorizontal(?:ly)?\b",
    r"\b(?:waagerecht|waagrecht|horizontal)\w*",
    r"горизонтальн\w+|линейчат\w+",
    r"水平|横向|横条",
)
_TYPES: dict[ChartType, tuple[str, ...]] = {
    "pie": (
        rf"\b(?:pie|donut|doughnut){_CHART}|\bas an? (?:pie|donut|doughnut)\b|\bpie of\b",
        r"(?:kreis|torten|kuchen|ring|donut)-?(?:diagramm|chart|grafik)\w*|\bals torte\b",
        r"кругов\w+ (?:диаграмм|график)|кольцев\w+ диаграмм|(?<!\w)пирог\w*",
        r"饼状?图|圆饼图|饼形图|环形图|环状图|扇形图",
    ),
    "line": (
        rf"\b(?:multi-?)?lines?{_CHART}|\bas (?:an? )?lines?\b|\bcurve\b",
        r"\b(?:draw|plot|show) (?:me )?(?:an? |the )?lines?\b",
        r"(?:linien|kurven)-?(?:diagramm|chart|grafik)\w*|\bals linien?\b|\b(?:trend)?kurve\b",
        r"линейн\w+ (?:диаграмм|график)|(?<!\w)(?:лини[юяией]+|крив(?:ую|ая|ой))(?!\w)",
        r"折线|(?<!箱)线图|曲线|趋势图|走势图|画线|条线",
    ),
    "bar": (
        rf"\b(?:bars?|columns?){_CHART}|\bas (?:stacked |horizontal |grouped )*bars\b|\bstacked bars?\b",
        r"(?:balken|säulen|stab)-?(?:diagramm|chart|grafik)\w*|\bals (?:gestapelte |gruppierte |waagerechte )*(?:balken|säulen)\b",
        r"столбчат\w+|столбик\w*|столбц(?:ами|овая|овую)|линейчат\w+",
        r"柱状|柱形|条形图|堆积柱|柱图",
    ),
    "area": (
        rf"\barea{_CHART}",
        r"flächen-?(?:diagramm|chart|grafik)\w*",
        r"диаграмм\w+ с областями|област(?:ями|ная|ную) диаграмм\w*",
        r"面积图|区域图",
    ),
    "scatter": (
        rf"\b(?:scatter|bubble){_CHART}|\bscatterplots?\b|\bas an? scatter\b",
        r"(?:streu|punkte?|blasen)-?(?:diagramm|chart|wolke|plot|grafik)\w*",
        r"рассеян\w+|точечн\w+ (?:диаграмм|график)|(?<!\w)разброс\w*",
        r"散点|气泡图",
    ),
    "heatmap": (
        r"\bheat[ -]?maps?\b",
        r"\bheat-?map\w*|wärmekarte\w*",
        r"теплов\w+ (?:карт|диаграмм)\w*",
        r"热力图|热图|热度图",
    ),
    "box": (
        rf"\bbox(?:[ -]and[ -]whiskers?)?{_CHART}|\bboxplots?\b|\bwhisker",
        r"boxplot\w*|kasten(?:diagramm|grafik)\w*",
        r"боксплот\w*|ящик\w* с усами|ящичн\w+ диаграмм\w*|диаграмм\w+ размаха",
        r"箱线图|箱形图|箱型图|盒须图|盒图|盒形图|箱图",
    ),
    "histogram": (
        r"\bhistograms?\b",
        r"histogramm\w*|häufigkeitsverteilung\w*",
        r"гистограмм\w*",
        r"直方图|频率分布图|频数分布",
    ),
}


def asked_form(text: str) -> AskedForm:
    """Return the chart that `text` asks for, with the type that it names first; none if it asks for a table last.

    A rewritten follow-up may name an earlier form first. Words that name data ("plots of land", "graph databases",
    "график работы", "图书") and refused forms ("no chart", "не график", "不要图表") do not count.

    >>> asked_form("Plot sales by month as bars"), asked_form("How many plots of land are there?")
    (AskedForm(output_type='plot', form={'chart': {'type': 'bar'}}), AskedForm(output_type=None, form={}))
    """
    plain = _pattern(_NOT_CHARTS).sub(_dots, text)
    refuses = any(_pattern(_CHART_WORDS).search(match[0]) for match in _pattern(_REFUSED).finditer(text))
    plain = _pattern(_REFUSED).sub(_dots, plain)
    table, chart = _end(_TABLES, plain), max(_end((pattern,), plain) for pattern in _CHARTS)
    if chart > table:
        return AskedForm("plot", {"chart": form} if (form := _chart(text)) else {})
    return AskedForm(None, {"chart": None} if table >= 0 or refuses else {})


def _chart(text: str) -> ChartForm:
    found = [(match.start(), kind) for kind, words in _TYPES.items() if (match := _pattern(words).search(text))]
    form = ChartForm(type=min(found)[1]) if found else ChartForm()
    if _pattern(_STACKED).search(text):
        form["stacked"] = True
    if _pattern(_HORIZONTAL).search(text):
        form["horizontal"] = True
    return form


def _end(patterns: tuple[str, ...], text: str) -> int:
    """Return where the last match of one of `patterns` ends; -1 if there is none."""
    return max((match.end() for match in _pattern(patterns).finditer(text)), default=-1)


def _dots(match: re.Match[str]) -> str:
    return "." * len(match[0])


@cache
def _pattern(parts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(parts), re.IGNORECASE)
