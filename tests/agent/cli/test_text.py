"""Text from databases, files and models cannot control the terminal that it is printed on."""

import json
import logging
import unicodedata
from pathlib import Path

import pytest

from datasphinx.agent import errors
from datasphinx.agent.cli.text import json_text, printable
from tests.support.commands import Run
from tests.support.databases import make_table, url
from tests.support.fake_openai import FakeOpenAI

CONTROLS = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
INVISIBLE = "\u00ad\u200b\u200d\u2028\u2029\u2060\ufeff\U000e0001\U000e0041\ud800"
HOSTILE = CONTROLS + BIDIRECTIONAL + INVISIBLE
HARMLESS = "Zoë, Анна, 优品数码, कमल, ٣, 😀 \u00a0\u3000|"


def is_hostile(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_json_escapes_what_controls_a_terminal_and_keeps_the_value() -> None:
    value = {"name" + HOSTILE: [HOSTILE, HARMLESS, None, 1.5, True]}
    text = json_text(value)
    assert not list(filter(is_hostile, text))
    assert json.loads(text) == value
    assert HARMLESS in text


def test_printable_text_keeps_lines_and_letters_alone() -> None:
    text = printable(HARMLESS + "\n" + HOSTILE.replace("\n", ""))
    assert text == HARMLESS + "\n" + " " * (len(HOSTILE) - 1)


@pytest.fixture
def notes(tmp_path: Path) -> str:
    """The URL of a database whose cells and columns control a terminal."""
    cell = HOSTILE.replace("\ud800", "").replace("\0", "")
    return url(make_table(tmp_path, '"note\x1b[2J\u202e" TEXT, amount INTEGER', [(cell, 1), (cell, 2)], table="notes"))


@pytest.mark.parametrize("as_json", [True, False])
def test_an_answer(notes: str, run: Run, model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    monkeypatch.setenv("DATASPHINX_ENABLE_SQL_VALIDATION", "false")
    model.default = {"sql": "SELECT * FROM notes", "assumptions": ["all\x9b2J\u202e"], "off_topic": False}
    code, out, err = run("ask", "List all notes\x9b2J\u202e", "--source", notes, *(["--json"] if as_json else []))
    assert code == errors.ANSWERED
    assert not [each for each in out + err if is_hostile(each) and each != "\n"]
    if as_json:
        (table,) = json.loads(out)["tables"]
        assert table["columns"] == ["note\x1b[2J\u202e", "amount"]
        assert [row[0] for row in table["rows"]] == [HOSTILE.replace("\ud800", "").replace("\0", "")] * 2


def test_an_error(run: Run) -> None:
    code, _, err = run("source", "check", "sqlite:///none\x1b[2J\x9b\u202e.db")
    assert code == errors.USAGE
    assert "none" in err and not [each for each in err if is_hostile(each) and each != "\n"]


def test_checked_statements(run: Run, tmp_path: Path) -> None:
    sql = 'SELECT 1 AS "a\x9b\u202e"'
    (tmp_path / "q.jsonl").write_text(json.dumps({"dialect": "sqlite", "sql": sql}), encoding="utf-8")
    _, out, _ = run("guard", str(tmp_path / "q.jsonl"))
    assert json.loads(out)["sql"] == sql
    assert not [each for each in out if is_hostile(each) and each != "\n"]


def test_the_log_of_a_process_that_configures_none(run: Run) -> None:
    run("--version")
    assert logging.lastResort
    record = logging.LogRecord("datasphinx", logging.WARNING, "", 1, "%s", (HOSTILE,), None)
    assert not [each for each in logging.lastResort.format(record) if is_hostile(each) and each != "\n"]
