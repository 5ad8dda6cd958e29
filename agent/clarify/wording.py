"""AmbQuestion and AmbOutput: wordings with several readings, and questions that do not say what to show."""

import re
from collections.abc import Iterator

from agent.catalog.describe import Selection
from agent.catalog.schema import Catalog
from agent.catalog.words import words
from agent.clarify.types import Ambiguity

_VAGUE = re.compile(
    r"\b(?:best|worst|better|good|great(?:est)?|big(?:gest|ger)?|large(?:st|r)?|small(?:est|er)?|top|first|last|recent(?:ly)?|latest|"
    r"newest|active|popular|(?:most |more )?(?:success\w+|important|valuable|loyal|relevant|significant)|main|major|"
    r"ahead|leading|done the (?:most|least)|each other|get(?:s|ting)? along|together|"
    r"лучш\w+|худш\w+|хорош\w+|крупн\w+|больш(?:ой|ая|ие|ое|их)|перв\w+|последн\w+|недавн\w+|активн\w+|популярн\w+|"
    r"успешн\w+|важн\w+|главн\w+|вместе|друг друга)\b|最好|最差|最佳|最大|最小|最近|最新|首个|第一|活跃|热门|受欢迎|"
    r"成功|重要|主要|一起|互相",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    r"\b(?:largest|biggest|smallest|greatest|top|best|first|last) (?:\w+ )?(?:number|amount|total|sum|average|share|"
    r"percentage|count|quantity|value)\b(?: first\b)?|\b(?:\w+est|most|least) (?:\w+ )?first\b",
    re.IGNORECASE,
)
"""A superlative with its measure, and an order that is said."""
_BY = re.compile(r"\b(?:by|in terms of|with the|measured|according to|ranked)\b|\bпо\b|按照?", re.IGNORECASE)
_COUNTS = r"(?:how many|number of|average|mean|total|sum|count|in all|сколько|средн\w+|сумм\w+|количество|всего)"
_TWO = r"(?:\d{4}|[A-ZА-ЯЁ][\w'’-]*(?: [A-ZА-ЯЁ][\w'’-]*)*)"
_BOTH = re.compile(rf"({_TWO}) (?:and|und|&|и) ({_TWO})|(\d{{4}})年?[和与及](\d{{4}})")
_COUNTS_SOMETHING = re.compile(rf"\b{_COUNTS}\b|多少|几|平均|总", re.IGNORECASE)
_OR = re.compile(r"\b(\w+) (?:or|или) (\w+) (?:to|for|in|with|from|that|who|для|в|с|из)\b", re.IGNORECASE)
_EACH_HAS = re.compile(
    r"how many \w+ (?:do|does|did|have|has) (?!we|you|i\b|they|it)(?:the |our |all |these )?\w+ "
    r"(?:have|has|had|own|get|got|make|made|contain)\b"
    r"|сколько \w+ (?:у|в) (?:наших |всех )?\w+",
    re.IGNORECASE,
)
_SORTED = re.compile(
    r"\b(?:sort(?:ed)?|ordered(?= by\b)|order (?:\w+ )?by)\b|отсортир|упорядоч|排序|排列", re.IGNORECASE
)
_DIRECTION = re.compile(
    r"\b(?:asc\w*|desc\w*|first|last|highest|lowest|largest|smallest|earliest|latest|oldest|youngest|newest|cheapest|"
    r"alphabetical\w*|from \S+ to|most|least|возраст|убыван|алфавит\w*)\b|возраст|убыв|алфавит|从.到|升序|降序|最",
    re.IGNORECASE,
)
_SHOW = re.compile(
    r"^(?:please )?(?:show|list|give|display|get|find|tell|print|name|покажи\w*|дай\w*|выведи\w*|перечисли\w*|"
    r"назови\w*)(?: me| us| мне)?\b|^(?:请)?(?:列出|显示|给出|展示|查看)",
    re.IGNORECASE,
)
_WHO_OF_MANY = re.compile(
    r"^(?:who|whom|where|how (?:tall|old|long|heavy|big))\b"
    r".*(?:\b(?:our|the|all) \w+(?<!s)s\b|\b(?:are|were|got|have)\b)",
    re.IGNORECASE,
)
_NEVER_A_MEASURE = words("name names id ids code date year by of in to the")


def ambiguous_wording(question: str, catalog: Catalog, selection: Selection) -> Iterator[Ambiguity]:
    """Yield what the wording of `question` leaves open.

    A vague word does not count where the question says by what it is measured: by a column, or behind "by". What to
    show is open where a question asks to show things of several tables, or who or where several are, and names no
    column.
    """
    named = _columns_named(question, catalog, selection)
    vague = _VAGUE.search(_MEASURED.sub(" ", question))
    if vague and not named and not _BY.search(question):
        yield _of("AmbQuestion", vague[0], "several measures or orders may be meant by it")
    yield from _distribution(question)
    if _SORTED.search(question) and not _DIRECTION.search(question):
        yield _of("AmbOutput", "the order", "ascending", "descending")
    if _EACH_HAS.search(question) and not named:
        yield _of("AmbOutput", "the count", "one figure in all", "a figure for each", "an average")
    elif not named and _is_open(question, catalog, selection):
        yield _of("AmbOutput", "what to show", "which columns", "each thing once or every row")


def _distribution(question: str) -> Iterator[Ambiguity]:
    both = _BOTH.search(question)
    if both and _COUNTS_SOMETHING.search(question):
        yield _of("AmbQuestion", both[0], "both together", "each of the two by itself")
    either = _OR.search(question)
    if either:
        yield _of("AmbQuestion", either[0], "what follows belongs to both", "it belongs to the last one alone")


def _is_open(question: str, catalog: Catalog, selection: Selection) -> bool:
    if _COUNTS_SOMETHING.search(question) or re.search(r"\d", question):
        return False
    asked = words(question)
    tables = sum(words(catalog.tables[key].name) <= asked for key in selection if key in catalog.tables)
    return tables > 1 and bool(_SHOW.search(question)) or bool(_WHO_OF_MANY.search(question))


def _columns_named(question: str, catalog: Catalog, selection: Selection) -> frozenset[str]:
    """Return the stems of `question` that stand in names of columns and in no name of a table."""
    tables = {word for key in selection for word in words(key)}
    columns = {word for key in selection if key in catalog.tables for name in selection[key] for word in words(name)}
    return (words(question) & columns) - tables - _NEVER_A_MEASURE


def _of(kind: str, phrase: str, *candidates: str) -> Ambiguity:
    return Ambiguity(type=kind, phrase=phrase, candidates=list(candidates))
