"""Detection of ambiguities in a question, from the catalog and stored values, without the model.

The four types are those of Sphinteract (Zhao et al., VLDB 2025). A detected ambiguity does not imply that its readings
differ in their results: it is a hint for the model that writes the statement.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from agent.messages import Language, render
from agent.retrieval.linked_values import LinkedValue, named_spans
from agent.retrieval.value_index import ValueIndex, ValueMatch
from agent.schema.catalog import Catalog, Column, Table
from agent.schema.describe import Selection
from agent.schema.words import content_words, normal_form, stem, words
from agent.sources.source import Source
from agent.sql.names import referenced_names
from agent.types import Ambiguity, Clarification

_MAX_CANDIDATES = 4
_UNMENTIONED_WORD_PENALTY = 0.5
"""Subtracted for each word of a column name that the question does not contain: full matches score highest."""
_SEARCH_LIMIT = 20
_VAGUE = re.compile(
    r"\b(?:best|worst|better|good|great(?:est)?|big(?:gest|ger)?|large(?:st|r)?|small(?:est|er)?|top|first|last|recent(?:ly)?|latest|"
    r"newest|active|popular|(?:most |more )?(?:success\w+|important|valuable|loyal|relevant|significant)|"
    r"main|major|leading|"
    r"лучш\w+|худш\w+|хорош\w+|крупн\w+|больш(?:ой|ая|ие|ое|их)|перв\w+|последн\w+|недавн\w+|активн\w+|популярн\w+|"
    r"успешн\w+|важн\w+|главн\w+|"
    r"beste[nrsm]?|schlechteste[nrsm]?|gute[nrsm]?|größte[nrsm]?|kleinste[nrsm]?|erste[nrsm]?|letzte[nrsm]?|neueste[nrsm]?|"
    r"aktive[nrsm]?|beliebt\w*|erfolgreich\w*|wichtig\w*|treue\w*|führende[nrsm]?)\b|最好|最差|最佳|最大|最小|最近|最新|首个|第一|活跃|热门|受欢迎|成功|重要|主要",
    re.IGNORECASE,
)
_CLEAR_SUPERLATIVE = re.compile(
    r"\b(?:largest|biggest|smallest|greatest|top|best|first|last) (?:\w+ )?(?:number|amount|total|sum|average|share|"
    r"percentage|count|quantity|value)\b(?: first\b)?|\b(?:\w+est|most|least) (?:\w+ )?first\b",
    re.IGNORECASE,
)
"""A superlative with its measure ("largest number"), or an explicit order ("largest first")."""
_BY = re.compile(
    r"\b(?:by|in terms of|with the|measured|according to|ranked|nach|gemessen|bezogen auf)\b|\bпо\b|按照?",
    re.IGNORECASE,
)
_AGGREGATE = (
    r"(?:how many|number of|average|mean|total|sum|count|in all|сколько|средн\w+|сумм\w+|количество|всего|"
    r"wie viele?|anzahl|durchschnitt\w*|summe|insgesamt|gesamt\w*)"
)
_NAME = r"(?:\d{4}|[A-ZА-ЯЁ][\w'’-]*(?: [A-ZА-ЯЁ][\w'’-]*)*)"
_PAIR_WITH_AND = re.compile(rf"({_NAME}) (?:and|und|&|и) ({_NAME})|(\d{{4}})年?[和与及](\d{{4}})")
_AGGREGATES = re.compile(rf"\b{_AGGREGATE}\b|多少|几|平均|总", re.IGNORECASE)
_PAIR_WITH_OR = re.compile(r"\b(\w+) (?:or|или) (\w+) (?:to|for|in|with|from|that|who|для|в|с|из)\b", re.IGNORECASE)
_COUNT_PER_ITEM = re.compile(
    r"how many \w+ (?:do|does|did|have|has) (?!we|you|i\b|they|it)(?:the |our |all |these )?\w+ "
    r"(?:have|has|had|own|get|got|make|made|contain)\b"
    r"|сколько \w+ (?:у|в) (?:наших |всех )?\w+",
    re.IGNORECASE,
)
_SORTED = re.compile(
    r"\b(?:sort(?:ed)?|ordered(?= by\b)|order (?:\w+ )?by)\b|отсортир|упорядоч|\bsortier|排序|排列", re.IGNORECASE
)
_DIRECTION = re.compile(
    r"\b(?:asc\w*|desc\w*|first|last|highest|lowest|largest|smallest|earliest|latest|oldest|youngest|newest|cheapest|"
    r"alphabetical\w*|from \S+ to|most|least|возраст|убыван|алфавит\w*|"
    r"aufsteigend|absteigend|alphabetisch|meisten|wenigsten|(?:höchst|niedrigst|größt|kleinst|neuest|ältest)e[nrs]?)\b|возраст|убыв|алфавит|从.到|升序|降序|最",
    re.IGNORECASE,
)
_ASKS_TO_SHOW = re.compile(
    r"^(?:please )?(?:show|list|give|display|get|find|tell|print|name|покажи\w*|дай\w*|выведи\w*|перечисли\w*|"
    r"назови\w*|zeige?|liste|nenne|gib|finde)(?: me| us| мне| mir| uns)?\b|^(?:请)?(?:列出|显示|给出|展示|查看)",
    re.IGNORECASE,
)
_NOT_MEASURES = words("name names id ids code date year by of in to the")
_MAX_AMBIGUITIES = 6


class _ColumnMatch(NamedTuple):
    score: float
    table: Table
    column: Column


def ambiguous_columns(question: str, catalog: Catalog, selection: Selection) -> Iterator[Ambiguity]:
    """Yield each word of `question` that matches several columns equally well, with these columns.

    A column scores one point for each question word in its name or its table's, minus a penalty for each other word of
    its name. Not ambiguous: key columns, columns joined by foreign keys, words that name a table, and columns of equal
    name whose tables are all named in the question.
    """
    question_words = words(question)
    tables = [catalog.tables[key] for key in selection if key in catalog.tables]
    table_words = {word for table in tables for word in words(table.name)}
    seen: set[frozenset[str]] = set()
    for word in sorted(content_words(question) - table_words, key=lambda word: _position(word, question)):
        matches = [
            _column_match(table, column, question_words)
            for table in tables
            for column in table.columns
            if word in words(column.name) and column.name in selection[table.key]
            if column.name not in table.key_columns
        ]
        best_score = max((match.score for match in matches), default=0.0)
        best = [match for match in matches if match.score == best_score]
        names = frozenset(f"{match.table.key}.{match.column.name}" for match in best)
        type_classes = {match.column.type_class for match in best}
        if len(names) < 2 or len(type_classes) > 1 or names in seen:
            continue
        column_names = {match.column.name.lower() for match in best}
        if len(column_names) == 1 and all(words(match.table.name) & question_words for match in best):
            continue
        first = best[0]
        key = (first.table.key, first.column.name)
        if all(catalog.are_equivalent(key, (match.table.key, match.column.name)) for match in best):
            continue
        seen.add(names)
        candidates = [f"{match.table.key}.{match.column.name}" for match in best][:_MAX_CANDIDATES]
        yield Ambiguity(type="AmbTableColumn", phrase=_original_word(word, question), candidates=candidates)


def _column_match(table: Table, column: Column, question_words: Set[str]) -> _ColumnMatch:
    column_words, table_words = words(column.name), words(table.name)
    unmentioned = column_words - question_words - table_words
    score = len((column_words | table_words) & question_words) - _UNMENTIONED_WORD_PENALTY * len(unmentioned)
    return _ColumnMatch(score, table, column)


def _original_word(stemmed: str, question: str) -> str:
    """Return the first word of `question` with the stem `stemmed`; the stem itself if there is none."""
    original = re.findall(r"[^\W\d_]+", question)
    return next((word for word in original if stem(word.lower()) == stemmed), stemmed)


def _position(stemmed: str, question: str) -> int:
    return question.find(_original_word(stemmed, question)) % (len(question) + 1)


def ambiguous_values(question: str, source: Source, selection: Selection) -> Iterator[Ambiguity]:
    """Yield each phrase that matches several stored values, with these as `table.column = 'value'`.

    A value stored in several columns is ambiguous unless the question names exactly one of the columns or foreign keys
    join them. A name that equals no value is ambiguous if several values of one column contain its words or, if the
    name is quoted, are spelled similarly.
    """
    by_phrase: dict[str, list[LinkedValue]] = {}
    for link in source.linked_values(question, selection):
        by_phrase.setdefault(link.phrase, []).append(link)
    for phrase, links in by_phrase.items():
        best = _best_links(links, question, source.catalog)
        if len(best) > 1:
            yield _value_ambiguity(phrase, best)
    linked = {phrase.casefold() for phrase in by_phrase}
    for phrase, is_quoted in named_spans(question):
        if not any(phrase.casefold() in other or other in phrase.casefold() for other in linked):
            matches = _matches_in_one_column(phrase, source.values, selection, include_similar=is_quoted)
            if len(matches) > 1:
                yield _value_ambiguity(phrase, matches)


def _best_links(links: list[LinkedValue], question: str, catalog: Catalog) -> list[LinkedValue]:
    """Return one link for each group of equivalent columns, limited to the columns that the question names best."""
    distinct: list[LinkedValue] = []
    for link in links:
        key = (link.table, link.column)
        if not any(catalog.are_equivalent(key, (other.table, other.column)) for other in distinct):
            distinct.append(link)
    question_words = words(question.replace(links[0].phrase, " "))
    scores = [
        2 * len(words(link.column) & question_words) + len(words(link.table) & question_words) for link in distinct
    ]
    return [link for link, score in zip(distinct, scores, strict=True) if score == max(scores)]


def _matches_in_one_column(
    phrase: str, values: ValueIndex, selection: Selection, *, include_similar: bool
) -> list[ValueMatch]:
    """Return the values of the best-matching column that contain all words of `phrase`.

    With `include_similar`, similarly spelled values if none contains all words.
    """
    phrase_words = set(normal_form(phrase).split())
    matches = [match for match in values.find(phrase, _SEARCH_LIMIT) if match.column in selection.get(match.table, ())]
    containing = [match for match in matches if phrase_words <= set(normal_form(match.value).split())]
    candidates = containing or (matches if include_similar else [])
    first = candidates[0] if candidates else None
    return [match for match in candidates if first and (match.table, match.column) == (first.table, first.column)]


def _value_ambiguity(phrase: str, matches: Sequence[LinkedValue | ValueMatch]) -> Ambiguity:
    candidates = [f"{match.table}.{match.column} = {match.value!r}" for match in matches[:_MAX_CANDIDATES]]
    return Ambiguity(type="AmbValue", phrase=phrase, candidates=candidates)


def ambiguous_wording(question: str, catalog: Catalog, selection: Selection) -> Iterator[Ambiguity]:
    """Yield the ambiguities in the wording of `question`: vague words, distribution, order, count and output columns.

    A vague word such as "best" is not ambiguous if the question names a column or a measure after "by". The output
    columns are ambiguous if the question names no column and asks to show rows of several tables.
    """
    table_words = {word for key in selection for word in words(key)}
    tables = selection.keys() & catalog.tables.keys()
    column_words = {word for key in tables for name in selection[key] for word in words(name)}
    named_columns = (words(question) & column_words) - table_words - _NOT_MEASURES
    vague = _VAGUE.search(_CLEAR_SUPERLATIVE.sub(" ", question))
    if vague and not named_columns and not _BY.search(question):
        yield _wording_ambiguity("AmbQuestion", vague[0], "several measures or orders may be meant by it")
    # Together or separately? Does what follows apply to both?
    pair, alternative = _PAIR_WITH_AND.search(question), _PAIR_WITH_OR.search(question)
    if pair and _AGGREGATES.search(question):
        yield _wording_ambiguity("AmbQuestion", pair[0], "both together", "each of the two by itself")
    if alternative:
        yield _wording_ambiguity(
            "AmbQuestion", alternative[0], "what follows belongs to both", "it belongs to the last one alone"
        )
    if _SORTED.search(question) and not _DIRECTION.search(question):
        yield _wording_ambiguity("AmbOutput", "the order", "ascending", "descending")
    if _COUNT_PER_ITEM.search(question) and not named_columns:
        yield _wording_ambiguity("AmbOutput", "the count", "one figure in all", "a figure for each", "an average")
    elif not named_columns and _output_is_unclear(question, catalog, selection):
        yield _wording_ambiguity("AmbOutput", "what to show", "which columns", "each thing once or every row")


def _output_is_unclear(question: str, catalog: Catalog, selection: Selection) -> bool:
    if _AGGREGATES.search(question) or re.search(r"\d", question):
        return False
    question_words = words(question)
    tables = sum(words(catalog.tables[key].name) <= question_words for key in selection if key in catalog.tables)
    return tables > 1 and bool(_ASKS_TO_SHOW.search(question))


def _wording_ambiguity(kind: str, phrase: str, *candidates: str) -> Ambiguity:
    return Ambiguity(type=kind, phrase=phrase, candidates=list(candidates))


def find_ambiguities(question: str, source: Source, selection: Selection) -> list[Ambiguity]:
    """Return at most six ambiguities of `question` over the columns in `selection`: values, columns, wording.

    Words that the business knowledge defines are not ambiguous.
    """
    matches = source.knowledge.knowledge.matches(question) if source.knowledge.knowledge.hash else []
    for match in reversed(matches):
        if any(source.knowledge.is_valid(item) for item in match.items):
            question = f"{question[: match.start]} {question[match.end :]}"
    by_values = ambiguous_values(question, source, selection)
    by_columns = ambiguous_columns(question, source.catalog, selection)
    return [*by_values, *by_columns, *ambiguous_wording(question, source.catalog, selection)][:_MAX_AMBIGUITIES]


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MAX_ASSUMPTIONS = 5


def assumptions_of(
    stated: Iterable[str],
    ambiguities: Iterable[Ambiguity],
    clarifications: Sequence[Clarification],
    sql: str,
    catalog: Catalog,
    language: Language,
) -> list[str]:
    """Return at most five assumptions of `sql`: those `stated` by the model, and the choices between ambiguous names.

    A stated assumption with a number that the statement does not contain is dropped, since the number could be taken
    for a result. If nothing else is assumed, words with several readings are listed without the reading. After an
    answered clarifying question, only stated assumptions are returned.
    """
    numbers = set(_NUMBER.findall(sql))
    assumptions = [text.strip() for text in stated if text.strip() and set(_NUMBER.findall(text)) <= numbers]
    if not any(clarification["question"] for clarification in clarifications):
        unresolved = list(ambiguities)
        sql_names = {name.lower() for name in referenced_names(sql, catalog).columns} if unresolved else set()
        choices = (_choice(ambiguity, sql_names, sql, language) for ambiguity in unresolved)
        assumptions += [text for text in choices if text]
        if not assumptions:
            vague = [ambiguity["phrase"] for ambiguity in unresolved if ambiguity["type"] == "AmbQuestion"]
            assumptions = [render("several_readings", language, phrase=phrase) for phrase in vague]
    return list(dict.fromkeys(assumptions))[:_MAX_ASSUMPTIONS]


def _choice(ambiguity: Ambiguity, sql_names: set[str], sql: str, language: Language) -> str | None:
    """Return a message naming the candidate that the statement uses and the others; None unless it uses exactly one."""
    candidates = ambiguity["candidates"]
    used_candidates = []
    for candidate in candidates:
        column, _, value = candidate.partition(" = ")
        if column.lower() in sql_names and (not value or value.strip("'\"").lower() in sql.lower()):
            used_candidates.append(candidate)
    if ambiguity["type"] not in ("AmbTableColumn", "AmbValue") or len(used_candidates) != 1:
        return None
    others = ", ".join(candidate for candidate in candidates if candidate != used_candidates[0])
    return render("read_as", language, phrase=ambiguity["phrase"], taken=used_candidates[0], others=others)
