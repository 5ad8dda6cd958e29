"""SECURITY.md names modules, documents and tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_guarantee_names_a_test_that_exists() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| guarantee")]
    named = [re.findall(r"`(tests/[\w/]+\.py)`", row) for row in rows]

    assert len(rows) > 10
    assert [row for row, tests in zip(rows, named, strict=True) if not tests] == []
    assert [test for tests in named for test in tests if not (ROOT / test).is_file()] == []


def test_every_module_and_document_that_it_names_exists() -> None:
    paths = re.findall(r"`(agent/[\w/.]+)`", TEXT) + re.findall(r"\]\(([\w/]+\.md)", TEXT)

    assert [path for path in paths if not (ROOT / path).exists()] == []
