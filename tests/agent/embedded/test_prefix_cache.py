import os
from collections.abc import Callable
from pathlib import Path

import pytest

from datasphinx.agent.embedded.prefix_cache import PrefixCache

STATE = b"state of the model" * 100


class Slot:
    """The actions of a server that saves `STATE` and keeps a list of what it restored."""

    def __init__(self, folder: Path, fails: bool = False) -> None:
        self.folder, self.fails, self.restored = folder, fails, list[bytes]()

    def __call__(self, action: str, file_name: str) -> bool:
        if action == "save":
            (self.folder / file_name).write_bytes(STATE)
        else:
            self.restored.append((self.folder / file_name).read_bytes())
        return not self.fails


def refuse(action: str, file_name: str) -> bool:
    raise AssertionError(f"{action} {file_name}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prompts"


@pytest.fixture
def cache(folder: Path) -> PrefixCache:
    return PrefixCache(folder, "model", None)


def test_a_state_is_restored_by_a_later_process(cache: PrefixCache, folder: Path) -> None:
    slot = Slot(folder)
    cache.save("shop(id)", slot)

    assert PrefixCache(folder, "model", None).restore("shop(id)", slot)
    assert slot.restored == [STATE]
    (path,) = folder.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


def test_only_the_same_prefix_model_and_adapter_restore_it(cache: PrefixCache, folder: Path, tmp_path: Path) -> None:
    adapters = [tmp_path / "one", tmp_path / "two"]
    for adapter in adapters:
        adapter.write_bytes(adapter.name.encode())
    PrefixCache(folder, "model", adapters[0]).save("shop(id)", Slot(folder))

    assert not PrefixCache(folder, "model", adapters[0]).restore("shop(id, name)", refuse)
    assert not PrefixCache(folder, "another model", adapters[0]).restore("shop(id)", refuse)
    assert not PrefixCache(folder, "model", adapters[1]).restore("shop(id)", refuse)
    assert not cache.restore("shop(id)", refuse)


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda content: b"", lambda content: b"x" + content[1:]]
)
def test_a_damaged_file_is_deleted_and_not_read(
    cache: PrefixCache, folder: Path, damage: Callable[[bytes], bytes]
) -> None:
    cache.save("shop(id)", Slot(folder))
    (path,) = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))

    assert not cache.restore("shop(id)", refuse)
    assert list(folder.iterdir()) == []


def test_a_state_that_the_server_rejects_is_deleted(cache: PrefixCache, folder: Path) -> None:
    cache.save("shop(id)", Slot(folder))

    assert not cache.restore("shop(id)", Slot(folder, fails=True))
    assert list(folder.iterdir()) == []


def test_a_failed_save_leaves_nothing(cache: PrefixCache, folder: Path) -> None:
    cache.save("shop(id)", Slot(folder, fails=True))

    assert list(folder.iterdir()) == []


def test_the_least_recently_used_states_are_deleted(folder: Path) -> None:
    cache, slot = PrefixCache(folder, "model", None, max_bytes=2 * len(STATE)), Slot(folder)
    for number, prefix in enumerate(("a", "b")):
        cache.save(prefix, slot)
        (path,) = [path for path in folder.iterdir() if path.stat().st_mtime > 1000]
        os.utime(path, (number, number))
    assert cache.restore("a", slot)
    cache.save("c", slot)

    assert [prefix for prefix in "abc" if cache.restore(prefix, slot)] == ["a", "c"]


def test_without_a_folder_nothing_is_cached(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = PrefixCache(tmp_path / "file", "model", None)

    cache.save("shop(id)", refuse)
    assert not cache.restore("shop(id)", refuse)
