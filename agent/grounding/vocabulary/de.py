"""German words of claims."""

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
    return lazy_pattern(rf"\b(?:{pattern})\b", re.IGNORECASE)


_UNITS = {
    "null": 0, "ein": 1, "eins": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8,
    "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12, "dreizehn": 13, "vierzehn": 14, "fünfzehn": 15, "sechzehn": 16,
    "siebzehn": 17, "achtzehn": 18, "neunzehn": 19,
}  # fmt: skip
_TENS = {
    "zwanzig": 20, "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70, "achtzig": 80,
    "neunzig": 90,
}  # fmt: skip
_NUMBERS = (
    {word: value for word, value in _UNITS.items() if word != "ein"}
    | _TENS
    | {f"{unit}und{ten}": value + tens for unit, value in list(_UNITS.items())[1:10] if unit != "eins" for ten, tens in _TENS.items()}
)  # fmt: skip
_SCALES = {
    "hundert": 1e2,
    "tausend": 1e3,
    "dutzend": 12,
    "million": 1e6,
    "millionen": 1e6,
    "milliarde": 1e9,
    "milliarden": 1e9,
}
_LONGEST_FIRST = sorted(_NUMBERS, key=len, reverse=True)
_COUNT = "|".join(_LONGEST_FIRST)
_NUMBER = lazy_pattern(
    rf"(?<![\w-])(?:(?P<count>{_COUNT}|eine?)(?:\s?(?P<scale>{'|'.join(_SCALES)}))?|(?P<alone>hundert|tausend))(?![\w-])",
    re.IGNORECASE,
)
_FRACTIONS = {"hälfte": 2, "drittel": 3, "viertel": 4, "fünftel": 5, "sechstel": 6, "zehntel": 10}
_FRACTION = lazy_pattern(
    r"\b(?:(?P<top>ein|zwei|drei|vier|1|2|3|4)\s)?(?P<part>Hälfte|Drittel|Viertel|Fünftel|Sechstel|Zehntel)\b"
    r"(?!\s+(?:des Jahres|20\d\d|19\d\d))",
    re.IGNORECASE,
)
_MULTIPLES = {
    "doppelt": 2, "doppelte": 2, "verdoppelt": 2, "verdoppelte": 2, "verdoppelten": 2, "zweimal": 2, "dreimal": 3,
    "dreifach": 3, "dreifache": 3, "verdreifacht": 3, "verdreifachte": 3, "vierfach": 4, "vierfache": 4, "viermal": 4,
    "vervierfacht": 4, "fünfmal": 5, "fünffache": 5, "zehnmal": 10, "zehnfache": 10, "halb": 0.5, "halbiert": 0.5,
    "halbierte": 0.5, "halbierten": 0.5, "anderthalb": 1.5, "eineinhalb": 1.5,
}  # fmt: skip
_MULTIPLE = _words("|".join(sorted(_MULTIPLES, key=len, reverse=True)))
_ALONE = lazy_pattern(r"\b(?:nur|genau|lediglich)\s+$", re.IGNORECASE)


def _number_words(text: str) -> Iterator[NumberWord]:
    """Yield the numbers in words: fractions, multiples, then all others."""
    taken = []
    for match in _FRACTION.finditer(text):
        above = (match["top"] or "ein").lower()
        count = int(above) if above.isdecimal() else _UNITS[above]
        taken.append(NumberWord(*match.span(), count / _FRACTIONS[match["part"].lower()], "times"))
    taken += [NumberWord(*match.span(), _MULTIPLES[match[0].lower()], "times") for match in _MULTIPLE.finditer(text)]
    yield from taken
    for match in _NUMBER.finditer(text):
        if any(other.start < match.end() and match.start() < other.end for other in taken):
            continue
        scale = _SCALES.get((match["scale"] or match["alone"] or "").lower(), 1)
        count_word = (match["count"] or "eins").lower()
        if count_word in {"ein", "eine"}:
            # "ein" is mostly the article.
            if scale == 1 and not _ALONE.search(text[: match.start()]):
                continue
            count_word = "eins"
        yield NumberWord(*match.span(), _NUMBERS[count_word] * scale)


