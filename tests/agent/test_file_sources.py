"""Sources over files in Python, on the command line, over HTTP and in replays."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.chat import Agent, NumberResponse
from datasphinx.agent.errors import SourceFilesUnreadable
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, load_settings
from tests.agent.server.serving import serving
from tests.conftest import NO_AMBIGUITY, VALID
from tests.support.commands import Run
from tests.support.fake_openai import FakeOpenAI
from tests.support.lakes import write_sales

pytestmark = pytest.mark.integration

QUESTION = "What is the total amount of the sales in the region south in 2023?"
STATEMENT = {
    "sql": "SELECT sum(amount) AS total FROM sales WHERE region = 'south' AND year = 2023",
    "assumptions": [],
    "off_topic": False,
}


@pytest.fixture
def lake(tmp_path: Path) -> dict[str, Any]:
    """Settings of a source over Parquet files with the sales of three years."""
    return {"files": [f"{write_sales(tmp_path / 'lake/sales')}/**"]}


@pytest.fixture
def settings(lake: dict[str, Any], tmp_path: Path) -> Settings:
    return load_settings(sources={"lake": lake}, cache_dir=tmp_path / "cache")


def model() -> ScriptedModel:
    answers = {"GeneratedSQL": [STATEMENT], "SQLValidation": [VALID], "AmbiguityReview": [NO_AMBIGUITY]}
    return ScriptedModel(answers)


def test_python(settings: Settings) -> None:
    response = Agent("lake", settings=settings, model=model()).chat(QUESTION)
    assert isinstance(response, NumberResponse)
    assert response.value == 21.0
    assert response.sql == STATEMENT["sql"]


@pytest.mark.heavy
def test_a_replay_reads_the_current_files(settings: Settings, tmp_path: Path) -> None:
    source = Services(settings).source("lake")
    # The values that are found for the question are those of the replay.
    assert source.background is None or source.background.wait(60)
    source.close()
    response = Agent("lake", settings=settings, model=model()).chat(QUESTION)
    store, trace_id = open_store(settings), response.audit["trace_id"]
    done = replay(store, trace_id, settings)
    assert done.differences == []
    assert done.output["value"] == 21.0

    (tmp_path / "lake/sales/year=2023/part-0.parquet").rename(tmp_path / "lake/sales/year=2023/part-1.parquet")
    assert replay(store, trace_id, settings).differences == []
    (tmp_path / "lake/sales/year=2023/part-1.parquet").write_bytes(
        (tmp_path / "lake/sales/year=2024/part-0.parquet").read_bytes()
    )
    (tmp_path / "lake/sales/year=2024/part-0.parquet").unlink()
    assert replay(store, trace_id, settings).differences == []
    (tmp_path / "lake/sales/year=2023/part-1.parquet").unlink()
    assert replay(store, trace_id, settings).differences


@pytest.fixture
def model_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        fake.configure(monkeypatch, tmp_path / "cache")
        yield fake


@pytest.mark.heavy
def test_command_line(model_server: FakeOpenAI, run: Run, lake: dict[str, Any], tmp_path: Path) -> None:
    path = lake["files"][0]
    Path("datasphinx.toml").write_text(f'[sources.lake]\nfiles = ["{path}"]\n[sources.gone]\nfiles = ["{path}/none"]\n')
    model_server.answers = [STATEMENT]
    code, out, err = run("ask", QUESTION, "--source", "lake", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["value"] == 21.0

    code, out, _ = run("source", "check", "lake")
    assert code == 0
    assert path in out
    assert "opened read-only" in out

    code, _, err = run("ask", QUESTION, "--source", "gone", "--json")
    assert code == 2


@pytest.mark.server
def test_http(settings: Settings, lake: dict[str, Any], tmp_path: Path) -> None:
    answers = {"GeneratedSQL": [STATEMENT, STATEMENT]}
    damaged = {"files": [f"{tmp_path}/lake/damaged.parquet"]}
    (tmp_path / "lake/damaged.parquet").write_bytes(b"not a Parquet file at all")
    with serving(tmp_path / "cache", answers, sources={"lake": lake, "damaged": damaged}) as server:
        sources = server.http.get("/sources").json()["sources"]
        assert [(each["name"], each["dialect"]) for each in sources] == [("lake", "duckdb"), ("damaged", "duckdb")]
        assert server.invoke(question=QUESTION, source="lake")["value"] == 21.0
        failed = server.invoke(question=QUESTION, source="damaged")
        assert failed["error"]["code"] == SourceFilesUnreadable.code
        assert str(tmp_path) not in json.dumps(failed)
