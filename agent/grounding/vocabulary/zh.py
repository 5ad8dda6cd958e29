"""Chinese words of claims."""

import re
from collections.abc import Iterator

from agent.grounding.vocabulary import (
    ChartWords,
    DateWords,
    FigureWords,
    NumberWord,
    QuestionWords,
    Vocabulary,
    lazy_pattern,
)


def _words(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(f"(?:{pattern})", re.IGNORECASE)


def _before(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of words directly before a figure, with an optional currency sign between."""
    return lazy_pattern(rf"(?:{pattern})(?:有|为|是|达到?|在)?\s*[$€£¥￥]?$", re.IGNORECASE)


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
    up=_words(r"变多|增大|(?<!负)增长(?!率)|增加|上升|上涨|提高|提升|攀升|回升|上扬|增至|升至|涨至|增幅|涨幅|扩大|飙升|走高|增多|增产|增收|增员|升(?=后|至|了|到)|先升|后升|翻[了]?一?[番倍]|增长率为正|反弹|升高"),
    down=_words(r"变少|减小|减产|减收|先降|后降|下降|下跌|减少|降低|下滑|跌至|降至|减至|回落|萎缩|缩减|走低|降幅|跌幅|负增长|骤降|锐减|缩小|减半|降到"),
    improves=_words(r"改善|好转"),
    worsens=_words(r"恶化|变差"),
    judged=_words(r"更?好|更?差|快|慢|改善|恶化"),
    steady=_words(r"持平|不变|保持稳定|没有变化|无变化|稳定在"),
    always=_words(r"持续|逐年|逐月|逐季|连续|不断|每年都|每月都|一直|稳步|一路"),
    more=_words(r"多(?!个|少|次|种|家|名)|高(?!达)|大|贵|长(?!期)|重|领先|多出|高出|高于|多于|大于"),
    less=_words(r"少(?!于等)|低|小|便宜|短|轻|落后|低于|少于|小于|不及|不如"),
    than=_words(r"比(?!例|率|重|较)|与|相比|相较于?|较(?!高|低|大|小|多|少|为)|对比|同"),
    exceeds=_words(r"超过|超出|高于|多于|大于|领先(?:于)?|优于|胜过|超越|赶超|压过|好于|快于"),
    trails=_words(r"低于|少于|小于|落后(?:于)?|不及|不如|逊于|慢于|输给"),
    equal=_words(r"相同|一样|相等|等于|并列|同样"),
    highest=_words(r"(?:前三|前五|前十)(?:名|位|的)?(?!\w{0,4}(?:合计|共|占))|最高|最多|最大|(?:高|多|大)于其他(?:所有)?|比其他[^，。]{0,8}都(?:多|高|大)|最贵|最长|最重|最热|最畅销|最旺|居首|首位|第一(?!季|个|年|次|批|天|月|周|名(?!$))|榜首|领跑|冠军|峰值|顶峰|高峰|最受欢迎|遥遥领先|位列第一|排名第一|名列前茅|龙头|最活跃|领先(?=于(?:其他|所有)|$|[，。])|最老|主导|最主要|高居|头名|创新高|新高|最广|最为突出"),
    lowest=_words(r"最低|最少|最小|最便宜|最短|最轻|最冷|垫底|末位|倒数第一|排名最后|最后一名|谷底|低谷|末尾|创新低|新低|最年轻|居末"),
    best=_words(r"最好|最佳|最优|最强"),
    worst=_words(r"最差|最糟"),
    either=_words(r"最快|最慢"),
    better_low=lazy_pattern(r"退货|投诉|错误|故障|流失|延迟|延误|等候|等待|时长|时间|分钟|成本|费用|价|亏损|排名|缺勤|运费|负|失|欠|损|逾期|取消"),
    each=_words(r"每|人均|户均|单均"),
    not_superlative=lazy_pattern(r"(?:从|到|由|不是|并非|非|之一|倒数|第[二三四五六七八九]|次|不)$"),
    followed_by=_words(r"其次(?:是|为)?|紧随其后的?(?:是|为)?|随后(?:是|为)?|接着是|然后是|再次(?:是|为)"),
    rank=_words(r"第(?P<ordinal>[二三四五六七八九十])(?!季|个|年|次|批|天|月|周|产业)(?:位|名|大|高|多|低|少|小)?|第(?P<ordinal3>\d{1,2})(?:位|名)?(?!季)|(?P<ordinal4>亚军|次席)"),
    ordinals={"一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "亚军": 2, "次席": 2},
    total=_words(r"总计|合计|共计|一共|总共|总额|总和|总数|总量|总(?!体|部|经理|结|是|统|监|会)|加起来|之和|累计|合共|共(?!同|享|有产)"),
    streak=_words(r"连续|接连"),
    weighted=_words(r"加权"),
    average=_words(r"平均|均值|人均|均为|户均"),
    median=_words(r"中位数|中值|中位"),
    share=_words(r"占|份额|比重|比例|贡献|构成"),
    rated=_words(r"占|份额|比重|比例|相对|每"),
    difference=_words(r"剩|还有|没有|未(?!来)|未售|未付|净|结余|缺口|多(?=[一-鿿]{0,3}\d)|少(?=[一-鿿]{0,3}\d)|快|慢|好于|差(?!评)|差距|差额|差异|变化|增|减|升|降|涨|跌|多出|高出|少了|领先|落后|超出|缩短"),
    by=lazy_pattern(r"(?:多|少|高|低|大|小|快|慢|贵|便宜|长|短|重|轻|增加|减少|了|出|约)$"),
    ratio=_words(r"每|平均|人均|之比|比率|倍"),
    every=_words(r"所有|全部|每个|每家|各个|均(?!值|为\d)|都|两者|全都|每一|无一例外"),
    none=_words(r"没有(?:一个|任何|一家|一种)?|无一|均未|都没有|均不"),
    only=_words(r"只有|仅有|唯一|仅(?!\d|占|为)"),
    majority=_words(r"大部分|多数|大多数|过半|超过一半|一半以上|绝大部分"),
    some=_words(r"一些|部分|多数|几个|若干|一个|一家|有的"),
    rest=_words(r"其他|其余|剩余|剩下|另外|其它"),
    complement=_words(r"未|没|空|不"),
    first_last=_words(r"前|后|第一"),
    top=lazy_pattern(r"(?:前|最高的|最大的|最多的|领先的|排名前)$"),
    bottom=lazy_pattern(r"(?:后|最低的|最小的|最少的|末)$"),
    existence=lazy_pattern(r"(?:共有?|一共有?|总共有?|所有|全部|这|合计|包括|涵盖|列出了?|包含|涉及|有|共计|分为|全国|来自|覆盖|中的?|在)$"),
    about=_before(r"约为|大约为|约|大约|大概|将近|近|左右|接近|差不多"),
    over=_before(r"超过|逾|超|高于|多于|大于|突破|高出|以上|长于|超出"),
    under=_before(r"不到|不足|将近|接近|低于|少于|小于|未达|近|未满|以下|短于"),
    nearly=_before(r"将近|接近|近"),
    at_least=_before(r"至少|不少于|不低于|最少"),
    at_most=_before(r"至多|最多|不超过|不多于|不高于"),
    about_after=lazy_pattern(r"\s?\w{0,2}(?:左右|上下)"),
    at_least_after=lazy_pattern(r"\s?[%％]?\w{0,3}(?:及以上|以上)"),
    over_after=lazy_pattern(r"\s?[多余]|\s?\+(?!\d)"),
    positive=_words(r"盈利|为正|正值"),
    negative=_words(r"亏(?!损率)|赤字|倒亏|零下|透支|亏损|为负|负值|负数"),
    negation=_words(r"不|没|未|无|非|并非"),
    previous=_words(r"上(?:一)?(?:年|月|个月|季度|周)|去年|次年|翌年|一年后|前一(?:年|月|季度|天)|同比|环比|上年|一年前"),
    following=_words(r"次年|翌年|次月|一年后|第二年|下一(?:年|个?月|个?季度)"),
    since=_words(r"达到|随后|以来|此后|之后|自(?!身|己)"),
    multiple=lazy_pattern("倍|翻|半|分之|番"),
    own=_words(r"自身|自己|其(?=最)|峰值|高峰|顶峰|谷底|低谷|新高|新低|(?:最好|最差|最佳|最高|最低)的?(?:年份|月份|季度|一年|一月|一天|一个月|一个季度)"),
    missing=lazy_pattern(r"\s*(?:没有|无|缺少|数据|未)"),
    unknown=_words(r"(?:数据|结果|表格|表中)[^，。]{0,8}(?:没有|未|无法|不)|未说明|无法(?:判断|得知|确定|看出)|不清楚|未知|看不出"),
    dated=lazy_pattern(r"(?:早于|晚于|自|截至)$"),
    dated_after=lazy_pattern(r"\s?年?(?:以前|之前|以后|之后|前|后)"),
    shown=_words(r"所示|显示的|列出的|这些|表中|所列|以上|其中"),
    pronoun=lazy_pattern(r"[^，。]{0,8}[是属]它(?!们)|\s*(?:它|其(?!中|他|次|余)|该|他|她|这一)"),
    joins=lazy_pattern(r"\s*(?:、|和|与|及|以及|还有|跟|，和|加|加上)\s*(?:在|的)?"),
    against=lazy_pattern(r"[\s\w]{0,6}(?:对|比|较|相比|到|至)\s*"),
    starts=_words(r"从|由|自"),
    part_of=lazy_pattern(r"(?:中的?|/|共|总数)$"),
    ranges=lazy_pattern(r"\s*(?:的|单|元|件|人|万|亿|%|次|家|个|台)*\s*(?:到|至|增至|升至|涨至|降至|跌至|减至|增长到|增长至|增加到|增加至|上升到|上升至|下降到|下降至|减少到|减少至|提高到|提升到|提升至|降到|涨到|升到|跌到|[-–—~→])(?:了)?\s*(?:约)?"),
    breaks=lazy_pattern(r"[，,；;：:（）()|\n、]|而(?!且)|但|和|与|及(?!其)|比(?!例|率|重|较)|其次"),
    after_figure=lazy_pattern(r"\s*(?:%|个|家|名|位|元|件|单|万|亿|人|台)*\s*(?:来自|属于|在|是|\(|（|归)"),
    links=_words(r"[的在为是由比，,]"),
    cause=_words(r"因为|由于|因(?!为|此|素|子|而|地制宜)[^，。]{1,8}|因而|(?:延长|推出|上线|改革|实施|调整|促销|开业|引入|搬迁|启用|更换|培训|降价|涨价|宣传|营销|改版|整顿|关闭|开放|举办|引进|升级|裁员|扩建)[^，。]{0,12}(?:之后|(?<!先)(?<!前)后|以来)|得益于|归因于|归功于|源于|因此|所以|导致|造成|致使|使得|原因(?:是|在于)?|受(?:到|益于)?[^，。]{0,12}(?:影响|推动|拖累|带动|驱动|冲击)|推动(?:了)?|带动(?:了)?|驱动|拉动|促使|之所以|起因|缘于|归咎于|促进(?:了)?|在[^，。]{1,12}(?:推动|带动|影响|作用|刺激)下|反映(?:了|出)|说明(?:了)?|拖累|多亏|由[^，。]{1,10}引起|所致|引发|以致|有赖于"),
    afterwards=lazy_pattern(r".*(?:后|以来)$", re.IGNORECASE),
    cause_columns=_words(r"原因|备注|因素|说明|理由"),
    forecast=_words(r"预计|预期|预测|将(?:会|继续|达到|达|增长|增加|下降|上升|超过|突破|保持|持续|进一步|有|在(?:明年|下|未来)|成为|迎来|大幅|于(?:明年|下)|维持|提升|扩大|减少|翻)|会(?:继续|增长|增加|下降|上升|超过|达到|进一步|更|保持|持续|突破|有所|大幅|再)|有望|未来|明年|下(?:个|一)?(?:月|季度|年|周)|可能|预料|或将|即将|势必|必将|展望|料将|前景|很快|大概率|有可能|后续"),
    event=_words(r"下降|上升|增长|高峰|低谷|回落|反弹|峰值"),
    schedule=_words(r"预计|计划|应|将(?:于|在)|预定"),
    forecast_columns=_words(r"预测|计划|预计|目标|预期"),
    sentiment=_words(r"怨言|怨气|埋怨|不耐烦|烦躁|普遍认为|(?:顾客|客户|用户|员工|旅客|会员|读者|学生|患者|居民|游客|玩家|观众|消费者)[^，。]{0,4}(?:认为|觉得|感到|感觉|希望)|积极性|兴趣|迷恋|痴迷|向往|羡慕|嫉妒|愤慨|反感|厌恶|憎|痛苦|难过|伤心|悲伤|紧张|轻松|舒适|舒心|暖心|贴心|美好|可怕|可怜|精彩|完美|漂亮|美丽|难看|丑|有趣|无聊|枯燥|耐心|动力不足|士气|追求|推崇|尊敬|敬仰|钦佩|令人[一-鿿]{2}|喜人|优秀|出色|卓越|惊人|可喜|可惜|遗憾|不幸|幸运|糟糕|失望|满意|不满|开心|高兴|喜欢|喜爱|热爱|青睐|偏爱|讨厌|忠诚|担忧|堪忧|担心|不佳|亮眼|抢眼|瞩目|骄人|辉煌|欣慰|鼓舞|振奋|乐观|悲观|惨淡|强劲|疲软|良好|极好|非常好|很好|不错|理想|受欢迎(?!程度)|认可|信任|热情|抱怨|困境|危机|灾难|火爆|傲人|惨烈|赞(?!助)|夸|热捧|追捧|叫好|捧场|怨声载道|情绪|压力|低落|气愤|恼火|委屈|疲惫|辛苦|害怕|恐慌|焦虑|自豪|骄傲|感动|惊喜|惊艳|激动|敬佩|佩服|称赞|赞赏|好评|差评|口碑|心仪|钟爱|厌倦|沮丧|无奈|尴尬|丢脸|安心|放心|期待|期望|渴望|憧憬|差强人意|欢迎(?!程度)|愉快|热衷|看好|表现(?:优异|突出|平平|很差|较差)|优异|信心|平庸|严峻|愤怒"),
    recommendation=_words(r"建议|应该(?:增加|关闭|扩大|减少)|应当(?:增加|关闭|扩大|减少)|需要(?:加强|增加|关闭|扩大)"),
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
    figures=FigureWords(
        scales={"千": 1e3, "万": 1e4, "十万": 1e5, "百万": 1e6, "千万": 1e7, "亿": 1e8, "十亿": 1e9, "万亿": 1e12},
        scale_endings="",
        points=r"(?:个)?百分点",
        percent="",
        times="倍",
        ordinal_after="",
        ordinal_before="第|[前后]|排名",
    ),
    counters=_words(r"人次?|名|位|件|个|份|册|本|台|辆|套|次|笔|张|单|例|家|所|项"),
    units={
        r"\$|美元|美金": "usd", r"€|欧元": "eur", r"[¥￥]|元|人民币|块钱?": "cny", r"£|英镑": "gbp", r"日元": "jpy", r"卢布": "rub",
        r"毫克|mg": "mg", r"克|g": "g", r"公斤|千克|kg": "kg", r"吨|t": "t", r"斤": "jin",
        r"毫秒|ms": "ms", r"秒|s": "s", r"分钟": "min", r"小时|h": "h", r"天": "d", r"周": "week", r"个月": "month", r"年|岁": "year",
        r"毫米|mm": "mm", r"厘米|cm": "cm", r"米|m": "m", r"公里|千米|km": "km", r"毫升|ml": "ml", r"升|l": "l", r"加仑": "gal", r"立方米|m³": "m3", r"℃|摄氏度|°c": "c",
        r"千瓦时|kwh": "kwh", r"兆瓦时|mwh": "mwh", r"吉瓦时|gwh": "gwh", r"gb": "gb", r"mb": "mb",
    },
    per=lazy_pattern(r"每$"),
    generic=_words(r"行|条记录|记录|结果|数据|条|项"),
    total_rows=_words(r"合计|总计|小计|总和|全部|汇总"),
)  # fmt: skip
