"""The words with which questions name dates and limit them, by language."""

from collections.abc import Mapping
from dataclasses import dataclass

from datasphinx.agent.messages import Language


@dataclass(frozen=True)
class DateWords:
    """The words of one language, as patterns that ignore case; `@` stands for a date or period."""

    relative: Mapping[str, str]
    """Periods relative to today, such as "last week", by names that all languages share."""
    trailing: Mapping[str, str]
    """The last `n` days, weeks, months, quarters or years, by unit; without the group `n` one of them."""
    to_date: Mapping[str, str]
    """From the beginning of the current year, quarter or month."""
    between: str
    before: str
    since: str
    after: str
    through: str
    """Up to and including a period."""
    within: str
    changed_before: str
    """Words directly before a range that change its meaning, such as "early" and "except"."""
    changed_after: str
    of_year: str
    """The text between a period and its year, such as " of "."""
    in_year: str
    """A year as the only limit, such as "in {year}"."""


MONTHS = (
    r"Jan(?:uary|\.)?|J[aä]n(?:uar|ner|\.)?|(?i:январ[ьяею]\w*)",
    r"Feb(?:ruary|\.)?|Feb(?:ruar|\.)?|(?i:феврал[ьяею]\w*)",
    r"Mar(?:ch|\.)?|M[äa]r(?:z|\.)|(?i:март(?:а|е|у|ом|овск\w+)?)",
    r"Apr(?:il|\.)?|(?i:апрел[ьяею]\w*)",
    r"May|Mai|(?i:ма(?:й|я|е|ю|ем|йск\w+))",
    r"June?|Jun\.|Juni?\.?|(?i:июн[ьяею]\w*)",
    r"July?|Jul\.|Juli?\.?|(?i:июл[ьяею]\w*)",
    r"Aug(?:ust|\.)?|(?i:август(?:а|е|у|ом|овск\w+)?)",
    r"Sept?(?:ember|\.)?|(?i:сентябр[ьяею]\w*)",
    r"Oct(?:ober|\.)?|Okt(?:ober|\.)?|(?i:октябр[ьяею]\w*)",
    r"Nov(?:ember|\.)?|(?i:ноябр[ьяею]\w*)",
    r"Dec(?:ember|\.)?|Dez(?:ember|\.)?|(?i:декабр[ьяею]\w*)",
)
"""The names of the twelve months in all languages, as patterns; those in Chinese are numbers."""

DATES = (
    r"(?i:\b(?P<quarter>first|second|third|fourth|last|final|1st|2nd|3rd|4th)[ -]quarter)(?:,? (?:of )?{year})?",
    r"(?i:\b(?P<half>first|second|1st|2nd) half)(?: of)?(?: the year| (?:of )?{year})?(?! of)",
    r"\bH(?P<half>[12])(?: {year})?\b",
    r"\bFY ?{year}",
    r"(?i:\b(?P<quarter>erste|zweite|dritte|vierte|letzte|[1-4]\.)[nrs]? quartals?)(?:,? (?:des jahres )?{year})?",
    r"(?i:\b(?P<half>erste|zweite|[12]\.)[nrs]? (?:halbjahr(?:es)?|jahreshälfte))(?: {year})?",
    r"\b(?:GJ|Geschäftsjahr) ?{year}",
    r"(?i:(?<!\w)(?P<quarter>перв|втор|трет|четв[её]рт|последн)\w* квартал\w*)(?: {year})?",
    r"(?i:(?<!\w)(?P<half>перв|втор)\w* (?:полугоди\w+|половин\w+ год\w*))(?: {year})?",
    r"(?i:(?<!\w)(?P<half>перв|втор)\w* половин\w+) {year}",
    r"(?i:(?<!\w)(?P<half>[12])-?\w{{0,2}} полугоди\w+)(?: {year})?",
    r"(?<!\w)(?P<quarter>IV|I{{1,3}}) (?:кв\w*\.?)(?: {year})?",
    r"{year}\s?(?:赛季|学年|财年)",
    r"(?:{year}\s?年)?(?P<month>十[一二]?|[一二三四五六七八九])月份?",
    r"(?:{year}\s?年)?(?P<half>[上下])半年",
    r"(?:{year}\s?年)?第?(?P<quarter>[一二三四1-4])季(?!度)",
)  # fmt: skip
"""Formats of dates with words; groups are named as in `datasphinx.agent.embedded.periods.Period`, `{year}` is a placeholder."""

