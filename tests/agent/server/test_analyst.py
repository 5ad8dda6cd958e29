"""The analyst over HTTP: datasets are asked by their ids, and nothing else on the machine is read."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import Keep
from tests.agent.server.asking import QUESTION, ROWS, query_or_finish, text_of
from tests.agent.server.serving import Served, serving
from tests.agent.tools.conftest import RETURNS
from tests.support.databases import make_database

ROUTES = ["invoke", "batch", "stream", "stream_events"]


# The model asks for the returns by account.
ANSWERS = {"AnalystStep": [query_or_finish]}


@pytest.fixture
def kept(keep: Keep) -> Callable[[Served], str]:
    """Keeps the returns where a server looks, unless they are there, and gives their id."""

    def keep_once(server: Served) -> str:
        made = server.services.registry.datasets()
        return made[0].dataset_id if made else keep(server.services.settings.data_dir, "returns.csv", RETURNS)

    return keep_once


@pytest.fixture
def asked(served: Served, kept: Callable[[Served], str]) -> dict[str, Any]:
    return {"question": QUESTION, "datasets": [kept(served)]}


def test_invoke_answers_from_a_dataset(served: Served, asked: dict[str, Any]) -> None:
    output = served.invoke("analyst", **asked)
    assert output["error"] is None
    (table,) = output["tables"]
    assert (table["name"], table["columns"], table["rows"]) == ("r1", ["账号", "returns"], ROWS)
    assert [each["kind"] for each in table["formats"]] == ["text", "number"]
    assert output["answer"] == "beta has 70, alpha 30."
    assert [step.get("tool") for step in output["audit"]["steps"] if "tool" in step] == ["get_schema", "run_query"]
    assert "observations" not in output and "results" not in output


def test_the_schemas_say_what_goes_in_and_comes_out(served: Served) -> None:
    schema = served.http.get("/analyst/input_schema").json()
    inputs = {"question", "datasets", "output_type", "clarify", "clarification_answer"}
    assert schema["properties"].keys() == inputs | {"source", "thread_id", "clarification"}
    output = served.http.get("/analyst/output_schema").json()["$defs"]["Reply"]
    assert {"answer", "charts", "clarification", "audit", "thread_id", "status"} <= output["properties"].keys()
    paths = served.http.get("/openapi.json").json()["paths"].keys()
    assert {"/analyst/invoke", "/analyst/batch", "/analyst/stream", "/agent/invoke"} <= paths


SHOES = {"group_by": ["kind"], "aggregations": [{"as": "pairs", "agg": "sum", "col": "pairs"}]}


@pytest.fixture(scope="module")
def server_with_source(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a configured source, whose model asks for its shoes by kind."""

    def query_shoes(messages: list[Any]) -> dict[str, Any]:
        if '"r1"' in text_of(messages):
            return {"tool": "finish", "arguments": {"answer": ""}}
        return {"tool": "run_query", "arguments": {"dataset_id": "shoes", "query": SHOES}}

    folder = tmp_path_factory.mktemp("shoes")
    database = make_database(
        folder, "CREATE TABLE shoes (kind TEXT, pairs INTEGER)", "INSERT INTO shoes VALUES ('boot', 3), ('clog', 4)"
    )
    given = {"sources": {"the shop": f"sqlite:///{database}"}, "data_dir": folder / "data"}
    with serving(cache_dir, {"AnalystStep": [query_shoes]}, **given) as server:
        yield server


@pytest.fixture
def with_source(server_with_source: Served) -> Served:
    """The server with a source, as if its model had not been called."""
    server_with_source.model.calls.clear()
    return server_with_source


def test_a_configured_source_is_asked_by_its_name(with_source: Served) -> None:
    output = with_source.invoke("analyst", question="How many pairs of each kind?", source="the shop")
    assert (output["error"], output["value"]["rows"]) == (None, [["boot", 3], ["clog", 4]])
    schema = with_source.http.get("/analyst/input_schema").json()
    assert "the shop" in json.dumps(schema["properties"]["source"])


def test_datasets_are_asked_where_a_source_is_configured_too(
    with_source: Served, kept: Callable[[Served], str]
) -> None:
    dataset_id = kept(with_source)
    both = {"question": QUESTION, "datasets": [dataset_id], "source": "the shop"}
    assert with_source.invoke("analyst", **both)["error"]["code"] == "sources_not_together"
    assert with_source.invoke("analyst", question=QUESTION)["error"]["code"] == "data_missing"
    assert with_source.post("/analyst/invoke", input={"question": QUESTION, "datasets": [dataset_id]}).is_success


@pytest.mark.parametrize("route", ROUTES)
def test_no_other_database_is_reached(with_source: Served, tmp_path: Path, route: str) -> None:
    for other in (f"sqlite:///{tmp_path}/shop.sqlite", "sqlite://", "sample", "the  shop", "", ["the shop"], 1):
        given = {"question": QUESTION, "source": other}
        body = {"inputs": [given]} if route == "batch" else {"input": given}
        assert with_source.post(f"/analyst/{route}", **body).status_code == 422, other
    assert with_source.model.calls == []


# What a client cannot do


@pytest.mark.parametrize("route", ROUTES)
def test_no_file_is_read_by_its_path(served: Served, asked: dict[str, Any], tmp_path: Path, route: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nswordfish\n", encoding="utf-8")
    file_id = served.services.registry.add_file(secret)
    known = asked["datasets"][0]
    wrong: list[dict[str, Any]] = [
        {"question": QUESTION, "files": [str(secret)]},
        {**asked, "files": [str(secret)]},
        {**asked, "files": [file_id]},
        {**asked, "files": []},
        {**asked, "files": None},
        *(
            {**asked, "datasets": datasets}
            for datasets in (
                [], known, [str(secret)], [file_id], [f"../{known}"], [known + "\n"], [known.upper()],
                [known, ""], [None], [known] * 21,
            )
        ),
    ]  # fmt: skip
    for given in wrong:
        body = {"inputs": [asked, given]} if route == "batch" else {"input": given}
        response = served.post(f"/analyst/{route}", **body)
        assert response.status_code == 422, given
        assert "swordfish" not in response.text and str(secret) not in response.text
    assert served.model.calls == []


def test_the_sql_agent_takes_no_datasets(served: Served, asked: dict[str, Any]) -> None:
    assert served.post("/agent/invoke", input=asked).status_code == 422


def test_the_model_cannot_make_a_dataset_of_another_file(
    cache_dir: Path, tmp_path: Path, kept: Callable[[Served], str]
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nswordfish\n", encoding="utf-8")

    def reach_out(messages: list[Any]) -> dict[str, Any]:
        if "there is no such file" in text_of(messages):
            return {"tool": "finish", "arguments": {"cannot_answer": "no"}}
        return {"tool": "create_dataset", "arguments": {"file_id": str(secret)}}

    with serving(cache_dir, {"AnalystStep": [reach_out] * 3}) as server:
        output = server.invoke("analyst", question=QUESTION, datasets=[kept(server)])
    (refused,) = [step for step in output["audit"]["steps"] if step.get("tool") == "create_dataset"]
    assert "there is no such file" in refused["error"]
    assert "swordfish" not in json.dumps(output)
