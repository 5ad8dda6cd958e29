"""Errors in Russian and Chinese: the whole text is in that language, with the reason and with its own facts."""

import copy
import pickle
import re
from functools import cache
from pathlib import Path

import pytest

from datasphinx.agent.core.failure import client_failure, error_info, error_of, failure_of, full_text
from datasphinx.agent.errors import (
    BY_CODE,
    FileUnreadable,
    Refused,
    StatementFailed,
    Unanswered,
)
from datasphinx.agent.messages import LANGUAGES, TEXTS, Language, Message, render
from datasphinx.agent.settings import Settings
from tests.support.errors import placeholders

TEXT_FACTS = ("reason", "problems", "findings", "unknown", "rights", "limit", "what")
"""Facts of errors that are texts, not names or numbers."""

PROPER_NAMES = {
    "Databricks", "Delta", "Iceberg", "Spark", "Trino", "Chrome", "Chromium",
    "Authorization", "Bearer", "DataFrame", "Excel", "LibreOffice", "Parquet", "PostgreSQL", "SHA", "SQLAlchemy",
    "Unicode", "csv", "datasphinx", "datasphinx.toml", "env", "false", "install", "jsonl", "llama.cpp", "localhost",
    "parquet", "pip", "true", "uninstall", "wheel", "xllamacpp", "xlsx",
}  # fmt: skip
SQL_WORDS = re.compile(r"[A-Z][A-Z_*-]+$")
QUOTATION = re.compile(r"«[^»]*»|“[^”]*”|`[^`]*`|'[^']*'|\{[^{}]*\}")
WORD = re.compile(r"(?<!\d)[A-Za-z][A-Za-z_.*-]*")


def english_words(text: str) -> list[str]:
    """Words of English prose in `text`, outside of quotations, identifiers and settings."""
    words = WORD.findall(QUOTATION.sub(" ", text))
    return [
        word
        for word in (word.strip(".-") for word in words)
        if word and not SQL_WORDS.match(word) and "_" not in word and word not in PROPER_NAMES
    ]


def facts_of(code: str, **known: object) -> dict[str, object]:
    return {name: known.get(name, 7) for name in placeholders(TEXTS["en"][code])}


REASONS = [code for code in TEXTS["en"] if code not in BY_CODE]
"""Codes of all texts that are not those of an error: any of them may be a reason."""


@cache
def every_reason() -> tuple[Message, ...]:
    return tuple(Message(code, **facts_of(code, reason="it broke", error="it broke")) for code in REASONS)


@pytest.mark.parametrize("language", ["ru", "zh"])
def test_every_reason_has_no_english_words(language: Language) -> None:
    english = {}
    for code in REASONS:
        words = english_words(render(code, language, **facts_of(code, reason=Message("empty"), error="it broke")))
        if words:
            english[code] = words

    assert english == {}


@pytest.mark.parametrize("language", ["ru", "zh"])
@pytest.mark.parametrize("code", BY_CODE)
def test_every_error_with_every_reason_has_no_english_words(code: str, language: Language) -> None:
    has_number = re.search(r"\{limit:", TEXTS["en"][code])
    facts = facts_of(code, **{name: every_reason() for name in TEXT_FACTS if not (has_number and name == "limit")})

    assert english_words(render(code, language, **facts)) == []


@pytest.mark.parametrize("language", ["ru", "zh"])
def test_text_of_a_database_is_quoted(language: Language) -> None:
    error = StatementFailed("no such column: spend")

    assert english_words(error.message(language)) == []
    assert "no such column: spend" in error.message(language)
    assert error.message() == "The database refused the statement: no such column: spend"


def test_english_words_are_seen() -> None:
    assert english_words("Не удалось: it is empty") == ["it", "is", "empty"]
    assert english_words("Не удалось: «it is empty», GROUP BY, DATASPHINX_URL, `select`") == []


def test_message_is_its_english_text_and_can_be_copied() -> None:
    message = Message("field_problem", field="page", reason=Message("empty"))

    assert message == "page: it is empty"
    for same in (copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert [same.in_language(language) for language in LANGUAGES] == [
            "page: it is empty",
            "page: der Inhalt ist leer",
            "page: нет содержимого",
            "page：内容为空",
        ]


def test_failure_as_json_keeps_the_reason_in_every_language() -> None:
    error = Unanswered("sql_not_generated", reason=StatementFailed(Message("division_by_zero")).as_message())
    failure = failure_of(error)

    assert failure["facts"] == {"reason": "The database refused the statement: a number was divided by zero"}
    assert type(failure["facts"]["reason"]) is str
    assert full_text(failure, "ru") == (
        "Не получилось сгенерировать SQL запрос: База данных отклонила запрос: деление на ноль"
    )
    assert str(error_of(failure)) == str(error)
    assert error_of(failure).message("zh") == error.message("zh")


def test_failure_without_messages_has_only_code_and_facts() -> None:
    assert failure_of(StatementFailed("boom")) == {
        "code": "statement_failed",
        "facts": {"reason": "boom", "kind": "other"},
    }


def test_client_sees_reasons_without_paths_in_every_language(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, edit_sources=False)
    place = Message("field_problem", field=f"{tmp_path}/secret place/pairs.jsonl", reason=Message("empty"))
    reason = Message("not_printable", error=f"{tmp_path}/x.json is bad")
    failure = client_failure(Refused("example_invalid", place=place, reason=reason), settings)

    for language in LANGUAGES:
        text = error_info(failure, language)["message"]
        assert "pairs.jsonl" in text
        assert str(tmp_path) not in text
    assert str(tmp_path) not in str(failure)


def test_message_of_an_unreadable_file_in_russian() -> None:
    error = FileUnreadable(
        "orders.xls", Message("content_differs", expected=Message("content_ole"), actual=Message("content_zip"))
    )

    assert error.message("ru").startswith(
        "Файл orders.xls не удаётся прочитать: по имени это файл OLE, а по содержимому архив ZIP."
    )
