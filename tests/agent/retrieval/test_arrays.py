"""Files of arrays: read back unchanged, and refused if damaged."""

import os
from pathlib import Path

import numpy as np
import pytest

from datasphinx.agent.retrieval.arrays import READ_ERRORS, pack_json, read_arrays, unpack_json, write_arrays

ARRAYS = {
    "numbers": np.arange(1_000, dtype=np.int64),
    "none": np.zeros(0, np.int32),
    "table": np.ones((3, 4), np.float32),
    "text": pack_json({"a": ["ü", "\udcff", None, 1.5]}),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_arrays(tmp_path / "folder" / "file", ARRAYS)
    return tmp_path / "folder" / "file"


def test_what_is_written_is_read_again(path: Path) -> None:
    found = read_arrays(path)

    assert list(found) == list(ARRAYS)
    assert all(found[name].dtype == ARRAYS[name].dtype for name in ARRAYS)
    assert all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)
    assert unpack_json(found["text"]) == {"a": ["ü", "\udcff", None, 1.5]}
    assert path.stat().st_mode & 0o077 == 0
    assert list(path.parent.iterdir()) == [path]


def test_damage_anywhere_shows_at_once(path: Path) -> None:
    whole = path.read_bytes()
    for at in range(100, len(whole) - 100, 173):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            found = read_arrays(path)
        except READ_ERRORS:
            continue
        # A date or a flag of the container may differ, what it holds may not.
        assert list(found) == list(ARRAYS)
        assert all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"cos\nsystem\n(S'true'\ntR.", b"x" * 500])
def test_another_file_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(READ_ERRORS):
        read_arrays(path)


def test_a_file_that_is_cut_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for end in range(0, len(whole), 500):
        path.write_bytes(whole[:end])
        with pytest.raises(READ_ERRORS):
            read_arrays(path)


def test_objects_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "file.npz", objects=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        read_arrays(tmp_path / "file.npz")


def test_a_file_of_another_user_is_not_believed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(ValueError, match="another user"):
        read_arrays(path)


def test_a_full_disk_leaves_the_old_file_and_no_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            write_arrays(path, {"other": ARRAYS["none"]})
    assert list(read_arrays(path)) == list(ARRAYS)
    assert list(path.parent.iterdir()) == [path]
