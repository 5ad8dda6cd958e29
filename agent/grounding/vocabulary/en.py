"""English words of claims."""

import re
from collections.abc import Iterable, Iterator

from datasphinx.agent.grounding.vocabulary import (
    ChartWords,
    DateWords,
    NumberWord,
    QuestionWords,
    Vocabulary,
    lazy_pattern,
)


def _words(pattern: str) -> re.Pattern[str]:
    return lazy_pattern(rf"\b(?:{pattern})\b", re.IGNORECASE)


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
)  # fmt: skip