_NOUN = r"(?:\w*diagramme?n?s?|(?<!\w)(?:charts?|graph(?:en|iken?)?|grafik(?:en)?|plots?|schaubild\w*|kurven?|histogramme?n?s?|heat ?maps?|boxplots?)(?!\w))"
_GERMAN_NOUN = r"(?:\w*diagramme?n?s?|(?<!\w)(?:grafik(?:en)?|schaubild\w*|kurven?|histogramme?n?s?)(?!\w))"
"""Without words that English has too."""
_MAKE = r"(?:zeichne\w*|erstelle?n?|mach(?:e|en)?|bau(?:e|en)?|generiere?n?|stelle?n?|zeige?n?|gib|geben|plotte?n?|brauche|möchte|hätte|visualisiere?n?|darstellen|anzeigen|abbilden)"
CHART_WORDS = ChartWords(
    not_charts=(
        r"\b(?:fluss|organisations|schalt|ablauf|klassen|uml-?)diagramm\w*",
        r"\b(?:wissens|sozial|abhängigkeits)graph\w*|\bgraph(?:en)?-?datenbank\w*",
        r"\bgrafik(?:karten?|er\w*|design\w*)\b|\bcharts?platzierung\w*|\b(?:musik|single|album)-?charts?\b",
    ),
    refused=(
        rf"\b(?:kein(?:e[nsmr]?)?|ohne|nicht als|statt(?: eine[rs])?|anstelle eine[rs])\b(?:\s+\w+){{0,2}}?\s+(?:{_NOUN}|tabellen?|listen?)",
        r"\bnicht (?:zeichnen|visualisieren|grafisch)\b",
    ),
    chart_word=(r"diagramm|chart|grafi[ks]|graph|plot|schaubild|kurve|histogramm|zeichn|visualis",),
    chart=(
        rf"\b{_MAKE}\b(?:\s+[\w-]+){{0,4}}?\s+{_NOUN}",
        rf"\b(?:als|in einem|im|mit einem|in form eine[rs])\s+(?:\w+\s+){{0,2}}?{_NOUN}",
        r"\b\w*(?:linien|balken|säulen|kreis|torten|punkt|streu|flächen|kasten)diagramme?n?s?\b|\bhistogramm\w*|\bheat ?maps?\b|\bboxplots?\b",
        rf"^(?:\w+\s+){{0,3}}?{_GERMAN_NOUN}\s+(?:der|des|von|für|mit|zu|nach)\b",
        rf"{_GERMAN_NOUN}\s*[.!]?$",
        r"\b(?:zeichne|visualisiere|plotte)(?:n|t)?\b|\bgrafisch\b|\bvisualisierung\b",
    ),
    table=(r"\b(?:als|in einer|in tabellenform|in form einer) (?:\w+ )?(?:tabelle|liste)\b|\btabellarisch\b",),
    number=(r"\bals (?:eine )?zahl\b",),
    text=(r"\b(?:als|in) text(?:form)?\b|\bin worten\b",),
    types={
        "pie": (r"(?:kreis|torten|kuchen|ring|donut)-?(?:diagramm|chart|grafik)\w*|\bals torte\b",),
        "line": (r"(?:linien|kurven)-?(?:diagramm|chart|grafik)\w*|\bals linien?\b|\b(?:trend)?kurve\b",),
        "bar": (
            r"(?:balken|säulen|stab)-?(?:diagramm|chart|grafik)\w*|\bals (?:gestapelte |gruppierte |waagerechte )*(?:balken|säulen)\b",
        ),
        "area": (r"flächen-?(?:diagramm|chart|grafik)\w*",),
        "scatter": (r"(?:streu|punkte?|blasen)-?(?:diagramm|chart|wolke|plot|grafik)\w*",),
        "heatmap": (r"\bheat-?map\w*|wärmekarte\w*",),
        "box": (r"boxplot\w*|kasten(?:diagramm|grafik)\w*",),
        "histogram": (r"histogramm\w*|häufigkeitsverteilung\w*",),
    },
    hints={
        "line": (r"\b(?:trend\w*|verlauf\w*|zeitverlauf|entwickl\w+|zeitreihen?|im laufe)\b",),
        "scatter": (r"\b(?:korrel\w+|zusammenhang|abhängig\w*|beziehung zwischen)\b",),
        "histogram": (r"\bverteilung\w*\b",),
    },
    stacked=(r"\bgestapelt\w*|\bstapel\w*",),
    horizontal=(r"\b(?:waagerecht|waagrecht|horizontal)\w*",),
    grouped=(r"\b(?:(?-i:pro)|je|nach|jede[rsnm]?|in jede[rmn]|über die)\b",),
    shares=(r"\b(?:anteile?n?|\w+anteile?n?|aufteilung|prozentual\w*)\b",),
    share_columns=(r"anteil|prozent|quote",),
)


