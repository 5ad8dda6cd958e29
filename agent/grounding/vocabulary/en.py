"""English words of claims."""

import re
from collections.abc import Iterable, Iterator

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
    return lazy_pattern(rf"\b(?:{pattern})\b", re.IGNORECASE)


def _before(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of words directly before a figure, with an optional currency sign between."""
    return lazy_pattern(rf"(?:\b(?:{pattern})\s|[~≈])\s*[$€£¥₽]?$", re.IGNORECASE)


_SMALL = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
_TENS = {word: 10 * at for at, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_SCALES = {"hundred": 1e2, "dozen": 12, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_WORD = "|".join([*_SMALL, *_TENS, *_SCALES])
_NUMBER = lazy_pattern(
    rf"(?<![\w-])(?:an?\s+(?=(?:{'|'.join(_SCALES)})\b))?(?:{_WORD})(?:(?:\s+and\s+|[\s-]+)(?:{_WORD}))*(?![\w])(?!-(?!fold))",
    re.IGNORECASE,
)
_FRACTIONS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "tenth": 10}
_FRACTION = lazy_pattern(
    r"\b(?:(?<!first )(?<!last )(?<!all )(?<!these )(?!(?:one|two|four)\s+quarters?\b(?! of (?:the|all|its|their|total)\b))(?!a quarter\b(?! of| more| less| higher| lower| fewer)(?<!by )(?<!nearly )(?<!about )(?<!almost )(?<!over )(?<!than )(?<!roughly )(?<!around ))(?P<top>a|one|two|three|four|1|2|3)[\s-]+)(?P<part>third|quarter|fourth|fifth|sixth|tenth)s?\b(?!\s*(?:place|in a row|running|earlier|later|before|ago|together|combined|of\s+(?:19|20)\d\d))"
    r"|(?<!first )(?<!second )(?<!other )\b(?P<half>half)\b(?!-?\s?year| an? (?:hour|year|day|month|minute|century))",
    re.IGNORECASE,
)
_MULTIPLES = {
    "twice": 2, "double": 2, "doubled": 2, "doubles": 2, "doubling": 2, "thrice": 3, "triple": 3, "tripled": 3, "triples": 3, "tripling": 3,
    "quadruple": 4, "quadrupled": 4, "quadruples": 4, "halved": 0.5, "halves": 0.5, "halving": 0.5, "twofold": 2, "threefold": 3, "fourfold": 4,
    "fivefold": 5, "tenfold": 10, "two-fold": 2, "three-fold": 3,
}  # fmt: skip
_MULTIPLE = _words("|".join(_MULTIPLES))
_ALONE = lazy_pattern(r"\b(?:only|just|exactly|single)\s+$", re.IGNORECASE)


_HALVES = lazy_pattern(
    rf"\b(?P<whole>an?|one|{_WORD}) and a half(?P<scale> (?:hundred|thousand|million|billion))?\b|\bhalf[ -](?:a )?(?P<half>dozen|hundred|thousand|million|billion)\b"
    rf"|\b(?P<top>one|two|three|four|five|\d{{1,2}})(?: [a-z]+)? in(?: every)? (?P<below>{'|'.join(_SMALL)}|{'|'.join(_TENS)}|(?:a )?hundred|(?:a )?thousand|\d{{1,3}})\b(?=\s+\w|[.,;!]|$)",
    re.IGNORECASE,
)


def _number_words(text: str) -> Iterator[NumberWord]:
    """Yield the numbers in words: halves and odds, fractions, multiples, then all others."""
    words = list(_halves(text))
    for match in _FRACTION.finditer(text):
        above = (match["top"] or "a").lower()
        count = int(above) if above.isdecimal() else _SMALL.get(above, 1)
        word = NumberWord(*match.span(), count / _FRACTIONS[(match["part"] or "half").lower()], "times")
        words += [] if _overlaps(word, words) else [word]
    words += [
        NumberWord(*match.span(), _MULTIPLES[match.group().lower()], "times") for match in _MULTIPLE.finditer(text)
    ]
    yield from words
    yield from (word for word in _cardinals(text) if not _overlaps(word, words))


def _overlaps(word: NumberWord, others: Iterable[NumberWord]) -> bool:
    return any(other.start < word.end and word.start < other.end for other in others)


def _halves(text: str) -> Iterator[NumberWord]:
    """Yield numbers such as "two and a half million" and "half a dozen", and odds such as "one in ten"."""
    for match in _HALVES.finditer(text):
        if match["whole"]:
            whole = _SMALL.get(match["whole"].lower(), _TENS.get(match["whole"].lower(), 1)) + 0.5
            yield NumberWord(*match.span(), whole * _SCALES.get((match["scale"] or "").strip().lower(), 1))
        elif match["half"]:
            yield NumberWord(*match.span(), 0.5 * _SCALES[match["half"].lower()])
        else:
            words = (match[name].lower().removeprefix("a ") for name in ("top", "below"))
            top, below = (
                float(word) if word.isdecimal() else _SMALL.get(word) or _TENS.get(word) or _SCALES.get(word, 0)
                for word in words
            )
            if 0 < top < below:
                yield NumberWord(*match.span(), top / below, "times")


def _cardinals(text: str) -> Iterator[NumberWord]:
    for match in _NUMBER.finditer(text):
        words = [word for word in re.split(r"[\s-]+", match.group().lower()) if word not in {"and", "a", "an"}]
        if words == ["one"] and not _ALONE.search(text[: match.start()]):
            continue
        if words[0] in _SCALES and not re.match(r"an?\s", match.group(), re.IGNORECASE):
            continue
        yield NumberWord(*match.span(), _value(words))


def _value(words: list[str]) -> float:
    """Return the value of number words in order; scales multiply the preceding words."""
    total = part = 0.0
    for word in words:
        if word in {"hundred", "dozen"}:
            part = (part or 1) * _SCALES[word]
        elif word in _SCALES:
            total, part = total + (part or 1) * _SCALES[word], 0
        else:
            part += _SMALL.get(word, _TENS.get(word, 0))
    return total + part


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
CHART_WORDS = ChartWords(
    not_charts=(
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
    ),
    refused=(
        r"\b(?:no|not|without|don't|do not|never|instead of|rather than|skip|omit)\b(?:\s+\w+){0,3}?\s+"
        r"(?:charts?|graphs?|plots?|diagrams?|histograms?|draw|visuali[sz]\w+|tables?|lists?)\b"
        r"(?:\s+(?:an?\s+|the\s+|any\s+)?(?:\w+\s+)?(?:charts?|graphs?|plots?|diagrams?|histograms?)\b)?",
    ),
    chart_word=(r"chart|graph|plot|diagram|histogram|draw|visuali",),
    chart=(
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
    table=(r"\b(?:as|in) an? (?:\w+ )?(?:table|list)\b|\bas (?:table|list)\b|\bdraw (?:a |the )?table\b",),
    number=(r"\bas an? number\b|\bas number\b",),
    text=(r"\b(?:as|in) (?:a )?text\b",),
    stacked=(r"\bstack(?:ed|ing)?\b",),
    horizontal=(r"\bhorizontal(?:ly)?\b",),
    grouped=(r"\b(?:by|per|for each|for every|in each|across|over)\b",),
    types={
        "pie": (rf"\b(?:pie|donut|doughnut){_CHART}|\bas an? (?:pie|donut|doughnut)\b|\bpie of\b",),
        "line": (
            rf"\b(?:multi-?)?lines?{_CHART}|\bas (?:an? )?lines?\b|\bcurve\b",
            r"\b(?:draw|plot|show) (?:me )?(?:an? |the )?lines?\b",
        ),
        "bar": (rf"\b(?:bars?|columns?){_CHART}|\bas (?:stacked |horizontal |grouped )*bars\b|\bstacked bars?\b",),
        "area": (rf"\barea{_CHART}",),
        "scatter": (rf"\b(?:scatter|bubble){_CHART}|\bscatterplots?\b|\bas an? scatter\b",),
        "heatmap": (r"\bheat[ -]?maps?\b",),
        "box": (rf"\bbox(?:[ -]and[ -]whiskers?)?{_CHART}|\bboxplots?\b|\bwhisker",),
        "histogram": (r"\bhistograms?\b",),
    },
    hints={
        "line": (r"\b(?:trends?|over time|time series|dynamics|evolution|development)\b",),
        "scatter": (r"\b(?:correlat\w+|relationship|depend\w*|versus|vs\.?|against)\b",),
        "histogram": (r"\bdistributions?\b",),
    },
    shares=(r"\b(?:shares?|proportions?|breakdown|percent(?:age)?s? of (?:the )?(?:total|all))\b",),
    share_columns=(r"share|percent|pct|proportion",),
)


QUESTION_WORDS = QuestionWords(
    describe=(
        r"describe|description|summari[sz]e|summary|overview|profile|characteri[sz]e|characteristics|features|"
        r"outline|explain"
    ),
    data=(
        r"data|csv|xlsx|xls|excel|parquet|jsonl|datasets?|sets?|tables?|files?|spreadsheets?|sheets?|"
        r"databases?|workbooks?|columns?|fields"
    ),
    fillers=(
        r"the|this|that|these|those|my|our|your|its|whole|entire|all|of|in|about|me|us|a|an|is|are|to|and|for|"
        r"please|can|could|would|you|give|show|tell|write|make|provide|brief|briefly|short|shortly|quick|"
        r"quickly|general|detailed|detail|main|key|basic|uploaded|attached|given|what|which|have|here|there|i|"
        r"we|it|words|text|structure|statistics|statistical|statistically|properties|quality|distributions?|"
        r"contents?|with|some"
    ),
    tables=(
        r"(?:which|what) tables (?:exist|are (?:there|available)|do (?:you|we|i) have|can (?:i|we) ask about)|"
        r"(?:list|show)(?: me)?(?: all)?(?: the| of the)? (?:available )?tables"
    ),
)


VOCABULARY = Vocabulary(
    questions=QUESTION_WORDS,
    charts=CHART_WORDS,
    up=_words(
        r"grew|grow(?:s|n|ing)?|rose|rise[sn]?|rising|increas(?:e[sd]?|ing)|climb(?:s|ed|ing)?|jump(?:s|ed|ing)?|surg(?:e[sd]?|ing)|soar(?:s|ed|ing)?"
        r"|gain(?:s|ed|ing)?|went up|go(?:es|ing)? up|moved up|expand(?:s|ed|ing)?|recover(?:s|ed)?|rebound(?:s|ed)?|upward|uptick|lengthen(?:s|ed|ing)?|widen(?:s|ed|ing)?|(?<!make )(?<!makes )(?<!made )(?<!add )(?<!adds )(?<!making )up (?:by|from|on)|growth|higher than (?:in|the previous|a year|last)|adding|accelerat\w+|picked up|(?<!make )(?<!makes )(?<!made )(?<!add )(?<!adds )(?<!making )(?<!clocked )(?<!racked )(?<!notched )up(?= \d)|spik(?:ed|es)|advanced|added|rall(?:y|ied)|doubled|tripled|quadrupled"
    ),
    down=_words(
        r"fell(?! short)|fall(?:s|en|ing)?(?! short)|drop(?:s|ped|ping)?|declin(?:e[sd]?|ing)|decreas(?:e[sd]?|ing)|shr[aiu]nk(?:s|ing)?|slip(?:s|ped|ping)?|slid|slide[s]?|sank|sink[s]?|plung(?:e[sd]?|ing)"
        r"|plummet(?:s|ed|ing)?|tumbl(?:e[sd]?|ing)|slump(?:s|ed|ing)?|went down|go(?:es|ing)? down|downward|downturn|reduc(?:ed|tion)|dip(?:s|ped)?|contract(?:ed|ion)|down (?:by|from|to|on)|down(?= \d)|weaken(?:s|ed|ing)?|halved|eas(?:e[sd]?|ing)|shorten(?:s|ed|ing)?|narrow(?:s|ed|ing)|collapsed|dwindl\w+|shed|(?:lost|loses)(?! money| it\b| less| more| the (?:most|least)| (?:\w+ )?[\d$€£]| (?:one|two|three|four|five|six|seven|eight|nine|ten)\b)|retreat(?:s|ed)?|dent(?:s|ed)"
    ),
    improves=_words(r"improv(?:e[sd]?|ing|ement)"),
    worsens=_words(r"worsen(?:s|ed|ing)?|deteriorat\w+"),
    judged=_words(r"better|worse|faster|slower|quicker|improv\w+|worsen\w*"),
    steady=_words(r"unchanged|stayed (?:flat|the same|stable|constant|level)|remained (?:flat|the same|stable|constant|level|unchanged)|(?:was|were|is|are|held|been) (?:flat|stable|constant|steady)|did not change|no change|flat"),
    always=_words(r"(?:kept|keeps|has kept|never stopped) (?=\w+ing\b)|all the way|non-?stop|relentlessly|steadily|continuous(?:ly)?|consistent(?:ly)?|constantly|every (?:year|month|quarter|week|day)|each (?:year|month|quarter|week|day)|year (?:after|on|over) year|month (?:after|by) month|uninterrupted(?:ly)?|without (?:interruption|exception)|throughout|monotonic\w*|successive\w*"),
    more=_words(r"more|higher|greater|larger|bigger|above|longer|older|heavier|taller|further|warmer|hotter|ahead|expensive|extra|additional|pricier|costlier|farther"),
    less=_words(r"less|fewer|lower|smaller|below|shorter|younger|lighter|cheaper|cooler|colder|behind|short of|down on"),
    than=_words(r"than|clear of|compared (?:with|to)|in comparison (?:with|to)|versus|vs\.?|against|relative to|ahead of|behind|as (?:much|many|high|large|big|often|long|fast|expensive) as|above|below|over|that of|those of|the size of"),
    exceeds=_words(r"exceed(?:s|ed|ing)?|beat(?:s)?|outs(?:ell|ells|old)|outperform(?:s|ed|ing)?|surpass(?:es|ed|ing)?|outpac(?:e[sd]?)|outearn(?:s|ed)?|overt(?:ook|akes?|aken)|outstrip(?:s|ped)?|outrank(?:s|ed)?|edg(?:es|ed) out|lead(?:s)? (?!to\b|in\b|with\b|at\b|by\b|on\b|the\b|all\b|among\b)(?=\S+ by)|ahead of|above|tops(?= [A-Z])|eclips(?:es|ed)|outnumber(?:s|ed)?|outweigh(?:s|ed)?|ranks? (?:above|ahead of|higher than)"),
    trails=_words(r"trail(?:s|ed|ing)?(?! off)|lag(?:s|ged|ging)?(?: behind)?|behind|below|falls? short of|fell short of|ranks? (?:below|behind|lower than)|is inferior to|underperform(?:s|ed)?"),
    equal=_words(r"(?:exactly )?the same (?:\w+ ){0,2}as|equals?|equal to|as (?:much|many|high|large) as|identical|tied|level with"),
    highest=_words(
        r"highest|largest|biggest|greatest|maximum|max|peak(?:s|ed)?|record(?= (?:high|year|month|quarter|week|day|level|value|figure|sales|revenue))|top(?= (?:spot|place|position|performer|performing|seller|selling|earner|product|region|city|customer|employee|category|store|country|department|month|year|supplier|channel|brand|branch|team|salesperson|value|revenue))|top-(?:selling|performing|earning|ranked)|tops?(?= the)|leads?(?! to\b| time)|leading|leader|number one|no\. ?1|top (?:two|three|four|five|six|ten|\d{1,2})(?! \w+ (?:together|combined|account|make|generate|bring|represent))|ranks? first|ranked first|comes? first|came first|first place|in the lead|dominat(?:e[sd]?|ing)"
        r"|most(?! of| recent|ly)(?: (?!of\b)\w+)?|longest|(?:more|higher|greater|larger|bigger)(?: \w+){0,4} than (?:any|every|all)(?: of)?(?: the)?(?: other| others)?|heaviest|busiest|priciest|costliest|dearest|tallest|hottest|warmest|unrivall?ed|outsells? (?:all|every)|ahead of all|largest contributor|main contributor|oldest|fullest|steepest|sharpest"
    ),
    lowest=_words(
        r"lowest|smallest|least|fewest|minimum|min|bottom (?:two|three|four|five|\d{1,2})|bottom(?= (?:of|place|spot|position|performer))|at the bottom|ranks? last|ranked last|comes? last|came last|last place|shortest|lightest|quietest|cheapest|coldest|coolest|brings? up the rear|youngest|tiniest|slightest|(?:less|fewer|lower|smaller)(?: \w+){0,4} than (?:any|every|all)(?: of)?(?: the)?(?: other| others)?|trails? (?:all|every)|trough|lagged? behind (?:all|every)"
    ),
    best=_words(r"best|strongest|top performer"),
    worst=_words(r"worst|weakest"),
    either=_words(r"fastest|slowest|quickest|safest|healthiest"),
    better_low=lazy_pattern(r"(?<![a-z])(?<!on.)(?:scrap|reject|waste|downtime|outage|overdue|unresolved|backlog|overrun|failure|injur|infect|mortal|death|vacan|cost|late|delay|wait|error|defect|complaint|return|churn|bounce|loss|lost|duration|minutes|seconds|_ms\b|time|latency|place|rank|leaver|absen|accident|crime|readmission|expens|price|days|emission|co2|debt|against|missed|fail|cancel)", re.IGNORECASE),
    each=_words(r"per|each|apiece|a head"),
    not_superlative=lazy_pattern(r"(?:from(?: the)?|to(?: the)?|one of the|among the|not(?: the)?|n't(?: the)?|at(?: the)?|second|third|fourth|fifth|2nd|3rd|\dth|next|second-|third-|fourth-|fifth-|2nd-|3rd-|\dth-|nor|al|than|neither|far from the|the next)\s*$", re.IGNORECASE),
    followed_by=_words(r"followed (?:closely )?by|ahead of|then|next comes|next is|and then"),
    rank=_words(
        r"(?P<ordinal>second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|2nd|3rd|[4-9]th|1\dth|1st|first)(?:[\s-]+(?:highest|largest|biggest|most|best|strongest|greatest|place|place[ds]|position|spot|rank|lowest|smallest|worst|fewest|cheapest|busiest|longest)|(?= with\b| at\b| in (?:line|terms|the ranking)))"
        r"|(?:ranks?|ranked|comes?|came|placed|is|was|in|finished|runs?) (?:a distant |a close |in |at )?(?P<ordinal2>second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|2nd|3rd|[4-9]th|1st)(?! (?:quarter|half|month|year|week))(?![\s-]+(?:highest|largest|lowest|smallest))(?: place)?"
        r"|(?:number|no\.|#) ?(?P<ordinal3>\d{1,2})|(?P<ordinal4>runner-up)"
    ),
    ordinals={"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10, "runner": 2},
    total=_words(r"totals?|totall?ed|totall?ing|in all|altogether|together|combined|overall|sum(?:med|s)?|in sum|add(?:s|ed)? up to|adds? to|collectively|jointly|grand total|in aggregate|between them|all told|cumulative(?:ly)?"),
    streak=_words(r"running|in a row|straight|consecutive|in succession|on the trot"),
    weighted=_words(r"weight(?:ed|ing)"),
    average=_words(r"averag(?:e[sd]?|ing)|mean|on average|avg|typically|typical"),
    median=_words(r"median"),
    share=_words(r"shares?|portion|proportion|account(?:s|ed|ing)? for|contribut(?:e[sd]?|ing)|make(?:s)? up|made up|represent(?:s|ed|ing)?|responsible for|compris(?:e[sd]?)|percent of|% of|per ?cent of|constitut(?:e[sd]?)|of the total|of all|of (?:the |its |total |overall )|generat(?:e[sd]?)|come[s]? from|came from|out of"),
    rated=_words(r"shares?|proportion|ratios?|per|relative(?: to)?"),
    difference=_words(r"unsold|unused|unpaid|left|remain(?:s|ed|ing)?|net|shortfall|surplus|lost|loses|better|worse|stronger|weaker|quicker|sooner|later|earlier|differ(?:s|ed|ences?|ential)?|gap|margin of|spread|delta|lead(?: of)?|apart|clear of|leaves|leaving|remain(?:s|ing|ed)?|un(?:resolved|paid|sold|used|filled|answered|spent)|outstanding|separat(?:e[sd]?)|away from|ahead|behind|rang(?:e[sd]?|ing)|increase|decrease|drop|rise|growth|decline|change[sd]?|gain|off|swing|swung|minus|plus|improvement|advantage|shortfall|excess|difference|faster|slower|quicker|(?:over|under|above|below|within) (?:its |the |their )?(?:\w+ )?(?:budget|plan|target)|reduction|saving|jump|surge|dip|down|up"),
    by=lazy_pattern(r"\b(?:by|another|additional|extra|further|of)\s+(?:\w+\s+){0,2}[$€£]?$", re.IGNORECASE),
    ratio=_words(r"per|each|apiece|ratio|for every|average(?:s|d)?|mean|times|to one|a head"),
    every=_words(r"all(?: of)?(?: the)?|every(?: one of the| single)?|each(?: of the)?|both|without exception"),
    none=_words(r"no|none(?: of)?(?: the)?|not a single|neither"),
    only=_words(r"only|sole(?:ly)?|the one|alone"),
    majority=_words(r"majority|more than half|over half|most of|mostly|the bulk|the lion's share|predominant(?:ly)?"),
    some=_words(r"some|several|most|many|few|a number of|half of|one"),
    rest=_words(r"other|others|remaining|rest|else"),
    complement=_words(r"un\w{4,}|empty|vacant|left|fail\w*|missed|lack\w*|idle"),
    first_last=_words(r"first|last|top|bottom|leading|remaining|others?"),
    top=lazy_pattern(r"\b(?:top|first|best|leading|largest|highest|biggest|strongest|highest-\w+|top-\w+)\s(?:the\s)?$", re.IGNORECASE),
    bottom=lazy_pattern(r"\b(?:bottom|last|worst|smallest|lowest|weakest)\s$", re.IGNORECASE),
    existence=lazy_pattern(r"\b(?:the|these|those|our|its|there (?:are|were|is|was)(?: a total of| exactly| only)?|all|all of the|all the|total of|across(?: all)?(?: the)?|the list (?:has|contains|includes)|(?:result|table|data|list|breakdown|ranking) (?:has|have|shows?|contains?|covers?|lists?|includes?|spans?)|we have|you have|covers?|covering|lists?|spans?|contains?|includes?|comprises?|of the|of|in total|total|exactly|among(?: the)?|each of the|for|over the|over|for the|the|served?|have|has|operates?)\s$", re.IGNORECASE),
    about=_before(r"(?:passed|crossed|reached|hit) the|about|around|roughly|approximately|some|circa|close to|approx\.?|an estimated|in the region of"),
    over=_before(r"over|more than|above|upwards? of|greater than|higher than|larger than|exceed(?:s|ed|ing)?|surpass(?:es|ed|ing)?|topp(?:ed|ing)|past|in excess of|slightly over|just over|beyond|well over|well above|passed|(?:cross(?:ed|es)?|broke|breaks|breached|hit|topp?(?:ed|s)|clear(?:ed|s)) the|crossed|cross|reached more than|bigger than|longer than|older than|a little over|slightly more than"),
    under=_before(r"under|less than|fewer than|below|nearly|almost|up to|just under|slightly under|slightly less than|slightly fewer than|just below|lower than|smaller than|short of|not quite|beneath|well below|well under|shy of|shorter than|younger than|close to"),
    nearly=_before(r"nearly|almost|up to|just under|slightly under|slightly less than|slightly fewer than|just below|not quite|close to|shy of"),
    at_least=_before(r"at least|no less than|no fewer than|not less than|minimum of|a minimum of"),
    at_most=_before(r"at most|no more than|not more than|maximum of|a maximum of|up to"),
    about_after=lazy_pattern(r"\s?(?:or so|-odd|or thereabouts)", re.IGNORECASE),
    over_after=lazy_pattern(r"\s?\+(?!\d)| plus\b", re.IGNORECASE),
    at_least_after=lazy_pattern(r"\s?(?:%|percent)?\s?(?:\w+ )?or (?:more|better|higher|above|longer|over|greater)\b", re.IGNORECASE),
    positive=_words(r"made money|profitable|positive|in the black|made a profit|profit"),
    negative=_words(r"(?:lost|loses|losing|shed|sheds|shedding)(?= (?:\w+ ){0,2}\d)|(?:lost|loses|losing) (?:money|it)|(?:lost|loses|losing)(?= (?:about |around |some |roughly |nearly )?(?:[$€£]|(?:USD|EUR|GBP|RUB|CNY|RMB) ))|shortfall|overdrawn|owes?|below zero|below freezing|sub-zero|negative|in the red|loss-making|made a loss|unprofitable|loss(?:es)?|deficit|minus"),
    negation=_words(r"not|no|never|n't|none|neither|nor|without|cannot|didn't|wasn't|isn't|doesn't|don't|weren't|hasn't|haven't"),
    previous=_words(r"(?:the )?(?:previous|prior|preceding|last) (?:year|month|quarter|week|day|period)(?:'s)?|a (?:year|month|quarter|week|day) (?:earlier|before|ago)|(?:the )?(?:year|month|quarter|week|day) before|(?:a|one|the|two|three) (?:following |next )?(?:years?|months?|quarters?|weeks?) (?:later|after)|(?:the )?(?:following|next) (?:year|month|quarter|week)|year[- ](?:on|over)[- ]year|month[- ](?:on|over)[- ]month|quarter[- ](?:on|over)[- ]quarter"),
    following=_words(r"(?:the )?(?:following|next) (?:year|month|quarter|week|season)|(?:the |a |one )?(?:year|month|quarter|week|season) (?:later|after(?! year| month| quarter| week))"),
    since=_words(r"before reaching|before|reach(?:ed|ing)|until|then|since|afterwards|thereafter|from then on|later"),
    multiple=_words(r"as|than|that of|those of|the|more|higher|larger|bigger|doubl\w+|tripl\w+|quadrupl\w+|\w+fold|halv\w+|size|amount|number|half|third|quarter|fifth|tenth|of|over"),
    own=_words(r"its|their|his|her|own|peak(?:s|ed)?|low point|record(?= (?:high|year|month|quarter|level))|(?:best|worst|strongest|weakest|busiest|quietest|highest|lowest)[\w -]{0,12} (?:year|month|quarter|day|week)|all-time"),
    missing=lazy_pattern(r"\s*(?:no|there (?:is|are|was|were) no|not|the (?:data|table|rows|value|field))\b", re.IGNORECASE),
    unknown=_words(r"(?:data|rows|table|results?|figures?|numbers) (?:do|does|did|can)(?:n't| ?not)|not (?:known|given|shown|stated|clear|available|recorded|explained?|in the)|unknown|unclear|no (?:data|information|reason|explanation)|cannot (?:say|tell|be)"),
    dated=lazy_pattern(r"\b(?:before|after|since|until|by|prior to|pre-|post-)\s*$", re.IGNORECASE),
    dated_after=lazy_pattern(r"(?!)"),
    shown=_words(r"shown|listed|displayed|of these|these|among (?:the )?(?:rows|results|first)|of the (?:first )?(?:\d+ )?(?:rows|results)|in (?:this|the) (?:list|table|sample|excerpt)|visible|here|so far|returned"),
    pronoun=lazy_pattern(r"\s*(?:(?:that|this|which)(?= (?:is|was|works|comes|came|makes|made|means|amounts|equals|gives)\b)|it|its|they|their|he|she|his|her|this one)\b", re.IGNORECASE),
    joins=lazy_pattern(r"(?:\s*,\s*(?:and\s+|then\s+|&\s+)?|\s+(?:and|&|or|plus)\s+|\s*[&+/]\s*)(?:(?:the|in|for|from|of|by)\s+){0,2}", re.IGNORECASE),
    against=lazy_pattern(r"[\s\w]{0,24}(?:against|versus|vs\.?|compared (?:with|to)|to|as opposed to|rather than|down from|up from|from)\s+(?:about |roughly |nearly |just |only |its |the |a )?[$€£]?", re.IGNORECASE),
    starts=_words(r"from|between"),
    part_of=lazy_pattern(r"\b(?:of|out of|from|in|among)\s+(?:its|their|the|all|a total of|our)?\s*(?:[a-z]+\s+)?[$€£]?$|/\s?$", re.IGNORECASE),
    ranges=lazy_pattern(r"\s*(?:to|through|until|till|and|[-–—→])\s*(?:(?:the|in|over|about|around|nearly|almost|just|only|a|roughly)\s+){0,2}", re.IGNORECASE),
    breaks=lazy_pattern(r"[,;:()|\n]|(?<=\s)[-–—](?=\s)|\b(?:and|while|whereas|but|compared (?:with|to)|versus|vs\.?|against|than|although|though|whilst|followed by|ahead of|with|yet|however|or|as opposed to|except|apart from|excluding|after|before|which|who|where|then)\b", re.IGNORECASE),
    after_figure=lazy_pattern(r"\s*(?:%|percent)?\s*(?:(?!(?:than|over|above|below|against|more|less|fewer|higher|lower|to|from|ahead|behind|and|with)\b)[\w$€£¥%°./'-]+\s+){0,4}?(?:(?:in|for|from|by|at|of|on|to|came from|are|belongs? to|go(?:es)? to|went to|goes to)\s+(?:the\s+|its\s+|our\s+|month of\s+|year\s+)?|\(\s*(?:the\s+)?)", re.IGNORECASE),
    links=_words(r"in|for|from|at|by|to|on|per|with|were|was|are|is|and|than|as|while|that|which|who|had|has|have"),
    cause=_words(
        r"(?:made|makes|making) (?:it|them|this|that|him|her) (?!up\b)|drove (?=(?:the|up|down|this|its|sales|demand)\b)|as (?:new|the new|recent|higher|lower|rising|falling|more people|customers|consumers|people|demand|competition|competitors|prices|a result)(?= \w+)|because(?: of)?|owing to|thanks to|due to|caused? by|caus(?:ed|ing|es)|driven (?:mainly |largely |primarily |mostly |by )*by|driving (?:the )?(?:growth|increase|rise|decline|sales|demand)|drove (?:the |this )?(?:growth|increase|rise|decline|sales|demand)|fuell?ed by|boosted by|propelled by|spurred by|triggered by|on the back of|as a (?:result|consequence) of|as a result|attributable to|attributed to|stem(?:s|med|ming) from|result(?:s|ed|ing) (?:from|in)|(?:is|was|are|were) the result of|to blame|blamed? (?:on|for)|thanks to|down to (?:the|a|poor|better|bad|good|lower|higher)|le(?:d|ads?|ading) to(?! (?:the|a) (?:total|sum))|the reason|explains? (?:why|the)|explained by|in response to|prompted|thus increasing|reflect(?:s|ed|ing)|owes? (?:this|its|the)|by virtue of|since (?:the )?(?:campaign|customers|new|demand|price|market)|hurt by|helped by|dragged down by|weighed (?:down )?(?:on )?by|benefit(?:ed|s|ing)? from|suffer(?:ed|s|ing)? from|contributed to (?:the )?(?:growth|increase|decline|rise|drop|fall)|(?:lifted|boosted|pushed|dragged|propelled|sparked|spurred|fuelled|fueled) (?:the |its |their |up |down )?\w+|(?:brought|cut|kept|sent|made|helped) (?:the (?:average|total|number|result|company|revenue|sales|figure|rate|share|wait|score)|it (?:back|down|up)|down the|up the)|which is why|that is why|that's why|this is why|reason (?:for|why|behind|is)|turned (?:the|these|losses|profits?|it|things)|consequence|therefore|hence|(?:after|following|with|through|by) (?:(?:the|a|an|its|their|our|last|this|new|recent|strict|local|successful) ){0,3}(?:\w+ ){0,2}(?:launch|introduction|campaigns?|opening|closing|closure|promotions?|relaunch|redesign|renovation|strikes?|training|reforms?|rollout|roll-out|switch|arrival|departure|investments?|merger|relocation|hiring|layoffs|advertising|marketing|cuts|cutting|curriculum|policy|restructuring|upgrade|outage|storms?|weather|pandemic|holiday season|regulations?|sanctions|competition|competitors?)(?! (?:sales|revenue|orders))"
    ),
    afterwards=lazy_pattern(r"after|following|with", re.IGNORECASE),
    cause_columns=_words(r"reasons?|causes?|why|explanation|comment|note|factor|driver"),
    forecast=_words(
        r"will(?! not be shown)|won't|'ll|going to|is set to|are set to|(?:is|are) likely to|likely(?: to)?|probably|expected to|(?:is|are) expected|project(?:ed|ions?) to|forecast(?:s|ed)?(?: to)?|predict(?:s|ed|ions?)?|anticipat\w+|on track (?:to|for)|on course (?:to|for)|poised to|bound to|should (?:recover|keep|soon|soar|double|stay|return|remain|drop|climb|go|get|stabili[sz]e|continue|grow|rise|reach|exceed|increase|decline|fall|keep|improve|see|remain)|is about to|can be expected|outlook|in the (?:coming|near|foreseeable) (?:years?|months?|future|quarters?|weeks?)|next (?:year|month|quarter|week)|upcoming (?:year|month|quarter)|trend (?:continues|will)|sooner or later|may (?:soon|well|continue|grow|rise|reach|exceed|increase|decline|fall|overtake|double)|might (?:soon|well|continue|grow|rise|reach|exceed|increase|decline|fall|overtake|double)|could (?:soon|well|continue|grow|rise|reach|exceed|increase|decline|fall|overtake|double)|by the end of (?:next|the decade)|promises? to|looks set|heading (?:for|towards)|headed (?:for|towards)"
    ),
    event=_words(r"dips?|rise|fall|drop|peaks?|lows?|highs?|slump|recovery|spike|jump|decline|increase|slowdown|low point"),
    schedule=_words(r"(?:is |are )?(?:expected|scheduled|planned|due|supposed)|should|will"),
    forecast_columns=_words(r"forecast\w*|planned|plan(?= (?:sales|revenue|value|budget|for|vs)|$)|expected|projected|projection|predict\w*|target|outlook"),
    sentiment=_words(
        r"ador(?:e[sd]?|able)|irritat\w+|painful(?:ly)?|pleasant|cherish\w*|relish\w*|despis\w+|loath\w*|dread\w*|tedious|tired|weary|desperate\w*|jealous\w*|envy|envied|impatien\w+|nervous\w*|anxious\w*|anxiety|stress(?:ed|ful)|overwhelm\w+|exhaust(?:ed|ing)|demorali[sz]\w+|discourag\w+|dismay\w*|unpleasant|annoy\w*|attractive|unattractive|charming|beautiful\w*|ugly|fun|boring|lovely|sensational|magnificent|marvel\w+|incredib\w+|unbelievabl\w+|pathetic|horribl\w+|horrif\w+|dreadful|woeful|abysmal|shameful|heroic|admirabl[ey]|commendabl[ey]|praiseworthy|laudable|deserv(?:e[sd]?|ing)|pity|pleasing|gratif\w+|rave[sd]?|prais(?:e[sd]?|ing)|grumbl\w*|moan(?:s|ed|ing)?|sympath\w+|crav\w+|desir\w+|appealing|winner with|hit with|(?:customers|users|people|staff|employees|visitors|guests|players|developers|residents|patients|students|passengers|callers|readers|buyers|shoppers) (?:find|found|think|want|wish|consider)|impressive(?:ly)?|disappoint\w+|excellent|outstanding|remarkabl[ey]|amazing(?:ly)?|fantastic|terrible|terribly|awful|great(?! deal| majority| britain)|brilliant|stellar|spectacular|superb|alarming(?:ly)?|worr(?:y|ying|isome|ied|ies)|concern(?:ing|ed|s)?|unhapp[yi]\w*|happ(?:y|ier|iness|iest)|satisf(?:ied|action|ying|actory)|dissatisf\w+|pleas(?:ed|ing|antly)|love[sd]?|hate[sd]?|loyal(?:ty)?|enthusias\w+|excit(?:ed|ing|ement)|promising|encouraging|healthy|unhealthy|robust|thriving|struggling|struggl\w+|success story|unfortunate(?:ly)?|sadly|luckily|fortunate(?:ly)?|poorly|strong (?:performance|demand|growth|results?|quarter|year|position|interest)|weak (?:performance|demand|results?)|popular with|frustrat\w+|furious|outrag\w+|glad|joy\w*|regret\w*|morale|mood|feels?|felt|believes?|hopes?|hoped|fears?|feared|afraid|fans|relieved|relief|embarrass\w+|reassuring|comfort\w*|surprising(?:ly)?|worth celebrating|celebrat\w+|complain(?:s|ing|ed)?|resent\w*|bored|tired of|fed up|grateful|devoted|passion\w*|ideal|perfect|flawless|shame\w*|sluggish|lousy|bleak|gloomy|rosy|enviable|reputation|star performer|heartening|unfair|angry|annoyed|upset|delighted|thrilled|proud|prefer(?:s|red)?|appreciat\w+|enjoy\w*|dislike[sd]?|admir\w+|trusts?|trusted(?= by)|confiden(?:t|ce)|optimis\w+|pessimis\w+|stunning|catastroph\w+|disast\w+|dismal|lackluster|lacklustre|mediocre|solid|exceptional(?:ly)?|wonderful|shocking(?:ly)?|dramatic(?:ally)? (?:success|failure)|favou?rite|beloved|motivated|demotivated|bad news|good news|a triumph|inspiring|depressing|miserable|keen|eager|welcome news|unacceptabl\w+|underwhelming|crisis|in trouble|bright spot|dream|nightmare"
    ),
    recommendation=_words(r"we (?:should|must|need to)|you should|should be (?:increased|closed|expanded|promoted|reduced)|it is (?:advisable|recommended)|i recommend|must be (?:closed|expanded)"),
    relative_periods={
        f"{which} {unit}": _words(rf"(?:{words}) {unit}")
        for which, words in (("last", "last|previous|past|prior"), ("this", "this|the current"), ("next", "next"))
        for unit in ("week", "month", "quarter", "year", "season")
    }
    | {"yesterday": _words("yesterday"), "today": _words("today"), "tomorrow": _words("tomorrow")},
    months=(
        r"Jan(?:uary|\.)?", r"Feb(?:ruary|\.)?", r"Mar(?:ch|\.)?", r"Apr(?:il|\.)?", "May", "June?|Jun\\.", "July?|Jul\\.", r"Aug(?:ust|\.)?",
        r"Sept?(?:ember|\.)?", r"Oct(?:ober|\.)?", r"Nov(?:ember|\.)?", r"Dec(?:ember|\.)?",
    ),
    dates=(
        r"(?i:\b(?P<quarter>first|second|third|fourth|last|final|1st|2nd|3rd|4th)[ -]quarter)(?:,? (?:of )?{year})?",
        r"(?i:\b(?P<half>first|second|1st|2nd) half)(?: of)?(?: the year| (?:of )?{year})?(?! of)", r"\bH(?P<half>[12])(?: {year})?\b",
        r"\bFY ?{year}",
    ),
    date_words={"first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4, "final": 4},
    date_limits=DateWords(
        between=r"\bbetween @ and @|\bfrom @ (?:to|until|till|through|up to) (?:the end of )?@|(?:\b(?:in|during|for) )?@ ?(?:[-–—]|to|through|until|till) ?@",
        before=r"\b(?:before|prior to|earlier than) (?:the (?:beginning|start) of )?@",
        since=r"\b(?:from|since|starting(?: from| in| on| with)?|beginning (?:in|on|with)) (?:the (?:beginning|start) of )?@ (?:on(?:wards?)?|forward)\b|\b(?:since|starting(?: from| in| on| with)?|beginning (?:in|on|with)) (?:the (?:beginning|start) of )?@",
        after=r"\b(?:after|later than) (?:the end of )?@",
        through=r"\b(?:through|up to and including|(?:by|until|till|to|through|up to) the end of) @",
        within=r"(?:\b(?:in|on|during|for|(?<!week )(?<!weekend )of|within|throughout|over|from)(?: the)?(?: (?:whole|entire|full))?(?: (?:month|quarter|year|day) of)? )?@(?:['’]s)?",
        changed_before=r"\b(?:early|earlier|late|mid|end|beginning|start|middle|of|half|around|about|every|except|excluding|besides|than|versus|vs\.?|against|with|to|not|no|by|until|till|(?:first|last|second|third|final|\d+(?:st|nd|rd|th)) (?:day|month|quarter|week|weekend|half|\w+ (?:days|weeks|months)))[- ]",
        changed_after=r"\s+(?:or|and) (?:later|earlier|before|after|newer|older|since)\b|\s+(?:ago|each|every)\b",
        of_year=r",? (?:of |in |during )?",
        trailing={
            unit: rf"\b(?:the )?(?:(?:last|past|previous|preceding|trailing) (?P<n>\d{{1,3}}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirty|sixty|ninety) {unit}s|past {unit})\b"
            for unit in ("day", "week", "month", "quarter", "year")
        },
        to_date={
            unit: rf"\b(?:{unit}[- ]to[- ]date|{unit[0]}td|so far this {unit}|this {unit} (?:so far|to date)|since the (?:beginning|start) of (?:the|this) {unit}(?! of| \d))\b"
            for unit in ("month", "quarter", "year")
        },
        in_year="in {year}",
    ),
    number_words=_number_words,
    figures=FigureWords(
        scales={"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "mln": 1e6, "bn": 1e9, "tn": 1e12},
        scale_endings="s",
        points=r"percentage[ -]points?|pp\b|p\.p\.",
        percent=r"per\s?cent\b",
        times=r"times\b|[x×](?!\w)|-?fold\b",
        ordinal_after=r"(?:st|nd|rd|th)\b",
        ordinal_before=r"\bno\.\s?|\b(?:top|first|last|bottom|rank(?:ed|s)?)[\s-]|\bplaces?\s",
    ),
    counters=_words(r"people|persons?|individuals?|pieces?|items?|units?|copies|cases?|times|pcs"),
    units={
        r"\$|usd|dollars?|bucks|us\$": "usd", r"€|eur|euros?": "eur", r"£|gbp|pounds?(?: sterling)?": "gbp", r"¥|jpy|yen": "jpy", r"cny|rmb|yuan": "cny", r"₽|rub|roubles?|rubles?": "rub",
        r"cents?": "cent",
        r"mg|milligrams?": "mg", r"g|grams?": "g", r"kg|kgs|kilos?|kilograms?": "kg", r"t|tonnes?|tons?|metric tons?": "t",
        r"ms|milliseconds?": "ms", r"s|secs?|seconds?": "s", r"mins?|minutes?": "min", r"h|hrs?|hours?": "h", r"days?": "d", r"weeks?": "week", r"months?": "month", r"years?": "year",
        r"mm|millimet(?:er|re)s?": "mm", r"cm|centimet(?:er|re)s?": "cm", r"m|met(?:er|re)s?": "m", r"km|kilomet(?:er|re)s?": "km", r"mi|miles?": "mi",
        r"ml|millilit(?:er|re)s?": "ml", r"l|lit(?:er|re)s?": "l", r"gal|gallons?": "gal", r"m3|m³|cubic met(?:er|re)s?": "m3", r"gb|gigabytes?": "gb", r"mb|megabytes?": "mb", r"kb|kilobytes?": "kb", r"tb|terabytes?": "tb",
        r"°c|degrees celsius|celsius": "c", r"°f|degrees fahrenheit|fahrenheit": "f", r"kwh": "kwh", r"mwh": "mwh", r"gwh": "gwh", r"twh": "twh",
    },
    per=lazy_pattern(r"\b(?:per|each|every)\s+$|\d\s+(?:\w+\s+)?an?\s+$", re.IGNORECASE),
    generic=_words(r"rows?|records?|entries|results?|values?|data points?|lines|groups?|of them"),
    total_rows=_words(r"(?:grand |sub)?total|all|overall|sum"),
)  # fmt: skip
