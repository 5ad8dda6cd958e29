import hashlib
import lzma
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import datasphinx
from datasphinx.agent.sample import shop
from datasphinx.agent.sample.shop import build_shop, shop_path

pytestmark = pytest.mark.integration

# When the digest changes on purpose, VERSION has to rise with it: else old copies in users' caches stay in use.
CONTENT = (1, "6498a54c13fd58778e8feac23a936716311f7aa1a58c3efd5088052d8b44817f")


def digest(path: Path) -> str:
    found = hashlib.sha256()
    with closing(sqlite3.connect(path)) as opened:
        master = opened.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        found.update(repr(master).encode())
        for table in [name for kind, name, _ in master if kind == "table"]:
            for row in opened.execute(f"SELECT * FROM {table} ORDER BY 1"):
                found.update(repr(row).encode())
    return found.hexdigest()


def test_the_content_is_the_pinned_one(database: Path) -> None:
    assert (shop.VERSION, digest(database)) == CONTENT


@pytest.mark.heavy
def test_a_build_makes_its_folder_and_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "new" / "shop.sqlite"
    path.parent.mkdir()
    path.write_text("something else")
    build_shop(path)
    assert digest(path) == CONTENT[1]


def test_a_crash_in_mid_build_leaves_the_database_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shop.sqlite"
    path.write_bytes(b"the one before")
    script = tmp_path / "broken.sql.xz"
    script.write_bytes(lzma.compress(b"CREATE INDEX broken ON nowhere (nothing);"))
    monkeypatch.setattr(shop, "_SCRIPT", script)
    with pytest.raises(sqlite3.OperationalError):
        build_shop(path)
    assert path.read_bytes() == b"the one before"
    assert set(tmp_path.iterdir()) == {path, script}


def test_shop_path_builds_at_first_use_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    path = shop_path(cache)
    assert path == cache / f"shop-{shop.VERSION}.sqlite"
    assert path.is_file()
    monkeypatch.setattr(shop, "build_shop", lambda _: pytest.fail("built again"))
    assert shop_path(cache) == path


def test_another_version_is_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []
    monkeypatch.setattr(shop, "build_shop", built.append)
    shop_path(tmp_path)
    monkeypatch.setattr(shop, "VERSION", shop.VERSION + 1)
    shop_path(tmp_path)
    assert len(set(built)) == 2


def test_a_folder_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        shop_path(tmp_path / "file" / "cache")


@pytest.mark.heavy
@pytest.mark.process
def test_processes_may_build_at_once(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    code = "import sys, pathlib, datasphinx.agent.sample.shop as s; s.build_shop(pathlib.Path(sys.argv[1]))"
    root = Path(datasphinx.__file__).parents[1]
    builders = [subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=root) for _ in range(3)]
    assert [builder.wait(timeout=60) for builder in builders] == [0, 0, 0]
    assert list(tmp_path.iterdir()) == [path]
    assert digest(path) == CONTENT[1]
