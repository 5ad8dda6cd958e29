"""Languages: the texts that one lacks, the detection of questions, and a language that is added by its file."""

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from datasphinx.agent.formatting.filters import period_words
from datasphinx.agent.formatting.formats import format_single
from datasphinx.agent.messages import LANGUAGES, TEXTS, Language, language_of, render
from tests.support.errors import placeholders
from tests.support.generated_docs import ROOT


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated(language: Language) -> None:
    english, texts = TEXTS["en"], TEXTS[language]
    problems = {
        f"add to agent/messages/{language}.py": sorted(english.keys() - texts.keys()),
        f"remove from agent/messages/{language}.py": sorted(texts.keys() - english.keys()),
        "without a text": sorted(code for code, text in texts.items() if not text.strip()),
        "with other placeholders than in en.py": sorted(
            code for code in texts.keys() & english.keys() if placeholders(texts[code]) != placeholders(english[code])
        ),
    }

    assert {problem: codes for problem, codes in problems.items() if codes} == {}


QUESTIONS = {
    "de": """
        Wie viele Kunden gibt es?
        Umsatz pro Monat
        Was war der Umsatz im letzten Jahr?
        Die größten Kunden
        Zeige die Bestellungen nach Region als Diagramm
        Beschreibe die Daten
        Anzahl Bestellungen
        Welcher Kunde hat am meisten ausgegeben?
        Wie hoch ist der durchschnittliche Preis in products?
        Durchschnittliches Gehalt je Stellenbezeichnung
        Welches Hotel hat die schlechteste Bewertung?
        Teuerstes Zimmer?
    """,
    "en": """
        How many customers are there?
        iPhone 15 Pro sales
        Top 5 customers
        die cast orders
        World War I casualties
        region totals by customer_region
        MIT students
        Show orders of Müller und Partner
        Total Umsatz by Kunde
        List the tags
        revenue
        What was the land price?
    """,
    "ru": """
        Сколько заказов в таблице orders?
        Umsatz по месяцам: сколько?
    """,
    "zh": """
        哪个地区的销售额最高？
        orders 表有多少行
    """,
}


def test_language_of_questions() -> None:
    expected = {line.strip(): language for language, lines in QUESTIONS.items() for line in lines.strip().splitlines()}

    assert {question: language_of(question) for question in expected} == expected
    assert language_of("") == "en"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_questions_are_in_their_language(language: Language) -> None:
    measure = render("figure_count", language, table="order items", measure="")
    found = {code: render(code, language, measure=measure, group="status") for code in ("by_groups", "by_months")}

    assert {code: language_of(text) for code, text in found.items()} == dict.fromkeys(found, language)


def test_numbers_and_dates_in_german() -> None:

    assert format_single(1234.891, "de") == "1.234,891"
    assert period_words(date(2024, 3, 1), date(2024, 3, 31), "de") == "März 2024"


FRENCH = """
from datasphinx.agent.formatting.formats import format_single, joined
from datasphinx.agent.messages import LANGUAGES, language_of, render
from datasphinx.agent.server.errors import accepted_language

question = "Combien de clients y a-t-il par ville ?"
print(LANGUAGES, language_of(question), language_of("How many clients are there?"))
print(format_single(1234.5, "fr"), joined(["a", "b"], "fr"))
accepted = accepted_language({"headers": [(b"accept-language", b"fr-CA,fr;q=0.9")]})
print(accepted, render("no_rows", language_of(question)))
"""


@pytest.mark.heavy
@pytest.mark.process
def test_one_file_adds_a_language(tmp_path: Path) -> None:
    """The package is mirrored by links, so that the added file is its only difference."""
    folders = ("datasphinx", "agent", "agent/messages")
    for folder in folders:
        (tmp_path / folder).mkdir()
        for entry in (ROOT / folder).iterdir():
            if f"{folder}/{entry.name}" not in folders and entry.name != "__pycache__":
                target = Path("..", entry.name) if entry.is_symlink() else entry
                (tmp_path / folder / entry.name).symlink_to(target)
    for folder in ("nodes", "prompts"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    english = (ROOT / "agent/messages/en.py").read_text(encoding="utf-8")
    french = english.replace('grouping=","', 'grouping="\\u202f"').replace('decimal="."', 'decimal=","')
    french = french.replace("The query found no rows.", "La requête n'a trouvé aucune ligne.").replace(
        "} and {", "} et {"
    )
    (tmp_path / "agent/messages/fr.py").write_text(french, encoding="utf-8")

    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", FRENCH],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{('en', *sorted({*LANGUAGES, 'fr'} - {'en'}))} fr en",
        "1\u202f234,5 a et b",
        "fr La requête n'a trouvé aucune ligne.",
    ]
