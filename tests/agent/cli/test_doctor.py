"""`datasphinx doctor`: each problem is found and comes with its fix."""

import json
from importlib import metadata
from pathlib import Path

import pytest

from datasphinx.agent import errors
from tests.agent.llm.endpoint_behaviours import TEXT, says
from tests.support.commands import Run
from tests.support.databases import make_database, make_table, url
from tests.support.fake_openai import FakeOpenAI


def findings(run: Run) -> tuple[int, dict[str, dict[str, object]]]:
    code, out, _ = run("doctor", "--json")
    return code, {finding["name"]: finding for finding in json.loads(out)["findings"]}


@pytest.fixture
def model(model: FakeOpenAI) -> FakeOpenAI:
    """An endpoint that answers what the check of a model asks."""
    model.default = says(TEXT)
    return model


def test_all_is_well(run: Run, model: FakeOpenAI) -> None:
    code, found = findings(run)

    assert code == errors.ANSWERED and all(finding["ok"] for finding in found.values())
    assert set(found) == {
        "versions", "permissions", "model", "source sample", "store record", "store threads", "store files",
    }  # fmt: skip
    assert len(model.requests) >= 1, "the model was not called"


def test_on_a_terminal_each_check_has_a_line(run: Run, model: FakeOpenAI) -> None:
    code, out, _ = run("doctor")

    assert code == errors.ANSWERED
    assert [line.split()[0] for line in out.splitlines()] == ["ok"] * 7


def test_weights_that_are_missing_are_not_downloaded(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(tmp_path / "cache"))

    code, found = findings(run)

    assert code == errors.DOMAIN
    assert "Run: `datasphinx model pull base`" in str(found["model"]["text"])


def test_an_endpoint_that_does_not_respond(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("DATASPHINX_LLM_MODEL", "any")

    code, found = findings(run)

    assert code == errors.DOMAIN
    assert "Check DATASPHINX_LLM_BASE_URL" in str(found["model"]["text"])


def test_a_source_that_cannot_be_opened_leaves_the_others(
    run: Run, model: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = url(make_table(tmp_path, "title TEXT", [["Emma"]]))
    monkeypatch.setenv("DATASPHINX_SOURCES", json.dumps({"books": books, "gone": "sqlite:///gone.db"}))

    code, found = findings(run)

    assert code == errors.DOMAIN
    assert found["source books"]["ok"]
    assert "the file does not exist" in str(found["source gone"]["text"])


def test_mistakes_in_business_knowledge(
    run: Run, model: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_database(tmp_path, "CREATE TABLE books (title TEXT)")
    folder = tmp_path / "knowledge"
    folder.mkdir()
    (folder / "terms.yml").write_text("terms:\n  - name: novel\n    definition: a long book\n    filter: pages > 100\n")
    source = {"url": url(path), "knowledge": str(folder)}
    monkeypatch.setenv("DATASPHINX_SOURCES", json.dumps({"books": source}))

    code, found = findings(run)

    assert code == errors.DOMAIN
    assert "datasphinx knowledge check" in str(found["source books"]["text"])


@pytest.mark.heavy
def test_a_password_that_others_can_read(run: Run, model: FakeOpenAI, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("DATASPHINX_LLM_API_KEY=a-key-of-mine\n")
    (tmp_path / ".env").chmod(0o644)

    code, found = findings(run)

    assert code == errors.DOMAIN and "Run: chmod 600 .env" in str(found["permissions"]["text"])
    (tmp_path / ".env").chmod(0o600)
    assert findings(run)[1]["permissions"]["ok"]


def test_a_package_in_a_version_that_does_not_fit(run: Run, model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str, of: object = metadata.version) -> str:
        return "1.0" if name == "sqlglot" else of(name)  # type: ignore[operator]

    monkeypatch.setattr(metadata, "version", version)

    code, found = findings(run)

    assert code == errors.DOMAIN and "Run: pip install 'sqlglot==" in str(found["versions"]["text"])
