"""`datasphinx source` and `datasphinx init`, on SQLite databases."""

import json
import stat
from pathlib import Path

import pytest

from datasphinx.agent import errors
from datasphinx.agent.settings import load_settings
from tests.support.commands import Run
from tests.support.databases import make_database


@pytest.fixture
def url(tmp_path: Path) -> str:
    folder = tmp_path / "databases"
    folder.mkdir()
    statements = "CREATE TABLE books (title TEXT, shelf TEXT)", "INSERT INTO books VALUES ('Emma', 'A')"
    return f"sqlite:///{make_database(folder, *statements)}"


def test_a_source_is_added_listed_checked_and_removed(run: Run, tmp_path: Path, url: str) -> None:
    config = tmp_path / "datasphinx.toml"
    config.write_text("# mine\nrow_limit = 7\n")

    assert run("source", "add", "books", url)[0] == errors.ANSWERED
    assert load_settings().sources["books"].url.get_secret_value() == url
    assert config.read_text().startswith("# mine\nrow_limit = 7\n")
    _, out, _ = run("source", "list", "--json")
    assert json.loads(out)["sources"] == [{"name": "books", "url": url, "place": str(config)}]
    code, out, _ = run("source", "check", "books")
    assert code == errors.ANSWERED and "Readable tables and views: 1." in out
    assert run("source", "remove", "books")[0] == errors.ANSWERED
    assert load_settings().sources == {} and load_settings().row_limit == 7


def test_a_database_that_cannot_be_read_is_not_added(run: Run, tmp_path: Path) -> None:
    code, _, err = run("source", "add", "books", "sqlite:///none.db")

    assert code == errors.USAGE and "the file does not exist" in err
    assert not (tmp_path / "datasphinx.toml").exists()


def test_a_name_in_use_is_an_error(run: Run, url: str) -> None:
    run("source", "add", "books", url)

    code, _, err = run("source", "add", "books", url)

    assert code == errors.USAGE and "There is a source 'books' already" in " ".join(err.split())


def test_missing_values_are_asked_for_on_a_terminal_only(run: Run) -> None:
    code, _, err = run("source", "add")

    assert code == errors.USAGE and "Name of the source is missing" in " ".join(err.split())


def test_an_unknown_source_cannot_be_removed(run: Run, url: str) -> None:
    run("source", "add", "books", url)

    code, _, err = run("source", "remove", "boks")

    assert code == errors.USAGE and "datasphinx.toml has these sources: books" in " ".join(err.split())


def test_without_sources_the_list_says_how_to_add_one(run: Run) -> None:
    code, out, _ = run("source", "list")

    assert code == errors.ANSWERED and "datasphinx source add" in out


def test_init_writes_settings_and_creates_the_folder_of_knowledge(run: Run, tmp_path: Path, url: str) -> None:
    code, out, _ = run("init", "books", url)

    assert code == errors.ANSWERED and "written: datasphinx.toml" in out
    source = load_settings().sources["books"]
    assert source.url.get_secret_value() == url and source.knowledge == Path("knowledge/books")
    assert Path("knowledge/books").is_dir()
    code, _, err = run("init", "books", url)
    assert code == errors.USAGE and "datasphinx source add" in err


def test_a_file_with_a_password_is_private(run: Run, tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from datasphinx.agent.cli import source as module
    from datasphinx.agent.settings import SourceSettings

    def tested(name: str, url: str, allow_writable_account: bool) -> SourceSettings:
        return SourceSettings.model_validate(url)

    monkeypatch.setattr(module, "_tested", tested)

    code, _, err = run("source", "add", "shop", "postgresql://ann:secret@127.0.0.1/shop")

    assert code == errors.ANSWERED and "contains the password" in " ".join(err.split())
    assert stat.S_IMODE((tmp_path / "datasphinx.toml").stat().st_mode) == 0o600
    _, out, _ = run("source", "list")
    assert "secret" not in out


def test_other_lines_and_the_mode_of_the_file_are_kept(run: Run, tmp_path: Path, url: str) -> None:
    config = tmp_path / "datasphinx.toml"
    config.write_text('row_limit = 7 # mine\n[sources]\nold = "sqlite:///old.db" # theirs\n')
    config.chmod(0o640)

    assert run("source", "add", "books", url, "--description", 'Books, "old" ones')[0] == errors.ANSWERED

    assert config.read_text().startswith('row_limit = 7 # mine\n[sources]\nold = "sqlite:///old.db" # theirs\n')
    assert load_settings().sources["books"].description == 'Books, "old" ones'
    assert stat.S_IMODE(config.stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".datasphinx")] == []


def test_a_file_that_is_not_toml_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "datasphinx.toml").write_text("[sources\n")

    assert run("source", "remove", "books")[0] == errors.USAGE
    assert (tmp_path / "datasphinx.toml").read_text() == "[sources\n"
