"""English words of questions for charts and descriptions."""

from datasphinx.agent.grounding.vocabulary import ChartWords, QuestionWords, Vocabulary

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


VOCABULARY = Vocabulary(questions=QUESTION_WORDS, charts=CHART_WORDS)
