"""The words with which questions ask to describe the data, in all languages."""

import re
from collections.abc import Iterable

from datasphinx.agent.schema.words import normal_form

_DESCRIBE = (
    r"describe|summari[sz]e|summary|overview|profile|characteristics|beschreib\w*|zusammenfassung|uberblick|"
    r"опиши\w*|описание|обзор\w*|расскаж\w*"
)
_DATA = (
    r"data|dataset|file|csv|xlsx|parquet|json|table|spreadsheet|database|daten|datensatz|datei|tabelle|datenbank|"
    r"данн\w+|датасет\w*|таблиц\w*|файл\w*|баз\w*"
)
_IN_CHINESE = r"(?:请|帮我)?(?:描述|概述|概括|介绍|总结)(?:一下|下)?(?:这[个份张])?(?P<name>NAMES)?(?:数据集?|文件|表格?)?的?(?:特征|基本情况)?"
_TABLES = (
    r"(?:which|what) tables (?:exist|are there|do (?:you|we|i) have)|(?:list|show)(?: me)?(?: all)?(?: the)? tables|"
    r"welche tabellen (?:gibt es|sind vorhanden)|какие(?: есть)? таблицы(?: есть)?|(?:покажи|перечисли) (?:все )?таблицы|"
    r"有(?:哪些|什么)表格?"
)


def described_names(question: str, names: Iterable[str]) -> list[str] | None:
    """Return the tables of `names` that `question` asks to describe; [] for the data as a whole.

    Such a question ends with a word for data or the name of a table, shortly after one for a description. A question
    for the tables that exist asks for the data as a whole. For others, the result is None.

    >>> described_names("Describe the orders table", ["orders", "customers"]), described_names("描述一下数据特征", [])
    (['orders'], [])
    >>> described_names("Describe the orders by month", ["orders"])
    """
    text = normal_form(question).removesuffix(" please").removesuffix(" in words")
    by_form = {normal_form(name.rpartition(".")[2]): name for name in names}
    if re.fullmatch(_TABLES, text) and "tables" not in by_form:
        return []
    known = "|".join(map(re.escape, filter(None, by_form))) or "(?!)"
    pattern = (
        rf"(?:\w+ ){{0,5}}(?:{_DESCRIBE})(?: \w+){{0,4}}? "
        rf"(?:(?P<name>{known})(?: (?:{_DATA}))?|(?:{_DATA})(?: (?P<last>{known}))?)"
    )
    if match := re.fullmatch(pattern, text):
        name = match["name"] or match["last"]
        return [by_form[name]] if name else []
    match = re.fullmatch(_IN_CHINESE.replace("NAMES", known), text.replace(" ", ""))
    return ([by_form[match["name"]]] if match["name"] else []) if match else None
