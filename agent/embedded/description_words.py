"""The words with which questions ask to describe the data, by language."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from datasphinx.agent.messages import CONVENTIONS, Language, language_of
from datasphinx.agent.schema.words import normal_form


@dataclass(frozen=True)
class _Words:
    """The words of one language, as parts of patterns."""

    describe: str
    """Verbs and nouns that request a description."""
    data: str
    """Nouns for data of any kind."""
    fillers: str
    """All other words that a request for a description may have."""
    tables: str
    """Complete questions for the tables of the data."""


_WORDS: dict[Language, _Words] = {
    "en": _Words(
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
    ),
    "de": _Words(
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
    ),
    "ru": _Words(
        describe=(
            r"опиши\w*|описать|описани\w*|охарактериз\w*|характеристик\w*|обзор\w*|сводк\w*|особенност\w*|"
            r"расскаж\w*|обобщи\w*|поясни\w*"
        ),
        data=(r"данн\w+|датасет\w*|таблиц\w*|файл\w*|набор\w*|баз\w*|лист\w*|столбц\w*|колон\w*|пол[яей]\w*"),
        fillers=(
            r"мне|нам|пожалуйста|эт\w+|сво\w+|мо[йюяеи]\w*|наш\w*|весь|вс[яеюёхм]\w*|о|об|обо|про|в|во|на|из|и|по|"
            r"для|словами|текстом|дай\w*|сделай\w*|покажи\w*|составь\w*|кратк\w*|коротк\w*|общ\w+|основн\w+|"
            r"загруженн\w+|структур\w*|статистик\w*|качеств\w*|свойств\w*|распределени\w*|содержани\w*|содержим\w+|"
            r"как\w+|есть|что|с|со|подробн\w+"
        ),
        tables=(
            r"какие (?:здесь |тут )?(?:(?:есть|имеются|существуют|доступны) таблицы|таблицы (?:здесь |тут )?(?:есть|имеются|"
            r"существуют|доступны))|(?:покажи|перечисли)(?:те)?(?: мне)?(?: все)? таблицы|список(?: всех)? таблиц"
        ),
    ),
    "zh": _Words(
        describe=(r"描述|概述|概括|介绍|总结|说明|讲解|分析|特征|特点|概况|概览|概貌|基本情况|整体情况|总体情况"),
        data=(r"数据集|数据库|数据表|工作表|电子表格|数据|表格|文件|资料|表"),
        fillers=(
            r"请|麻烦|帮我|帮忙|给我|为我|我|你|一下|下|一个|个|这个|这份|这张|这些|这|那|该|此|整个|全部|所有|的|里|中|内容|结构|字段|列|质量|分布|统计|基本|主要|整体|总体|情况|"
            r"信息|简单|简要|详细|用文字|文字|是什么|是怎样|怎么样|如何|有哪些|有什么|和|与|及|对|进行|做|吧|吗|呢|是"
        ),
        tables=(
            r"(?:这里|库里|数据库(?:里|中)?)?(?:都)?有(?:哪些|什么)(?:数据)?表格?|(?:列出|显示)(?:所有|全部)?的?(?:数据)?表格?"
        ),
    ),
}


def described_names(question: str, names: Iterable[str]) -> list[str] | None:
    """Return the tables of `names` that `question` asks to describe; [] for the data as a whole.

    Returns None unless the question has no other words than those for a description, for data, and such names. A
    question for the tables that exist asks for the data as a whole, unless a table is itself called "tables" or the
    like.

    >>> described_names("Describe the orders table", ["orders", "customers"]), described_names("描述一下数据特征", [])
    (['orders'], [])
    >>> described_names("Describe the orders by month", ["orders"])
    """
    language, text, found = language_of(question), f" {normal_form(question)} ", []
    words = _WORDS.get(language, _WORDS["en"])
    by_form = {normal_form(name.rpartition(".")[2]): name for name in names}
    if re.fullmatch(words.tables, text.strip()) and not any(re.fullmatch(words.data, form) for form in by_form):
        return []
    has_spaces = bool(CONVENTIONS[language].space)
    if not re.search(rf"\b(?:{words.describe})\b" if has_spaces else words.describe, text):
        return None
    for form in sorted(by_form, key=len, reverse=True):
        if form and form in text:
            # A Chinese name has no spaces around it.
            pattern = rf"(?<![a-z\d]){re.escape(form)}(?![a-z\d])" if form.isascii() else re.escape(form)
            text, count = re.subn(pattern, " ", text)
            found += [by_form[form]] if count else []
    if not has_spaces:
        rest, verbs = re.subn(words.describe, "", text)
        rest, data = re.subn(words.data, "", rest)
        rest = re.sub(rf"{words.fillers}|\s", "", rest)
        return found if verbs and (data or found) and not rest else None
    kinds = [
        next((kind for kind in ("describe", "data", "fillers") if re.fullmatch(getattr(words, kind), word)), None)
        for word in text.split()
    ]
    is_request = None not in kinds and "describe" in kinds and ("data" in kinds or found)
    return found if is_request else None
