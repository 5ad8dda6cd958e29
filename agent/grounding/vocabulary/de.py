"""German words of questions for charts and descriptions."""

from datasphinx.agent.grounding.vocabulary import ChartWords, QuestionWords, Vocabulary

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


VOCABULARY = Vocabulary(questions=QUESTION_WORDS, charts=CHART_WORDS)
