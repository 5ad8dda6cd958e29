"""Chinese words of claims."""

import re
from collections.abc import Iterator

from datasphinx.agent.grounding.vocabulary import (
    ChartWords,
    DateWords,
    NumberWord,
    QuestionWords,
    Vocabulary,
    lazy_pattern,
)


def _words(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(f"(?:{pattern})", re.IGNORECASE)


_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_SCALES = {"十": 10, "百": 100, "千": 1000}
_NUMERAL = "[零〇一二两三四五六七八九十百千万亿]"
_MEASURE = (
    "个|家|名|位|种|件|台|单|人|款|项|类|次|笔|座|条|只|张|本|辆|份|间|所|元|块|吨|公斤|千克|箱|瓶|套|城|地区|省|市|部门|门店|渠道|产品|城市|客户|区域"
    "|大|者|行|天|小时|分钟|岁|双|把|颗|样|支|篇|周|级|点"
)
_PART = lazy_pattern(
    rf"(?P<below>{_NUMERAL}+|\d+)分之(?P<above>{_NUMERAL}+(?:点{_NUMERAL}+)?|\d+(?:\.\d+)?)"
    rf"|(?P<tenths>[一二两三四五六七八九])成(?P<half_tenth>半)?(?![为功立本员交长果])"
    r"|(?P<half>一半|半数|过半(?=数)|对半)|(?P<doubled>翻(?:了)?一?[番倍])|(?P<times>[一二两三四五六七八九十]+)倍"
)
_NUMBER = lazy_pattern(
    rf"(?<![第十百千万亿\d.初周星期])(?P<number>{_NUMERAL}+(?:点[零一二三四五六七八九]+)?)(?:(?P<measure>{_MEASURE})|(?![月季年日号度倍成共直般致样定些切旦律连贯同起下样]))"
)
_NO_NUMBER = lazy_pattern(
    r"统一|唯一|万一|同一|(?<![零一二两三四五六七八九])十分(?!之)|百货|千里|进一步|之一|一起|一线|三农|第一"
)
_ALONE = lazy_pattern(r"(?:只有|仅有|仅|只)$")


_AND_A_HALF = lazy_pattern(
    r"(?:(?P<whole>\d+|[一二两三四五六七八九十]+)个?)?半(?:个(?=小时|月|星期))?(?=小时|月|天|公斤|斤|星期|公里)(?<![上下][一二两三四五六七八九十]半)(?<![上下]半)"
)


def _number_words(text: str) -> Iterator[NumberWord]:
    occupied = []
    for match in _AND_A_HALF.finditer(text):
        occupied.append(match.span())
        yield NumberWord(*match.span(), (_value(match["whole"]) if match["whole"] else 0) + 0.5)
    for match in _PART.finditer(text):
        if any(start < match.end() and match.start() < end for start, end in occupied):
            continue
        occupied.append(match.span())
        if match["below"]:
            below, above = _value(match["below"]), _value(match["above"])
            kind = "percent" if below == 100 else "times"
            yield NumberWord(*match.span(), above if below == 100 else above / (below or 1), kind)
        elif match["tenths"]:
            yield NumberWord(*match.span(), 10 * _DIGITS[match["tenths"]] + 5 * bool(match["half_tenth"]), "percent")
        elif match["times"]:
            yield NumberWord(*match.span(), _value(match["times"]), "times")
        else:
            yield NumberWord(*match.span(), 0.5 if match["half"] else 2, "times")
    occupied += [match.span() for match in _NO_NUMBER.finditer(text)]
    for match in _NUMBER.finditer(text):
        start, end = match.span("number")
        number = match["number"]
        composed = len(number) > 1 and (set(number) & set("十百千") or number[-1] in "万亿")
        is_article = number == "一" and not _ALONE.search(text[:start])
        if any(first < end and start < last for first, last in occupied) or is_article:
            continue
        if composed and number[0] not in "万亿千百" or match["measure"]:
            yield NumberWord(start, end, _value(number))


def _value(number: str) -> float:
    if number[0].isdecimal():
        return float(number)
    whole, _, fraction = number.partition("点")
    total = part = digit = 0
    for character in whole:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _SCALES:
            part, digit = part + (digit or 1) * _SCALES[character], 0
        else:
            total, part, digit = (total + part + digit or 1) * (10**4 if character == "万" else 10**8), 0, 0
    decimals = float("0." + "".join(str(_DIGITS[digit_]) for digit_ in fraction)) if fraction else 0.0
    return total + part + digit + decimals


CHART_WORDS = ChartWords(
    not_charts=(
        r"图书|地图|图片|图像|图库|图案|图纸|图号|图标|图数据库|图谱|版图|企图|意图|试图|蓝图|插图|图画|图腾|图文|图灵|图章|图层|截图|[绘制]图[员师]",
        r"[油漫动国绘书字刻版壁名计策幅副]画",
        r"画(?:家|作|廊|像|册|展|师|面|室|质|院|框|布|笔|派|坛|风|幅|出自|出售|出版|出口|出现)",
        r"绘制(?:的|者|于|日期|时间|人|员)",
        r"可视化(?:课程|工程师|工具|岗位|平台|部门|产品|软件|项目|专业)",
    ),
    refused=(
        r"(?:不要|不用|无需|不需要|别|不必|而不是|而非|不是|没有|不带|不)(?:再)?(?:给我|用|以|画|做|生成|显示|任何|绘制|出)*"
        r"(?:\w{0,3}图表?|可视化|表格|列表|画图|绘图|画)",
    ),
    chart_word=(r"图|画|绘|可视化",),
    chart=(
        r"画(?:出|成|个|一|图|下|张|条|幅|为|在|上|各|每|每个|线|曲线|折线|柱|饼|散点|销|趋势|近|过|本|去|今|全|20|所有|不同|价|数|用|面|热|箱)",
        r"(?:请|帮我|给我|帮忙|你|能|可以|想|要|并|再|来|^)\s*画(?=[\u3400-\u9fff\w])",
        r"绘制|绘出|绘图|绘成|作图|制图|作个图|可视化|图形化|图示",
        r"(?:图表|[线状形饼点方力热箱积势布比环计析形柱雷达谱面区气泡条]图)(?!书|片|像|案|纸|号|标|数据库)",
        r"(?:做|生成|出|给|来|要|用|以|弄|制作|显示|展示|看)(?:一?[个张幅份])?[^\s，。；,;]{0,12}?图(?=$|[，。！？,.!?；;：:\s吧呢吗来看展显说表形])",
        r"[^\s，。；？]{2,}图$",
    ),
    table=(r"表格|列表",),
    number=(),
    text=(),
    stacked=(r"堆[叠积]|叠加|堆砌",),
    horizontal=(r"水平|横向|横条",),
    grouped=(r"各|每|按|分(?:月|年|季|地区|类|品)|不同",),
    types={
        "pie": (r"饼状?图|圆饼图|饼形图|环形图|环状图|扇形图",),
        "line": (r"折线|(?<!箱)线图|曲线|趋势图|走势图|画线|条线",),
        "bar": (r"柱状|柱形|条形图|堆积柱|柱图",),
        "area": (r"面积图|区域图",),
        "scatter": (r"散点|气泡图",),
        "heatmap": (r"热力图|热图|热度图",),
        "box": (r"箱线图|箱形图|箱型图|盒须图|盒图|盒形图|箱图",),
        "histogram": (r"直方图|频率分布图|频数分布",),
    },
    hints={"line": (r"趋势|走势|变化",), "scatter": (r"相关|关系|关联|随着",), "histogram": (r"分布",)},
    shares=(r"占比|比例|份额|百分比",),
    share_columns=(r"占比|比例|份额|百分比",),
)


QUESTION_WORDS = QuestionWords(
    describe=(r"描述|概述|概括|介绍|总结|说明|讲解|分析|特征|特点|概况|概览|概貌|基本情况|整体情况|总体情况"),
    data=(r"数据集|数据库|数据表|工作表|电子表格|数据|表格|文件|资料|表"),
    fillers=(
        r"请|麻烦|帮我|帮忙|给我|为我|我|你|一下|下|一个|个|这个|这份|这张|这些|这|那|该|此|整个|全部|所有|的|里|中|内容|结构|字段|列|质量|分布|统计|基本|主要|整体|总体|情况|"
        r"信息|简单|简要|详细|用文字|文字|是什么|是怎样|怎么样|如何|有哪些|有什么|和|与|及|对|进行|做|吧|吗|呢|是"
    ),
    tables=(
        r"(?:这里|库里|数据库(?:里|中)?)?(?:都)?有(?:哪些|什么)(?:数据)?表格?|(?:列出|显示)(?:所有|全部)?的?(?:数据)?表格?"
    ),
)


VOCABULARY = Vocabulary(
    questions=QUESTION_WORDS,
    charts=CHART_WORDS,
    relative_periods={
        f"{which} {unit}": _words(rf"(?:{words})个?(?:{noun})")
        for which, words in (("last", "上一?"), ("this", "本|这一?"), ("next", "下一?"))
        for unit, noun in (("week", "周|星期|礼拜"), ("month", "月"), ("quarter", "季度"), ("season", "赛季"))
    }
    | {"last year": _words("去年|上年|上一年"), "this year": _words("今年|本年"), "next year": _words("明年")}
    | {"yesterday": _words("昨[天日]"), "today": _words("今[天日]"), "tomorrow": _words("明[天日]")},
    months=(),
    dates=(
        r"{year}\s?(?:赛季|学年|财年)", r"(?:{year}\s?年)?(?P<month>十[一二]?|[一二三四五六七八九])月份?", r"(?:{year}\s?年)?(?P<half>[上下])半年", r"(?:{year}\s?年)?第?(?P<quarter>[一二三四1-4])季(?!度)",
    ),
    date_words={"十一": 11, "十二": 12, "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "上": 1, "下": 2},
    date_limits=DateWords(
        between=r"(?:从|自|在)?@份?(?:到|至|[-–—~～])@份?(?:之间|期间|为止)?|在?@份?(?:和|与)@份?之间",
        before=r"在?@份?(?:之前|以前|前(?![\d一二三四五六七八九十后]))",
        since=r"(?:从|自)@份?(?:起|开始|以来|至今|到现在)?|@份?(?:以来|起|至今|到现在|开始)",
        after=r"在?@份?(?:之后|以后|后)",
        through=r"(?:截至|截止到?)@份?(?:底|末|为止)?|到@份?(?:底|末)?为止",
        within=r"(?:在|于)?@份?(?:内|期间|之内|里)?",
        changed_before=r"除了?|非|不是|不在|比|较|与|和|跟|每年?",
        changed_after=r"初|底|末|中旬|上旬|下旬|中(?!国)|左右|前后|的?(?:第[一二三四五]个?(?:周|星期|天)|最后一?[天周]|头[一二三]天)",
        of_year=r"的?",
        trailing={
            unit: rf"(?:最近|过去|近)的?(?P<n>\d{{1,3}}|[一二两三四五六七八九十]{{1,3}})个?(?:{noun})"
            for unit, noun in (("day", "天|日"), ("week", "周|星期"), ("month", "月"), ("quarter", "季度"), ("year", "年"))
        },
        to_date={"month": "本月(?:以来|至今)|月初(?:以来|至今)", "quarter": "本季度(?:以来|至今)", "year": "(?:今|本)年(?:以来|至今|迄今)|年初(?:以来|至今)"},
        in_year="{year}年",
    ),
    number_words=_number_words,
)  # fmt: skip
