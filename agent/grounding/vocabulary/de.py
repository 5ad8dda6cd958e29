"""German words of claims."""

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
    return lazy_pattern(rf"\b(?:{pattern})\b", re.IGNORECASE)


def _before(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of words directly before a figure, with an optional currency sign between."""
    return lazy_pattern(rf"(?:\b(?:{pattern})\s|[~≈])\s*[$€£¥₽]?$", re.IGNORECASE)


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
    up=_words(
        r"stieg(?:en)?|steig(?:t|en|ende[rnms]?|end|erte[n]?|ert)|gestiegen(?:e[rnms]?)?|gesteigert|anstieg|angestiegen|anstiegs|steigerung(?:en)?|wuchs(?:en)?|wächst|wachsen(?:de[rnms]?)?|gewachsen(?:e[rnms]?)?|wachstum|zunahme|zugenommen|nahm(?:en)? (?:\w+ ){0,4}?zu|nimmt (?:\w+ ){0,4}?zu|zuwachs|zulegt?en?|zugelegt|legte[n]? (?:\w+ ){0,4}?zu|erhöht(?:e[n]?)?|erhöhung|kletter(?:te[n]?|t|n)|geklettert|sprang(?:en)?|sprung|schnellte[n]? (?:\w+ ){0,3}hoch|erholt(?:e[n]?)?|erholung|aufwärts|verdoppelt(?:e[n]?)?|verdreifacht(?:e[n]?)?|vervierfacht(?:e[n]?)?|höher als (?:im vor|in der vor|zuvor)|mehr als (?:im vor|zuvor)"
    ),
    down=_words(
        r"sank(?:en)?|sink(?:t|en|ende[rnms]?|end)|gesunken(?:e[rnms]?)?|fiel(?:en)?|fällt|fallen(?:de[rnms]?)?|gefallen(?:e[rnms]?)?|abgefallen|rückgang|rückgänge|zurückgegangen|ging(?:en)? (?:\w+ ){0,4}?zurück|geht (?:\w+ ){0,4}?zurück|abnahme|abgenommen|nahm(?:en)? (?:\w+ ){0,4}?ab|nimmt (?:\w+ ){0,4}?ab|verringert(?:e[n]?)?|reduziert(?:e[n]?)?|reduzierung|schrumpf(?:t|te[n]?|en)|geschrumpft|einbruch|eingebrochen|brach(?:en)? (?:\w+ ){0,4}?ein|abwärts|abgerutscht|rutschte[n]?|stürzte[n]? (?:\w+ ){0,4}?ab|halbiert(?:e[n]?)?|niedriger als (?:im vor|in der vor|zuvor)|weniger als (?:im vor|zuvor)|verlor(?:en)?(?= \d)"
    ),
    improves=_words(r"verbesser(?:t|te|ten|n|ung)"),
    worsens=_words(r"verschlechter(?:t|te|ten|n|ung)"),
    judged=_words(r"besser\w*|schlechter\w*|schneller\w*|langsamer\w*|verbesser\w+|verschlechter\w+"),
    steady=_words(r"unverändert|blieb(?:en)? (?:gleich|konstant|stabil|unverändert)|konstant|stabil|gleich geblieben|gleichgeblieben|keine veränderung|änderte[n]? sich nicht|stagnier\w+"),
    always=_words(r"stetig\w*|kontinuierlich\w*|durchgehend\w*|durchgängig\w*|beständig\w*|fortlaufend\w*|jedes jahr|jeden monat|jedes quartal|jede woche|jeden tag|jahr für jahr|monat für monat|von jahr zu jahr|von monat zu monat|ohne unterbrechung|ausnahmslos|ununterbrochen"),
    more=_words(r"mehr|höher\w*|größer\w*|länger\w*|älter\w*|schwerer\w*|teurer\w*|wärmer\w*|weiter\w*|oberhalb|zusätzlich\w*"),
    less=_words(r"weniger|niedriger\w*|geringer\w*|kleiner\w*|kürzer\w*|jünger\w*|leichter\w*|billiger\w*|günstiger\w*|kälter\w*|unterhalb"),
    than=_words(r"als|gegenüber|verglichen mit|im vergleich (?:zu|zum|zur|mit)|vor|hinter|über|unter|wie"),
    exceeds=_words(r"übertrifft|übertraf(?:en)?|übertreffen|übersteigt|überstieg(?:en)?|übersteigen|überholt(?:e[n]?)?|überragt(?:e[n]?)?|schlägt|schlug(?:en)?|liegt (?:\w+ ){0,3}?(?:vor|über)|lag(?:en)? (?:\w+ ){0,3}?(?:vor|über)|liegen (?:\w+ ){0,3}?(?:vor|über)"),
    trails=_words(r"unterbietet|unterschreitet|unterschritt(?:en)?|liegt (?:\w+ ){0,3}?(?:hinter|unter)|lag(?:en)? (?:\w+ ){0,3}?(?:hinter|unter)|liegen (?:\w+ ){0,3}?(?:hinter|unter)|hinter|bleibt hinter|blieb(?:en)? hinter"),
    equal=_words(r"genauso (?:viel\w*|hoch|groß|oft|lang) wie|ebenso (?:viel\w*|hoch|groß|oft|lang) wie|gleich (?:viel\w*|hoch|groß) wie|so (?:viel\w*|hoch|groß) wie|identisch|gleichauf|gleich(?:en|er|e)? wert"),
    highest=_words(
        r"höchst\w*|größt\w*|meist(?:en|e|er|es)?|maximal\w*|maximum|höchstwert|spitzenwert|spitzenreiter\w*|spitze|rekord\w*|führ(?:t|te|ten|en|end\w*)(?! zu)|anführer\w*|nummer eins|platz (?:1|eins)|ersten? platz|erster|an erster stelle|längst\w*|ältest\w*|teuerst\w*|schwerst\w*|wärmst\w*|heißest\w*|umsatzstärkst\w*|dominier\w+|mehr als (?:jede[rs]?|alle) ander\w+|oben auf"
    ),
    lowest=_words(
        r"niedrigst\w*|geringst\w*|kleinst\w*|wenigst(?:en|e|er|es)?|minimal\w*|minimum|tiefst\w*|tiefstwert|schlusslicht|letzten? platz|an letzter stelle|kürzest\w*|jüngst\w*|billigst\w*|günstigst\w*|leichtest\w*|kältest\w*|umsatzschwächst\w*|weniger als (?:jede[rs]?|alle) ander\w+"
    ),
    best=_words(r"best(?:e|en|er|es|em)|stärkst\w*"),
    worst=_words(r"schlechtest\w*|schwächst\w*|schlimmst\w*"),
    either=_words(r"schnellst\w*|langsamst\w*|sicherst\w*|gesündest\w*"),
    better_low=lazy_pattern(r"(?:ausschuss|abfall|ausfall|stillstand|überfällig|offen|rückstand|fehler|störung|verletz|unfall|sterbe|todes|leerstand|kosten|verspätung|verzögerung|wartezeit|warte|mangel|mängel|beschwerde|reklamation|rückgabe|retoure|storno|abwander|kündigung|verlust|dauer|minuten|sekunden|latenz|platz|rang|fehlzeit|kriminal|ausgaben|preis|emission|schulden|abbruch)", re.IGNORECASE),
    each=_words(r"pro|je|jeweils"),
    not_superlative=lazy_pattern(r"(?:eine[rsnm]? der|zu den|unter den|nicht(?: (?:der|die|das|den|am))?|zweit|dritt|viert|fünft|zweit-|dritt-|bei weitem nicht|weder|noch|mindestens|höchstens)\s*$", re.IGNORECASE),
    followed_by=_words(r"gefolgt von|dahinter|danach|dann|vor|anschließend"),
    rank=_words(
        r"(?P<ordinal>zweit|dritt|viert|fünft|sechst)(?:höchst|größt|meist|best|stärkst|niedrigst|kleinst|längst|schlechtest|wenigst)\w*"
        r"|(?:auf|an|den|der) (?P<ordinal2>zweit|dritt|viert|fünft|sechst|siebt|acht|neunt|zehnt)e[nr] (?:platz|stelle|rang)"
        r"|(?:platz|rang) (?P<ordinal3>\d{1,2}|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)"
    ),
    ordinals={
        "erst": 1, "zwei": 2, "zweit": 2, "drit": 3, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieb": 7, "acht": 8, "neun": 9, "zehn": 10,
    },
    total=_words(r"gesamt\w*|insgesamt|summe\w*|summiert\w*|zusammen|zusammengenommen|alles in allem|addier\w+|in summe|kumuliert\w*"),
    streak=_words(r"in folge|hintereinander|aufeinanderfolgend\w*|nacheinander"),
    weighted=_words(r"gewichtet\w*"),
    average=_words(r"durchschnitt\w*|mittelwert\w*|im mittel|mittler\w+|typisch\w*|im schnitt"),
    median=_words(r"median\w*"),
    share=_words(r"anteil\w*|entfällt auf|entfallen auf|entfiel(?:en)? auf|mach(?:t|te|en|ten) (?:\w+ ){0,6}?aus|ausmach\w*|entspr(?:icht|ach|echen)|beitrag|beiträgt|trägt (?:\w+ ){0,4}?bei|prozent (?:der|des|aller|vom)|% (?:der|des|aller|vom)|stamm(?:t|en|te|ten) (?:von|aus)|vom gesamt\w+|des gesamt\w+|der gesamt\w+"),
    rated=_words(r"anteil\w*|quote\w*|rate\w*|verhältnis\w*|pro|je"),
    difference=_words(r"unterschied\w*|differenz\w*|abstand\w*|vorsprung|lücke|rückstand|spanne|rest\w*|übrig\w*|verbleib\w*|netto\w*|überschuss|fehlbetrag|mehr|weniger|höher\w*|niedriger\w*|größer\w*|kleiner\w*|besser\w*|schlechter\w*|anstieg|steigerung|rückgang|zunahme|abnahme|zuwachs|wachstum|veränderung\w*|änderung\w*|plus|minus|ersparnis|gewinn|verlust|früher|später|schneller|langsamer"),
    by=lazy_pattern(r"\b(?:um|weitere[nrs]?|zusätzliche[nrs]?|von)\s+(?:\w+\s+){0,2}[$€£]?$", re.IGNORECASE),
    ratio=_words(r"pro|je|jeweils|verhältnis\w*|durchschnitt\w*|quote\w*|mal|zu eins"),
    every=_words(r"alle[rnms]?|jede[rsnm]?|sämtliche[rn]?|beide[rn]?|ausnahmslos"),
    none=_words(r"kein(?:e[rsnm]?)?|niemand|nichts|weder"),
    only=_words(r"nur|einzig\w*|allein\w*|ausschließlich|lediglich"),
    majority=_words(r"mehrheit|mehr als die hälfte|über die hälfte|großteil|größtenteils|überwiegend\w*|überwiegt|die meisten"),
    some=_words(r"einige[rn]?|mehrere[rn]?|manche[rn]?|viele[rn]?|wenige[rn]?|etliche[rn]?|die hälfte|ein(?:e[rsnm]?)?"),
    rest=_words(r"ander\w+|übrig\w+|restlich\w+|rest|verbleibend\w+|weitere[nr]?"),
    complement=_words(r"un\w{4,}|leer\w*|frei\w*|fehl\w*|ohne|nicht"),
    first_last=_words(r"erst\w+|letzt\w+|ober\w+|unter(?:e|en|er)|führend\w*|übrig\w+|ander\w+"),
    top=lazy_pattern(r"\b(?:top|ersten?|besten?|führenden?|größten?|höchsten?|stärksten?|obersten?)[\s-]$", re.IGNORECASE),
    bottom=lazy_pattern(r"\b(?:flop|letzten?|schlechtesten?|kleinsten?|niedrigsten?|schwächsten?|untersten?)[\s-]$", re.IGNORECASE),
    existence=lazy_pattern(r"\b(?:die|diese[rn]?|unsere[rn]?|es (?:gibt|gab|sind|waren)(?: insgesamt| genau| nur)?|alle[rn]?|insgesamt|über alle|(?:ergebnis|tabelle|liste|daten) (?:hat|haben|zeigt|zeigen|enthält|enthalten|umfasst|umfassen)|wir haben|sie haben|umfasst|enthält|zählt|hat|haben|genau|der|von den|von|aus|für|in)\s$", re.IGNORECASE),
    about=_before(r"etwa|rund|ungefähr|circa|ca\.|zirka|annähernd|geschätzt|um die|in etwa"),
    over=_before(r"über|mehr als|größer als|höher als|gut|knapp über|etwas mehr als|etwas über|oberhalb von|deutlich über|deutlich mehr als|länger als|älter als"),
    under=_before(r"unter|weniger als|kleiner als|niedriger als|fast|beinahe|nahezu|knapp|bis zu|knapp unter|etwas weniger als|etwas unter|unterhalb von|deutlich unter|kürzer als|jünger als|nicht ganz"),
    nearly=_before(r"fast|beinahe|nahezu|knapp|bis zu|knapp unter|etwas weniger als|etwas unter|nicht ganz"),
    at_least=_before(r"mindestens|wenigstens|nicht weniger als|minimal"),
    at_most=_before(r"höchstens|maximal|nicht mehr als|bis zu"),
    about_after=lazy_pattern(r"\s?(?:oder so|in etwa)", re.IGNORECASE),
    over_after=lazy_pattern(r"\s?\+(?!\d)| plus\b", re.IGNORECASE),
    at_least_after=lazy_pattern(r"\s?(?:%|prozent)?\s?(?:\w+ )?(?:oder|und) (?:mehr|höher|länger|größer|älter|darüber|besser)\b", re.IGNORECASE),
    positive=_words(r"gewinn\w*|profitabel|positiv\w*|schwarze zahlen|überschuss"),
    negative=_words(r"verlust\w*|negativ\w*|rote zahlen|defizit\w*|fehlbetrag|minus|unter null|überzogen|verlor(?:en)?(?= (?:\w+ ){0,2}\d)|verliert(?= (?:\w+ ){0,2}\d)"),
    negation=_words(r"nicht|kein(?:e[rsnm]?)?|nie|niemals|weder|ohne|niemand|nichts"),
    previous=_words(r"(?:im|zum|gegenüber dem|dem|das|des) (?:vorjahr\w*|vormonat\w*|vorquartal\w*|vortag\w*)|vorjahr\w*|vormonat\w*|vorquartal\w*|vorwoche|vortag|(?:im|das|dem) (?:vorherigen|vorigen|vorangegangenen|letzten) (?:jahr|monat|quartal|tag)|(?:in der|die|der) (?:vorherigen|vorigen|vorangegangenen|letzten) woche|ein (?:jahr|monat|quartal) (?:zuvor|davor|früher)|eine woche (?:zuvor|davor|früher)|(?:im|das) folgenden (?:jahr|monat|quartal)|(?:im|das) folgejahr"),
    following=_words(r"(?:im|das|dem) (?:folgenden|nächsten|darauffolgenden) (?:jahr|monat|quartal)|folgejahr|folgemonat|folgequartal|(?:ein |das )?(?:jahr|monat|quartal) (?:später|danach)|(?:eine )?woche (?:später|danach)"),
    since=_words(r"bevor|erreicht(?:e[n]?)?|bis|dann|seitdem|seither|anschließend|danach|später"),
    multiple=_words(r"wie|als|der|die|das|mehr|höher|größer|verdoppel\w+|verdreifach\w+|\w+fach\w*|halbier\w+|hälfte|drittel|viertel|fünftel|zehntel|von|über"),
    own=_words(r"sein(?:e[rsnm]?)?|ihr(?:e[rsnm]?)?|eigen\w*|höchststand|tiefststand|rekordjahr|(?:best|schlechtest|stärkst|schwächst|höchst|niedrigst)\w*(?: \w+)? (?:jahr|monat|quartal|tag|woche)"),
    missing=lazy_pattern(r"\s*(?:kein(?:e[rsnm]?)?|es (?:gibt|gab) kein\w*|nicht|die (?:daten|tabelle|zeilen|werte))\b", re.IGNORECASE),
    unknown=_words(r"(?:daten|zeilen|tabelle|ergebnisse?|zahlen) (?:\w+ ){0,5}nicht|nicht (?:bekannt|angegeben|enthalten|ersichtlich|erkennbar|verfügbar|erfasst)|unbekannt|unklar|keine (?:daten|angaben?|information\w*|erklärung)|lässt sich nicht (?:sagen|erkennen|ableiten)|geht (?:\w+ ){0,4}nicht hervor"),
    dated=lazy_pattern(r"\b(?:vor|nach|seit|bis|ab)\s*$", re.IGNORECASE),
    dated_after=lazy_pattern(r"(?!)"),
    shown=_words(r"gezeigt\w*|angezeigt\w*|aufgeführt\w*|aufgelistet\w*|dieser|diesen|in dieser (?:liste|tabelle|auswahl)|hier|sichtbar\w*|bisher|zurückgegeben\w*"),
    pronoun=lazy_pattern(r"\s*(?:das(?= (?:ist|sind|war|waren|entspricht|ergibt|macht|bedeutet)\b)|dies(?:e[rs]?)?|es|er|sie|sein(?:e[rsnm]?)?|ihr(?:e[rsnm]?)?)\b", re.IGNORECASE),
    joins=lazy_pattern(r"(?:\s*,\s*(?:und\s+|dann\s+)?|\s+(?:und|&|oder|sowie|plus)\s+|\s*[&+/]\s*)(?:(?:der|die|das|den|dem|in|im|für|aus|von|nach)\s+){0,2}", re.IGNORECASE),
    against=lazy_pattern(r"[\s\w]{0,24}(?:gegenüber|gegen|verglichen mit|im vergleich zu|statt|nach|von|zu|auf)\s+(?:etwa |rund |fast |nur |den |der )?[$€£]?", re.IGNORECASE),
    starts=_words(r"von|zwischen"),
    part_of=lazy_pattern(r"\b(?:von|aus|unter|in)\s+(?:den|der|allen|insgesamt|seinen|ihren|unseren)?\s*(?:[a-zäöüß]+\s+)?[$€£]?$|/\s?$", re.IGNORECASE),
    ranges=lazy_pattern(r"\s*(?:bis(?: zu| zum| zur)?|und|auf|[-–—→])\s*(?:(?:den|die|das|in|etwa|rund|fast|nur|ein)\s+){0,2}", re.IGNORECASE),
    breaks=lazy_pattern(r"[,;:()|\n]|(?<=\s)[-–—](?=\s)|\b(?:und|während|wohingegen|aber|doch|sondern|verglichen mit|im vergleich zu|gegenüber|als|obwohl|gefolgt von|vor|mit|jedoch|oder|außer|ohne|nach|welche[rs]?|wo|dann)\b", re.IGNORECASE),
    after_figure=lazy_pattern(r"\s*(?:%|prozent)?\s*(?:(?!(?:als|über|unter|gegenüber|mehr|weniger|höher|niedriger|bis|von|vor|hinter|und|mit)\b)[\wäöüß$€£¥%°./'-]+\s+){0,4}?(?:(?:in|im|für|aus|bei|am|an|auf|entfallen auf|entfällt auf|gehen an|stammen aus)\s+(?:der\s+|die\s+|das\s+|den\s+|dem\s+|monat\s+|jahr\s+)?|\(\s*(?:der\s+|die\s+|das\s+)?)", re.IGNORECASE),
    links=_words(r"in|im|für|aus|bei|am|an|auf|pro|je|mit|waren|war|sind|ist|und|als|während|dass|die|der|das|hatte|hat|haben|zu|von"),
    cause=_words(
        r"weil|da (?=(?:die|der|das|es|sie|viele|mehr|weniger|kunden|neue)\b)|wegen|aufgrund|auf grund|dank|infolge\w*|durch (?=(?:die|den|das|eine?n?|neue|höhere|niedrigere|bessere|mehr|weniger)\b)|bedingt|verursacht\w*|ursache\w*|grund dafür|der grund|gründe|deshalb|daher|deswegen|folglich|somit|führt(?:e|en)? (?:\w+ ){0,3}?zu|ausgelöst\w*|zurückzuführen|zurückgeht auf|beruht auf|liegt an|lag an|liegt daran|lag daran|getrieben\w*|angetrieben|beflügelt\w*|gestützt von|belastet (?:von|durch)|profitiert(?:e|en)?|leidet unter|litt(?:en)? unter|spiegelt|erklärt\w*|bewirkt\w*|ermöglicht\w*|sorgt(?:e|en)? (?:\w+ ){0,3}?für|resultier\w+|ergibt sich aus|nach der (?:einführung|eröffnung|schließung|kampagne|umstellung)|nach dem (?:start|umbau|streik|relaunch)"
    ),
    afterwards=lazy_pattern(r"nach|mit|seit", re.IGNORECASE),
    cause_columns=_words(r"gr(?:und|ünde)|ursachen?|erklärung|kommentar|notiz|faktor|treiber"),
    forecast=_words(
        r"wird (?:\w+ ){0,8}?(?:steigen|sinken|wachsen|fallen|zunehmen|abnehmen|erreichen|übertreffen|übersteigen|bleiben|zurückgehen)|werden (?:\w+ ){0,8}?(?:steigen|sinken|wachsen|fallen|zunehmen|abnehmen|erreichen|übertreffen|bleiben|zurückgehen)|dürfte[n]?|voraussichtlich\w*|wahrscheinlich\w*|vermutlich|prognos\w+|vorhersag\w+|erwart\w+|zukünftig\w*|künftig\w*|in zukunft|ausblick|nächste[sn]? (?:jahr|monat|quartal)|nächste woche|kommende[sn]? (?:jahr|monat|quartal)|kommende woche|könnte[n]? (?:bald|weiter|\w+ steigen|\w+ sinken)|auf dem weg|absehbar\w*|auf kurs"
    ),
    event=_words(r"anstieg|rückgang|einbruch|spitze|höchststand|tiefststand|höhepunkt|tiefpunkt|erholung|sprung|zunahme|abnahme|verlangsamung"),
    schedule=_words(r"geplant\w*|fällig\w*|vorgesehen\w*|erwartet\w*|soll(?:en|te|ten)?|wird|werden"),
    forecast_columns=_words(r"prognose\w*|plan|geplant\w*|erwartet\w*|ziel|soll|vorhersage\w*|ausblick"),
    sentiment=_words(
        r"beeindruckend\w*|enttäusch\w+|hervorragend\w*|ausgezeichnet\w*|bemerkenswert\w*|erstaunlich\w*|fantastisch\w*|schrecklich\w*|furchtbar\w*|großartig\w*|brillant\w*|spektakulär\w*|alarmierend\w*|besorgniserregend\w*|bedenklich\w*|unzufrieden\w*|zufrieden\w*|glücklich\w*|unglücklich\w*|beliebt\w*|unbeliebt\w*|treue?|begeister\w+|aufregend\w*|vielversprechend\w*|ermutigend\w*|gesund\w*|ungesund\w*|robust\w*|erfolgsgeschichte|leider|bedauerlich\w*|erfreulich\w*|traurig\w*|frustrier\w+|wütend\w*|stolz|verärger\w+|überraschend\w*|schockierend\w*|dramatisch\w*|katastroph\w+|miserabel|mittelmäßig\w*|solide\w*|außergewöhnlich\w*|wunderbar\w*|lieblings\w+|motiviert\w*|gute nachricht\w*|schlechte nachricht\w*|triumph\w*|krise|inakzeptabel\w*|lieb(?:t|en|te|ten)|hass(?:t|en|te|ten)|mögen|mochte[n]?|bevorzug\w+|fürcht\w+|hoff(?:t|en|te|ten)|glaub(?:t|en|te|ten)|schätz(?:en|ten) (?:die|das|den)|starke (?:leistung|nachfrage|ergebnisse)|schwache (?:leistung|nachfrage|ergebnisse)|perfekt\w*|ideal\w*|toll\w*|super|schlimm\w*"
    ),
    recommendation=_words(r"(?:wir|sie|man) soll(?:ten|te)|sollte[n]? (?:\w+ ){0,5}(?:erhöht|geschlossen|ausgebaut|gefördert|gesenkt|werden)|es empfiehlt sich|empfehl\w+|empfohlen|ratsam|wir müssen|muss (?:\w+ ){0,3}werden"),
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
    figures=FigureWords(
        scales={"tsd": 1e3, "tausend": 1e3, "mio": 1e6, "million": 1e6, "millionen": 1e6, "mrd": 1e9, "milliarde": 1e9, "milliarden": 1e9, "billionen": 1e12},
        scale_endings="",
        points=r"prozentpunkten?",
        percent=r"prozent(?!\w)",
        times=r"mal\b|-?fach\w*",
        ordinal_after=r"\.\s+(?:platz|rang|stelle)\b",
        ordinal_before=r"\bnr\.\s?|\b(?:ersten|letzten|besten|platz|rang|stelle)\s",
    ),
    counters=_words(r"leute|personen|person|menschen|stück|stk|exemplare?|fälle|fall|mal|artikel|einheiten|einheit"),
    units={
        r"\$|usd|(?:us-)?dollar": "usd", r"€|eur|euro": "eur", r"£|gbp|pfund": "gbp", r"chf|franken|sfr": "chf", r"¥|jpy|yen": "jpy", r"cny|rmb|yuan": "cny", r"₽|rub|rubel": "rub",
        r"cent": "cent",
        r"mg|milligramm": "mg", r"g|gramm": "g", r"kg|kilo|kilogramm": "kg", r"t|tonnen?": "t",
        r"ms|millisekunden?": "ms", r"s|sek|sekunden?": "s", r"min|minuten?": "min", r"h|std|stunden?": "h", r"tage?n?": "d", r"wochen?": "week", r"monaten?|monate": "month", r"jahren?|jahre": "year",
        r"mm|millimeter": "mm", r"cm|zentimeter": "cm", r"m|meter": "m", r"km|kilometer": "km", r"meilen?": "mi",
        r"ml|milliliter": "ml", r"l|liter": "l", r"m3|m³|kubikmeter": "m3", r"gb|gigabyte": "gb", r"mb|megabyte": "mb", r"kb|kilobyte": "kb", r"tb|terabyte": "tb",
        r"°c|grad celsius|celsius": "c", r"°f|grad fahrenheit|fahrenheit": "f", r"kwh": "kwh", r"mwh": "mwh", r"gwh": "gwh", r"twh": "twh",
    },
    per=lazy_pattern(r"\b(?:pro|je)\s+$", re.IGNORECASE),
    generic=_words(r"zeilen?|datens(?:atz|ätze|ätzen)|eintr(?:ag|äge|ägen)|ergebnisse?n?|werte?n?|datenpunkte?n?|gruppen?|davon"),
    total_rows=_words(r"gesamt(?:summe)?|summe|alle|insgesamt|zwischensumme|total"),
)  # fmt: skip
