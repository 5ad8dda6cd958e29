"""The cache of what models can do."""

import json
import threading
from pathlib import Path

import pytest

from datasphinx.agent.llm.ability import Ability, load_ability, store_ability

URL = "http://localhost:8000/v1"
RESULT = Ability(measured_at="2026-11-22T10:00:00+00:00", handles_json=True, words_answers=False)


def cache_file(folder: Path) -> Path:
    (path,) = (folder / "abilities").iterdir()
    return path


def test_a_stored_result_is_loaded_for_its_endpoint_and_model_only(tmp_path: Path) -> None:
    assert load_ability(tmp_path, URL, "m") is None
    store_ability(tmp_path, URL, "m", RESULT)
    assert load_ability(tmp_path, URL, "m") == RESULT
    assert load_ability(tmp_path, URL, "n") is None
    assert load_ability(tmp_path, "http://localhost:8001/v1", "m") is None


def test_a_result_of_another_version_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_ability(tmp_path, URL, "m", RESULT)
    monkeypatch.setattr("datasphinx.agent.llm.ability.package_version", lambda: "99")
    assert load_ability(tmp_path, URL, "m") is None


@pytest.mark.parametrize("change", [{"handles_json": "perhaps"}, {"unknown_field": 1}], ids=str)
def test_an_invalid_file_is_ignored(tmp_path: Path, change: dict[str, object]) -> None:
    store_ability(tmp_path, URL, "m", RESULT)
    path = cache_file(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert load_ability(tmp_path, URL, "m") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null"])
def test_a_damaged_file_is_ignored_and_replaced(tmp_path: Path, text: str) -> None:
    store_ability(tmp_path, URL, "m", RESULT)
    cache_file(tmp_path).write_text(text)
    assert load_ability(tmp_path, URL, "m") is None
    store_ability(tmp_path, URL, "m", RESULT)
    assert load_ability(tmp_path, URL, "m") == RESULT


def test_concurrent_writers_leave_one_complete_file(tmp_path: Path) -> None:
    threads = [threading.Thread(target=store_ability, args=(tmp_path, URL, "m", RESULT)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache_file(tmp_path).suffix == ".json"
    assert load_ability(tmp_path, URL, "m") == RESULT


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "abilities").write_text("a file")
    store_ability(tmp_path, URL, "m", RESULT)
    assert load_ability(tmp_path, URL, "m") is None