NUMBERS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "last": 4, "final": 4, "two": 2, "three": 3, "four": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirty": 30, "sixty": 60,
    "ninety": 90,
    "erst": 1, "zwei": 2, "drit": 3, "vier": 4, "letz": 4, "drei": 3, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8,
    "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12, "dreißig": 30, "sechzig": 60, "neunzig": 90,
    "перв": 1, "втор": 2, "трет": 3, "четв": 4, "последн": 4, "дв": 2, "тр": 3, "четыр": 4, "пят": 5, "шест": 6,
    "сем": 7, "вос": 8, "девят": 9, "десят": 10, "двенадцат": 12,
    "i": 1, "ii": 2, "iii": 3, "iv": 4, "上": 1, "下": 2,
}  # fmt: skip
"""Beginnings of the words for numbers and ordinals in dates; those of Chinese numerals are left out."""

_UNITS = ("day", "week", "month", "quarter", "year")
_DATE_WORDS: dict[Language, DateWords] = {
    "en": DateWords(
        relative={
            f"{which} {unit}": rf"\b(?:(?:{words}) {unit})\b"
            for which, words in (("last", "last|previous|past|prior"), ("this", "this|the current"), ("next", "next"))
            for unit in _UNITS[1:]
        }
        | {"yesterday": r"\byesterday\b", "today": r"\btoday\b", "tomorrow": r"\btomorrow\b"},
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
            for unit in _UNITS
        },
        to_date={
            unit: rf"\b(?:{unit}[- ]to[- ]date|{unit[0]}td|so far this {unit}|this {unit} (?:so far|to date)|since the (?:beginning|start) of (?:the|this) {unit}(?! of| \d))\b"
            for unit in _UNITS[2:]
        },
        in_year="in {year}",
    ),
    "de": DateWords(
        relative={
            f"{which} {unit}": rf"\b(?:(?:{before})e(?:s|r|n|m)? {word})\b"
            for which, before in (("last", "letzt|vorig|vergangen|vorherig"), ("this", "dies|laufend|aktuell"), ("next", "nächst|kommend"))
            for unit, word in (("week", "woche"), ("month", "monats?"), ("quarter", "quartals?"), ("year", "jahr(?:es)?"))
        }
        | {"yesterday": r"\bgestern\b", "today": r"\bheute\b", "tomorrow": r"\bmorgen\b"},
        between=r"\bzwischen (?:dem )?@ und (?:dem )?@|\bvo[nm] @ bis (?:Ende |einschließlich |zum )?@|(?:\b(?:im|in|am|vom) )?@ ?(?:[-–—]|bis) ?@",
        before=r"\bvor (?:dem )?(?:Beginn (?:von |des )?)?@",
        since=r"\b(?:seit|ab) (?:dem )?(?:(?:Anfang|Beginn) (?:von |des )?)?@|\bvo[nm] @ an\b",
        after=r"\bnach (?:dem )?(?:Ende (?:von |des )?)?@",
        through=r"\bbis (?:einschließlich|(?:zum )?Ende(?: des| von)?) @",
        within=r"(?:\b(?:im|in|am|vom|während|für|innerhalb|über|de[srmn])(?: (?:de[mnrs]|ganzen?|gesamten?|Monat|Jahr|Quartal))* )?@s?",
        changed_before=r"\b(?:Anfang|Ende|Mitte|Beginn|erste[nrsm]?|letzte[nrsm]?|Hälfte|Wochen?|Tage?|jede[nrsm]?|außer|ausgenommen|als|gegenüber|mit|nicht|kein\w*|bis|bis zum|um|etwa|rund|gegen|ohne) ",
        changed_after=r"\s+(?:oder|und) (?:früher|später|davor|danach)\b",
        of_year=r",? ?(?:de[sr] |im |in |vom )?",
        trailing={
            unit: rf"\b(?:den |die |der )?(?:letzten|vergangenen) (?P<n>\d{{1,3}}|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dreißig|sechzig|neunzig) {noun}\b"
            for unit, noun in (("day", "Tagen?"), ("week", "Wochen"), ("month", "Monaten?"), ("quarter", "Quartalen?"), ("year", "Jahren?"))
        },
        to_date={
            unit: rf"\bseit (?:{noun}e?sbeginn|(?:Anfang|Beginn) (?:de[sr] |diese[sr] )(?:laufenden )?{noun}e?s)\b(?! \d)|\b(?:bisher in|in) diesem {noun}(?: bisher)\b"
            for unit, noun in (("month", "Monat"), ("quarter", "Quartal"), ("year", "Jahr"))
        },
        in_year="im Jahr {year}",
    ),
    "ru": DateWords(
        relative={
            f"{which} {unit}": rf"(?<!\w)(?:(?:{words})\w+ (?:{noun})\w*)(?!\w)"
            for which, words in (("last", "прошл|прошедш|предыдущ|минувш"), ("this", "эт|текущ|нынешн"), ("next", "следующ|будущ"))
            for unit, noun in (("week", "недел"), ("month", "месяц"), ("quarter", "квартал"), ("year", "год"))
        }
        | {"yesterday": r"(?<!\w)вчера", "today": r"(?<!\w)сегодня", "tomorrow": r"(?<!\w)завтра"},
        between=r"(?<!\w)(?:с|со) @(?: г\.| года?)? по (?:конец )?@(?: г\.| года?| году)?|(?<!\w)между @(?: года)? и @(?: года| годом| г\.)?|(?:(?<!\w)(?:в|за) )?@ ?[-–—] ?@(?: г\.| года?| году)?",
        before=r"(?<!\w)(?:до|раньше|ранее|перед) (?:начала )?@(?: г\.| года)?",
        since=r"(?<!\w)(?:начиная )?(?:с|со) (?:начала )?@(?: г\.| года)?",
        after=r"(?<!\w)(?:после|позже|позднее) (?:окончания |конца )?@(?: г\.| года)?",
        through=r"(?<!\w)(?:до конца|по конец) @(?: г\.| года)?|(?<!\w)по @(?: г\.| года?)? включительно",
        within=r"(?:(?<!\w)(?:в течение|на протяжении|в|во|за|на)(?: (?:весь|всю|всё))?(?: (?:период|месяц))? )?@(?: г\.| года?| году)?",
        changed_before=r"(?<!\w)(?:начал\w*|конц\w*|конец|середин\w*|перв\w+|последн\w+|недел\w+|дн\w+|день|половин\w+|кажд\w+|кроме|исключая|чем|не|к|ко|по|около|примерно|сравнени\w+ с|против|относительно) ",
        changed_after=r" (?:или|и) (?:раньше|позже|ранее|позднее)(?!\w)| назад(?!\w)",
        of_year=r",? ?(?:в )?",
        trailing={
            unit: r"(?<!\w)последн\w+ (?:(?P<n>\d{1,3}|дв[ае]|двух|тр(?:и|ёх|ех)|четыр(?:е|ёх|ех)|пят(?:ь|и)|шест(?:ь|и)|сем(?:ь|и)|восемь|восьми|девят(?:ь|и)|десят(?:ь|и)|двенадцат(?:ь|и)) )" + ("?" if unit in ("week", "month", "year") else "") + rf"(?:{noun})(?!\w)"
            for unit, noun in (("day", "дня|дней"), ("week", "недел[юиья]"), ("month", "месяца?|месяцев"), ("quarter", "квартала|кварталов"), ("year", "года?|лет"))
        },
        to_date={
            unit: rf"(?<!\w)с начала (?:этого |текущего )?{noun}(?!\w)(?! \d)"
            for unit, noun in (("month", "месяца"), ("quarter", "квартала"), ("year", "года"))
        },
        in_year="в {year} году",
    ),
    "zh": DateWords(
        relative={
            f"{which} {unit}": rf"(?:(?:{words})个?(?:{noun}))"
            for which, words in (("last", "上一?"), ("this", "本|这一?"), ("next", "下一?"))
            for unit, noun in (("week", "周|星期|礼拜"), ("month", "月"), ("quarter", "季度"))
        }
        | {"last year": r"去年|上年|上一年", "this year": r"今年|本年", "next year": r"明年"}
        | {"yesterday": r"昨[天日]", "today": r"今[天日]", "tomorrow": r"明[天日]"},
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
}  # fmt: skip


def date_words_of(language: Language) -> DateWords:
    """Return the words of `language`, those of English for a language without any."""
    return _DATE_WORDS.get(language, _DATE_WORDS["en"])
