"""Entries added to knowledge files: everything else in the file stays as it is."""

from pathlib import Path

import pytest

from datasphinx.agent.errors import Unavailable
from datasphinx.agent.knowledge.entries import VerifiedEntry
from datasphinx.agent.knowledge.folder import read_folder
from datasphinx.agent.knowledge.writing import add_entry, set_label
from tests.support.errors import of_code

ENTRY = {"question": "How many: 5 or #6?", "sql": "SELECT '2024' AS n\nFROM orders -- all", "author": "no"}
FILES = {
    "": 2,
    "# only a comment": 4,
    "metrics:\n  a: {expression: SUM(t.x)}\n": 5,
    "# first\nverified: # ours\n  # the count\n  - question: q\n    sql: |\n      SELECT 1\n      # no comment\n\n"
    "# the terms\nterms: {}\n# end\n": 8,
    "verified:\n- question: q\n  sql: SELECT 1\n": 4,
    "verified:\nterms: {}\n": 2,
    "verified:\n    - {question: q, sql: SELECT 1}\n\n\n# end": 3,
}


def test_entry_is_added_and_the_rest_stays(tmp_path: Path) -> None:
    for text, line in FILES.items():
        folder = tmp_path / str(line) / str(len(text))
        folder.mkdir(parents=True)
        path = folder / "verified.yml"
        path.write_text(text)
        path.chmod(0o640)
        assert add_entry(path, "verified", ENTRY) == line, text
        changed = path.read_text()
        added = changed.splitlines()[line - 1]
        assert added.lstrip().startswith("- question:"), changed
        kept = iter(changed.splitlines())
        assert all(any(each == old for each in kept) for old in text.splitlines()), changed
        item = next(item for item in read_folder(folder, "k").items if item.name == ENTRY["question"])
        assert isinstance(item.entry, VerifiedEntry)
        assert {name: getattr(item.entry, name) for name in ENTRY} == ENTRY
        assert str(item.place) == f"k/verified.yml:{line}"
        assert path.stat().st_mode & 0o777 == 0o640
        assert [each.name for each in folder.iterdir()] == ["verified.yml"]


def test_file_is_created_in_a_new_folder(tmp_path: Path) -> None:
    path = tmp_path / "knowledge" / "choices.yml"

    assert add_entry(path, "choices", {"sales": "net sales"}) == 2
    assert add_entry(path, "choices", {"region": "sales region"}) == 3
    assert path.read_text() == "choices:\n  sales: net sales\n  region: sales region\n"


@pytest.mark.parametrize(
    "text", ["verified: [{question: q, sql: s}]\n", "{}\n", "[a]\n", "verified: &x []\n", "a: [\n"]
)
def test_part_that_cannot_be_extended_is_left_unchanged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "verified.yml"
    path.write_text(text)

    with pytest.raises(Unavailable, check=of_code("knowledge_not_writable")):
        add_entry(path, "verified", ENTRY)
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["", "tables:\n", "tables:\n  orders: {columns: {channel: }}\n"])
def test_a_label_is_set_where_a_part_of_its_place_is_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / "codes.yml"
    path.write_text(text, encoding="utf-8")

    set_label(path, ("orders", "channel"), "W", "web")

    (item,) = (each for each in read_folder(tmp_path, "k").items if each.kind == "column")
    assert (item.name, item.entry.labels) == ("orders.channel", {"W": ("web",)})  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["- orders\n", "tables: [orders]\n", "tables: {orders: {columns: text}}\n"])
def test_a_file_of_another_form_is_left_unchanged_by_a_label(tmp_path: Path, text: str) -> None:
    path = tmp_path / "codes.yml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(Unavailable, check=of_code("knowledge_not_writable")):
        set_label(path, ("orders", "channel"), "W", "web")
    assert path.read_text(encoding="utf-8") == text
