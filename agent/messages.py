"""Every text that a user reads outside a model's answer, in English, Russian and Chinese."""

import re
from typing import Any, Literal

from agent.analyst_messages import ANALYST_TEXTS
from agent.chart_messages import CHART_TEXTS
from agent.conversation_messages import CONVERSATION_TEXTS
from agent.dataset_messages import DATASET_TEXTS
from agent.example_messages import EXAMPLE_TEXTS
from agent.model_messages import MODEL_TEXTS
from agent.service_messages import SERVICE_TEXTS

Language = Literal["en", "ru", "zh"]

_HAN = re.compile(r"[\u3400-\u9fff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LATIN = re.compile(r"[A-Za-z]")

TEXTS: dict[str, dict[Language, str]] = {
    "statement_refused": {
        "en": "The statement was refused before it reached the database: {findings}.",
        "ru": "Запрос отклонён до обращения к базе данных: {findings}.",
        "zh": "语句在到达数据库之前被拒绝：{findings}。",
    },
    "names_unknown": {
        "en": "The statement names what the database does not have: {unknown}.",
        "ru": "Запрос называет то, чего нет в базе данных: {unknown}.",
        "zh": "语句中的名称在数据库中不存在：{unknown}。",
    },
    "statement_unsound": {
        "en": "The statement cannot run as it stands: {problems}.",
        "ru": "Запрос не может быть выполнен в таком виде: {problems}.",
        "zh": "该语句无法按原样执行：{problems}。",
    },
    "system_catalog_refused": {
        "en": "This needs the database's own system tables ({names}), which are not read here. Ask about the data in its tables.",
        "ru": "Для этого нужны системные таблицы базы данных ({names}), они здесь не читаются. Спросите о данных в её таблицах.",
        "zh": "这需要读取数据库自身的系统表（{names}），此处不予读取。请询问其表中的数据。",
    },
    "statement_failed": {
        "en": "The database refused the statement: {reason}",
        "ru": "База данных отклонила запрос: {reason}",
        "zh": "数据库拒绝了该语句：{reason}",
    },
    "statement_timeout": {
        "en": "The statement was stopped after {seconds:g} s. Narrow the question, or raise DATASPHINX_STATEMENT_TIMEOUT_S.",
        "ru": "Запрос остановлен через {seconds:g} с. Уточните вопрос или увеличьте DATASPHINX_STATEMENT_TIMEOUT_S.",
        "zh": "语句运行 {seconds:g} 秒后被停止。请缩小问题范围，或调高 DATASPHINX_STATEMENT_TIMEOUT_S。",
    },
    "statement_too_costly": {
        "en": "The statement was not run: the database expects to go through more than the {limit:.1e} rows that are allowed. Join on keys, filter first, or raise DATASPHINX_MAX_PLANNED_ROWS.",
        "ru": "Запрос не выполнен: база данных ожидает больше строк в ходе выполнения, чем допускается ({limit:.1e}). Соединяйте по ключам, фильтруйте раньше или увеличьте DATASPHINX_MAX_PLANNED_ROWS.",
        "zh": "语句未执行：数据库预计过程中的行数超过允许的 {limit:.1e} 行。请按键连接、先筛选，或调高 DATASPHINX_MAX_PLANNED_ROWS。",
    },
    "query_spec_invalid": {
        "en": "The query spec cannot be used: {problems}. Correct it in the places named.",
        "ru": "Спецификацию запроса нельзя использовать: {problems}. Исправьте её в указанных местах.",
        "zh": "查询规格无法使用：{problems}。请在所示位置更正。",
    },
    "invalid_question": {
        "en": "This cannot be read as a question: {reason}.",
        "ru": "Это не удаётся прочитать как вопрос: {reason}.",
        "zh": "无法将其作为问题读取：{reason}。",
    },
    "question_too_long": {
        "en": "The question has {chars} characters, at most {limit} are read. Shorten it, or raise DATASPHINX_MAX_QUESTION_CHARS.",
        "ru": "В вопросе {chars} символов, читается не больше {limit}. Сократите его или увеличьте DATASPHINX_MAX_QUESTION_CHARS.",
        "zh": "问题有 {chars} 个字符，最多读取 {limit} 个。请缩短问题，或调高 DATASPHINX_MAX_QUESTION_CHARS。",
    },
    "off_topic": {
        "en": "The question is not about this data",
        "ru": "Вопрос не по теме",
        "zh": "问题与这些数据无关",
    },
    "sql_not_generated": {
        "en": "Could not generate an SQL query",
        "ru": "Не получилось сгенерировать SQL запрос",
        "zh": "未能生成 SQL 查询",
    },
    "invalid_output_type": {
        "en": "The result cannot be given as {wanted}: it is {shape}. Ask for another form, or leave the form open.",
        "ru": "Результат нельзя дать в виде {wanted}: это {shape}. Выберите другой вид или не указывайте его.",
        "zh": "结果无法以 {wanted} 形式给出：它是 {shape}。请换一种形式，或不指定形式。",
    },
    "source_empty": {
        "en": "The database {source} has no table that this account can see. Check the URL, the account's rights, and `schemas` if it is set.",
        "ru": "В базе данных {source} нет таблиц, видимых этой учётной записи. Проверьте URL, права и `schemas`, если он задан.",
        "zh": "数据库 {source} 中没有此账户可见的表。请检查 URL、账户权限，以及设置过的 `schemas`。",
    },
    "source_not_found": {
        "en": "There is no source {source!r}: {reason}. Name a configured source, give the SQLAlchemy URL of an existing database where that is allowed, or leave it out.",
        "ru": "Источника {source!r} нет: {reason}. Назовите настроенный источник, укажите URL SQLAlchemy существующей базы, если это разрешено, или не указывайте источник.",
        "zh": "没有数据源 {source!r}：{reason}。请指定已配置的数据源；在允许的情况下也可给出现有数据库的 SQLAlchemy URL；或不指定数据源。",
    },
    "sources_not_together": {
        "en": "{first} and {second} cannot be asked in one question: it goes to databases of one engine, or to files and DataFrames. Ask them one after the other, load both into one database, or give the tables of both as files or DataFrames.",
        "ru": "{first} и {second} нельзя спросить одним вопросом: он идёт либо к базам данных одного типа, либо к файлам и DataFrame. Спросите их по очереди, загрузите всё в одну базу или дайте таблицы обоих как файлы или DataFrame.",
        "zh": "{first} 与 {second} 不能在同一个问题中查询：一个问题只能面向同一种引擎的数据库，或面向文件和 DataFrame。请分别提问，或将两者载入同一个数据库，或都以文件或 DataFrame 形式提供。",
    },
    "source_unreachable": {
        "en": "The database {source} does not answer: {reason}. Check that it runs and that the URL is right.",
        "ru": "База данных {source} не отвечает: {reason}. Проверьте, что она работает и что URL верен.",
        "zh": "数据库 {source} 没有响应：{reason}。请检查它是否在运行、URL 是否正确。",
    },
    "source_busy": {
        "en": "All {places} connections to {source} are in use. Try again in a moment.",
        "ru": "Все соединения с {source} заняты ({places}). Повторите немного позже.",
        "zh": "{source} 的全部 {places} 个连接都在使用中。请稍后再试。",
    },
    "account_can_write": {
        "en": "The account of {source} may do more than read: {rights}. Use a role that can only SELECT (`datasphinx source check` shows how), or set allow_writable_account = true for this source (for a bare URL DATASPHINX_ALLOW_WRITABLE_ACCOUNT=true).",
        "ru": "Учётная запись {source} может не только читать: {rights}. Возьмите роль, которой разрешён только SELECT (`datasphinx source check` покажет, как), или задайте allow_writable_account = true для этого источника (для URL — DATASPHINX_ALLOW_WRITABLE_ACCOUNT=true).",
        "zh": "{source} 的账户不只能读取：{rights}。请使用只能 SELECT 的角色（`datasphinx source check` 会说明做法），或为该数据源设置 allow_writable_account = true（直接用 URL 时设置 DATASPHINX_ALLOW_WRITABLE_ACCOUNT=true）。",
    },
    "permission_denied": {
        "en": "The account of {source} may not read what this needs: {reason}. Ask whoever runs the database for the SELECT right.",
        "ru": "Учётной записи {source} не разрешено читать нужное: {reason}. Попросите администратора базы дать право SELECT.",
        "zh": "{source} 的账户无权读取所需内容：{reason}。请向数据库管理员申请 SELECT 权限。",
    },
    "statement_cancelled": {
        "en": "The statement was stopped on request.",
        "ru": "Запрос остановлен по требованию.",
        "zh": "语句已按要求停止。",
    },
    "driver_missing": {
        "en": "The package {package} is not installed. Run: pip install 'datasphinx[{extra}]'",
        "ru": "Пакет {package} не установлен. Выполните: pip install 'datasphinx[{extra}]'",
        "zh": "未安装软件包 {package}。请运行：pip install 'datasphinx[{extra}]'",
    },
    "configuration": {
        "en": "The setting {setting} is wrong: {reason}.",
        "ru": "Настройка {setting} неверна: {reason}.",
        "zh": "设置 {setting} 有误：{reason}。",
    },
    "dataset_invalid": {
        "en": "{path} cannot be used: {reason}.",
        "ru": "{path} нельзя использовать: {reason}.",
        "zh": "{path} 无法使用：{reason}。",
    },
    "not_permitted": {
        "en": "You are not permitted to read the table {table}. Ask whoever runs this source for access.",
        "ru": "У вас нет доступа к таблице {table}. Запросите доступ у администратора этого источника.",
        "zh": "您无权读取表 {table}。请向该数据源的管理员申请权限。",
    },
    "row_rule_parameter_missing": {
        "en": "The row rule of the table {table} needs a value for {parameter}, and none was given. Set it in the `row_parameters` of the source.",
        "ru": "Правилу строк таблицы {table} нужно значение {parameter}, но оно не задано. Задайте его в `row_parameters` источника.",
        "zh": "表 {table} 的行规则需要 {parameter} 的值，但未提供。请在该数据源的 `row_parameters` 中设置。",
    },
    "row_rule_not_applied": {
        "en": "The statement was not run: the row rule of the table {table} could not be put on it ({reason}). Write the reference to the table in a simpler way.",
        "ru": "Запрос не выполнен: правило строк таблицы {table} не удалось применить ({reason}). Запишите обращение к таблице проще.",
        "zh": "语句未执行：无法应用表 {table} 的行规则（{reason}）。请用更简单的方式引用该表。",
    },
    "record_unavailable": {
        "en": "The record of runs, {store}, cannot be used: {reason}. DATASPHINX_RECORD_URL says where it is; DATASPHINX_RECORD=false works without it.",
        "ru": "Журнал запусков, {store}, недоступен: {reason}. Где он находится, задаёт DATASPHINX_RECORD_URL; DATASPHINX_RECORD=false позволяет работать без него.",
        "zh": "运行记录 {store} 无法使用：{reason}。其位置由 DATASPHINX_RECORD_URL 指定；设置 DATASPHINX_RECORD=false 可不做记录。",
    },
    "trace_unknown": {
        "en": "The trace {trace_id} cannot be used: {reason}. `datasphinx trace list` shows what is on the record.",
        "ru": "Трассу {trace_id} использовать нельзя: {reason}. Что есть в журнале, показывает `datasphinx trace list`.",
        "zh": "无法使用跟踪 {trace_id}：{reason}。`datasphinx trace list` 会列出记录中的内容。",
    },
    "budget_exceeded": {
        "en": "The question was stopped at its limit of {limit}. {setting} raises it.",
        "ru": "Вопрос остановлен: достигнут предел {limit}. Его увеличивает {setting}.",
        "zh": "问题在达到上限 {limit} 时被停止。可通过 {setting} 调高。",
    },
    "question_failed": {
        "en": "There is no answer: {reason}",
        "ru": "Ответа нет: {reason}",
        "zh": "没有答案：{reason}",
    },
    "internal_error": {
        "en": "Something broke inside datasphinx ({reason}). The log has the details under trace id {trace_id}.",
        "ru": "Внутренняя ошибка datasphinx ({reason}). Подробности в журнале, идентификатор {trace_id}.",
        "zh": "datasphinx 内部出错（{reason}）。详情见日志，跟踪号 {trace_id}。",
    },
    "no_rows": {
        "en": "The query found no rows.",
        "ru": "Запрос не нашёл ни одной строки.",
        "zh": "查询没有找到任何行。",
    },
    "single_value": {
        "en": "{column}: {value}",
        "ru": "{column}: {value}",
        "zh": "{column}：{value}",
    },
    "row_count": {
        "en": "Rows: {count}",
        "ru": "Строк: {count}",
        "zh": "行数：{count}",
    },
    "truncated": {
        "en": "Only the first {count} rows were read.",
        "ru": "Прочитаны только первые {count} строк.",
        "zh": "只读取了前 {count} 行。",
    },
    **ANALYST_TEXTS,
    **CHART_TEXTS,
    **DATASET_TEXTS,
    **EXAMPLE_TEXTS,
    **MODEL_TEXTS,
    **CONVERSATION_TEXTS,
    **SERVICE_TEXTS,
}


def language_of(text: str) -> Language:
    """Return the language to answer in, by the script that the words of `text` are mostly written in.

    A Chinese character counts for two letters, since it carries about that much of a word.
    """
    han, cyrillic, latin = (len(pattern.findall(text)) for pattern in (_HAN, _CYRILLIC, _LATIN))
    if han and 2 * han >= max(cyrillic, latin) // 2:
        return "zh"
    return "ru" if cyrillic and cyrillic >= latin // 2 else "en"


def render(code: str, language: Language, **facts: Any) -> str:
    """Return the text of `code` in `language` with `facts` filled in; sequences are joined by semicolons.

    Raises:
        KeyError: the code is unknown or a fact is missing.
    """
    shown = {
        name: "; ".join(map(str, value)) if isinstance(value, tuple | list) else value for name, value in facts.items()
    }
    return TEXTS[code][language].format(**shown)
