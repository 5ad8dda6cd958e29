"""The cache of probe results."""

import json
import threading
from pathlib import Path

import pytest

from datasphinx.agent.llm.probe_result import ProbeResult, load_probe, store_probe

URL = "http://localhost:8000/v1"
RESULT = ProbeResult(
    measured_at="2026-11-22T10:00:00+00:00",
    temperature=False,
    json_schema=True,
    reasoning=("reasoning_content",),
    latency_ms=12.5,
    observations={"temperature": "Error code: 400 - Unsupported value: 'temperature'"},
)


def cache_file(folder: Path) -> Path:
    (path,) = (folder / "probes").iterdir()
    return path


def test_a_stored_result_is_loaded_for_its_endpoint_and_model_only(tmp_path: Path) -> None:
    assert load_probe(tmp_path, URL, "m") is None
    store_probe(tmp_path, URL, "m", RESULT)
    assert load_probe(tmp_path, URL, "m") == RESULT
    assert load_probe(tmp_path, URL, "n") is None
    assert load_probe(tmp_path, "http://localhost:8001/v1", "m") is None


def test_a_result_of_another_version_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store_probe(tmp_path, URL, "m", RESULT)
    monkeypatch.setattr("datasphinx.agent.llm.probe_result.package_version", lambda: "99")
    assert load_probe(tmp_path, URL, "m") is None


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": "perhaps"},
        {"observations": None},
        {"latency_ms": []},
        {"unknown_field": 1},
    ],
    ids=str,
)
def test_an_invalid_file_is_ignored(tmp_path: Path, change: dict[str, object]) -> None:
    store_probe(tmp_path, URL, "m", RESULT)
    path = cache_file(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    assert load_probe(tmp_path, URL, "m") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null"])
def test_a_damaged_file_is_ignored_and_replaced(tmp_path: Path, text: str) -> None:
    store_probe(tmp_path, URL, "m", RESULT)
    cache_file(tmp_path).write_text(text)
    assert load_probe(tmp_path, URL, "m") is None
    store_probe(tmp_path, URL, "m", RESULT)
    assert load_probe(tmp_path, URL, "m") == RESULT


def test_concurrent_writers_leave_one_complete_file(tmp_path: Path) -> None:
    threads = [threading.Thread(target=store_probe, args=(tmp_path, URL, "m", RESULT)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache_file(tmp_path).suffix == ".json"
    assert load_probe(tmp_path, URL, "m") == RESULT


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "probes").write_text("a file")
    store_probe(tmp_path, URL, "m", RESULT)
    assert load_probe(tmp_path, URL, "m") is None
