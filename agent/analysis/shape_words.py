"""The words that say what form a result is to have: its groups, its periods, its ranking, its figure."""

import re

from agent.queryspec.spec import Period


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


NUMBERS = {
    word: number
    for number, spelt in enumerate(
        ("two два две двух 两 二", "three три трех трёх 三", "four четыре 四", "five пять 五", "six шесть 六",
         "seven семь 七", "eight восемь 八", "nine девять 九", "ten десять 十"),
        2,
    )
    for word in spelt.split()
}  # fmt: skip
_NUMBER = rf"\d+|{'|'.join(sorted(NUMBERS, key=len, reverse=True))}"

DESCENDING = _words(
    r"\b(?<!at )(?:most(?! recent)|highest|largest|greatest|biggest|longest|maximum|max)\b|больше всего|наибольш\w+|"
    r"сам\w+ (?:больш|высок|длинн|крупн)\w+|максимальн\w+|最(?:多|高|大|长)"
)
ASCENDING = _words(
    r"\b(?<!at )(?:least|fewest|lowest|smallest|shortest|minimum|min)\b|меньше всего|наименьш\w+|"
    r"сам\w+ (?:мал|низк|коротк)\w+|минимальн\w+|最(?:少|低|小|短)"
)
MOST_ROWS = _words(r"\b(?:most|least|fewest)\b|(?:боль|мень)ше всего|最[多少]")
"""A superlative of how much there is; the others may be of single rows."""

FIRST = _words(
    rf"\btop[ -](?P<en>{_NUMBER})\b|"
    rf"\b(?:which|what|the) (?P<which>{_NUMBER})\b|\b(?P<of>{_NUMBER}) (?=most|\w{{3,}}est\b)|"
    rf"\bтоп[ -](?P<ru>{_NUMBER})\b|前(?P<zh>{_NUMBER})"
)
TOP = _words(r"\b(?:top|топ)\b|前(?=\d|[两二三四五六七八九十])")

_PERIOD_WORDS: dict[Period, tuple[str, str, str, str]] = {
    "day": ("day", "daily", "дн|день", "[天日]"),
    "week": ("week", "weekly", "недел", "周|星期"),
    "month": ("month", "monthly", "месяц", "月"),
    "quarter": ("quarter", "quarterly", "квартал", "季"),
    "year": ("year", "(?:yearly|annually)", "год", "年"),
}
SOME = _words(
    rf"\b(?:top|first|last|most|least|fewest|best|worst|maximum|minimum|max|min|\w{{3,}}est|{_NUMBER})\b|\d|"
    r"\b(?:топ|перв|послед|лучш|худш|наи|сам(?:ый|ая|ое|ые|ую|ого|ой|ым|ом)\b|максимальн|минимальн)|всего|最|前|首|末|第"
)
"""Words that may leave rows out."""

PERIODS = {
    period: _words(
        rf"\b(?:each|every|per|by|for each) (?:calendar )?(?:{en})s?\b|\b{often}\b|"
        rf"\b(?:по|кажд\w+) (?:{ru})\w*|(?:每个?|各个?|按)(?:{zh})"
    )
    for period, (en, often, ru, zh) in _PERIOD_WORDS.items()
}

# What stands right before the name of a column, or right behind it.
EACH = _words(r"(?:\b(?:each|every|per)(?: of the)?|\bкажд\w+|每[个种]?|各[个种]?)\s*$")
BY = _words(r"(?:\bby(?: the)?|\bпо|按)\s*$")
SORTED_BY = _words(r"\b(?:sort|order|rank|alphabetical)\w*\b[^,.;]*$|\b(?:упорядоч|отсортир)\w*[^,.;]*$|排序[^，。]*$")
WHICH = _words(
    rf"(?:\b(?:which|what)(?: (?:{_NUMBER}))?|\bкак(?:ой|ая|ое|ом|ого|ому|им|ую|ие|их|ими)|哪一?[个种家位些])\s*$"
)
WHICH_OF_SEVERAL = _words(r"(?:\bкаки(?:е|х|ми)|哪些)\s*$")
RANKED = _words(
    rf"(?:\b(?:top|топ)[ -](?:{_NUMBER})|\bthe (?:{_NUMBER})|前(?:{_NUMBER})[个名位家种]?|最[多少高低大小][的])\s*$"
)
AND = _words(r"^\s*(?:,|and|и|和|与|、|and each|и кажд\w+)\s*$")
COMPARED = _words(
    r"^\s*(?:is |are |was |were |of )?(?:over|above|under|below|more|less|greater|at (?:least|most)|exceed\w*|between|"
    r"больше(?! всего)|меньше(?! всего)|выше|ниже|свыше|от|大于|小于|超过|低于|高于|不[低高]于|[<>=]|为|是?\d|\d)"
)

AVERAGE = _words(r"\b(?:average|mean|avg)\b|средн\w+|平均")
TOTAL = _words(r"\b(?:total|sum|overall|altogether|combined)\b|\bобщ\w+|суммарн\w+|итог\w*|总|一共|合计|共计")
DIFFERENT = _words(
    r"\bhow many (?:different|distinct|unique) $|\bсколько (?:разн|различн|уникальн)\w+ $|多少[种个]?不同的?$"
)
KINDS = _words(r"^\s*(?:total )?(?:different|distinct|unique|kinds|types|разн|различн|уникальн|不同)")
HOW_MANY = _words(r"\bhow many\s*|\bсколько\s*|多少[条个行次人项]|几[条个次]|记录数")
NUMBER_OF = _words(r"\b(?:number|count|percentage|share) of\b|\b(?:число|доля)\b|占比")
"""Of these it is open whether they count rows, or name a column that does."""
GROUPING = _words(
    r"\b(?:each|every|per|by|for (?:all|different)|group\w*|respectively)\b|\bкажд\w+|\bпо\b|每|各|按|分别"
)
ALONE = _words(r"^(?:(?:what|which) (?:is|was|are|were)|show|give|find|как\w+)? ?(?:me )?(?:the )?\s*$")
"""Before a superlative that is of all rows, and not of one whose name is wanted."""
ID = _words(r"(?:^|[\W_])(?:id|code|no|nr|number|year|phone|zip|номер|код|год)$|Id$|编号|号码|代码|年")
"""Names of columns whose numbers nobody adds up."""

BOUNDS = {
    ">": _words(
        r"\b(?:more|older|greater|higher|larger|longer) than\b|\b(?:over|above|exceed\w*|after)\b|"
        r"(?<!не )\b(?:больше|более|старше|свыше|выше|дороже|позже) (?:чем )?\d|大于|(?<!不)超过|(?<!不)高于"
    ),
    "<": _words(
        r"\b(?:less|fewer|younger|lower|smaller|shorter) than\b|\b(?:under|below|before)\b|"
        r"(?<!не )\b(?:меньше|менее|младше|ниже|дешевле|раньше) (?:чем )?\d|(?<!不)小于|(?<!不)低于|(?<!不)少于"
    ),
    ">=": _words(r"\bat least\b|\bsince\b|\bне (?:менее|меньше|ниже)\b|不少于|不低于|以上"),
    "<=": _words(r"\bat most\b|\bup to\b|\bне (?:более|больше|выше)\b|不超过|不高于|以下"),
}
"""Words that compare a value with another, by the operator that a filter then has."""