QUESTION_WORDS = QuestionWords(
    describe=(
        r"beschreib\w*|beschreibung|zusammenfassung|zusammenfassen|fasse?|uberblick|ubersicht|"
        r"charakterisier\w*|merkmale|eigenschaften|erklar\w*|erlauter\w*|profil|skizzier\w*"
    ),
    data=(
        r"daten|datens(?:atz|atze|atzes|atzen)|csv|xlsx|xls|excel|parquet|jsonl|tabellen?|dateie?n?|"
        r"datenbank(?:en)?|arbeitsmappen?|blatt|blatter|tabellenblatt|spalten?|felder"
    ),
    fillers=(
        r"der|die|das|des|dem|den|diese[rsnm]?|meine[rsnm]?|unsere[rsnm]?|ihre[rsnm]?|ganze[nrs]?|"
        r"gesamte[nrs]?|alle[rn]?|von|in|im|zu|zur|zum|uber|mir|uns|eine[rsnm]?|ein|ist|sind|und|fur|bitte|"
        r"kann|konnen|sie|du|gib|geben|zeige?n?|sage?n?|schreib\w*|mach\w*|erstell\w*|kurz\w*|knapp\w*|"
        r"schnell\w*|allgemein\w*|ausfuhrlich\w*|wichtigsten?|grundlegend\w*|hochgeladen\w*|angehangt\w*|was|"
        r"welche[rsn]?|wie|haben|hat|hier|es|gibt|ich|wir|worten?|text|struktur|aufbau|statistik\w*|"
        r"statistisch\w*|qualitat|verteilung\w*|inhalte?s?|mit|einige[nr]?|zusammen"
    ),
    tables=(
        r"welche tabellen (?:gibt es|sind vorhanden|existieren|haben (?:wir|sie)|hast du)|"
        r"(?:zeige?n?|liste)(?: sie)?(?: mir)?(?: alle| die)* tabellen(?: auf)?"
    ),
)


VOCABULARY = Vocabulary(
    questions=QUESTION_WORDS,
    charts=CHART_WORDS,
    relative_periods={
        f"{which} {unit}": _words(rf"(?:{before})e(?:s|r|n|m)? {word}")
        for which, before in (("last", "letzt|vorig|vergangen|vorherig"), ("this", "dies|laufend|aktuell"), ("next", "nächst|kommend"))
        for unit, word in (("week", "woche"), ("month", "monats?"), ("quarter", "quartals?"), ("year", "jahr(?:es)?"), ("season", "saison"))
    }
    | {"yesterday": _words("gestern"), "today": _words("heute"), "tomorrow": _words("morgen")},
    months=(
        r"J[aä]n(?:uar|ner|\.)?", r"Feb(?:ruar|\.)?", r"M[äa]r(?:z|\.)", r"Apr(?:il|\.)?", "Mai", r"Juni?\.?", r"Juli?\.?", r"Aug(?:ust|\.)?",
        r"Sept?(?:ember|\.)?", r"Okt(?:ober|\.)?", r"Nov(?:ember|\.)?", r"Dez(?:ember|\.)?",
    ),
    dates=(
        r"(?i:\b(?P<quarter>erste|zweite|dritte|vierte|letzte|[1-4]\.)[nrs]? quartals?)(?:,? (?:des jahres )?{year})?",
        r"(?i:\b(?P<half>erste|zweite|[12]\.)[nrs]? (?:halbjahr(?:es)?|jahreshälfte))(?: {year})?", r"\bH(?P<half>[12])(?: {year})?\b",
        r"\b(?:GJ|Geschäftsjahr) ?{year}",
    ),
    date_words={"erst": 1, "zwei": 2, "drit": 3, "vier": 4, "letz": 4},
    date_limits=DateWords(
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
    number_words=_number_words,
)  # fmt: skip
