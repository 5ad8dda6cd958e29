"""The HTTP server over real sockets on loopback: what its routes give."""

import sys
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.server.app import serve
from datasphinx.agent.settings import Settings
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.agent.walk import NODES
from tests.support.databases import make_table, url


def test_invoke_gives_the_output_as_plain_json(served: Served) -> None:
    output = served.invoke(**ASKED)
    assert output["output_type"] == "number"
    shown = {"kind": "number", "decimals": 0, "unit": ""}
    table = {"name": "result", "columns": ["orders"], "rows": [[output["value"]]], "formats": [shown], "additive": [0]}
    assert output["tables"] == [table]
    assert output["error"] is None
    assert [step["node"] for step in output["audit"]["steps"]] == NODES
    assert "result" not in output and "relevant_tables" not in output


def test_swagger_ui_is_served(served: Served) -> None:
    response = served.http.get("/docs")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/html")


def test_the_schemas_say_what_goes_in_and_comes_out(served: Served) -> None:
    schema = served.http.get("/agent/input_schema").json()
    inputs = {
        "question",
        "output_type",
        "clarify",
        "clarification_answer",
        "enable_sql_validation",
        "effort",
        "sql_only",
        "source",
    }
    assert schema["properties"].keys() == inputs | {"thread_id", "clarification", "feedback"}
    output = served.http.get("/agent/output_schema").json()["$defs"]["Reply"]
    assert {"answer", "sql", "error", "audit", "thread_id", "status"} <= output["properties"].keys()
    assert {"/agent/invoke", "/agent/batch", "/healthz"} <= served.http.get("/openapi.json").json()["paths"].keys()


def test_what_streams_is_documented_as_a_stream(served: Served) -> None:
    paths = served.http.get("/openapi.json").json()["paths"]
    said = {path: way["post"]["responses"].get("200", {}) for path, way in paths.items() if "post" in way}
    kinds = {path: list(response.get("content", ())) for path, response in said.items()}
    streams = [path for path in kinds if "/stream" in path or path.endswith(("/events", "/agui", "/report"))]
    assert len(streams) == 10
    assert {path for path, content in kinds.items() if content == ["text/event-stream"]} == set(streams)
    assert {said[path]["content"]["text/event-stream"]["schema"]["type"] for path in streams} == {"object"}
    assert not any("feedback" in path for path in paths if "threads" not in path)


def test_a_client_names_a_source_and_brings_none(cache_dir: Path, tmp_path: Path) -> None:
    path = make_table(tmp_path, "planet TEXT, moons INTEGER", [["Mars", 2]], table="planets")
    sql = {"GeneratedSQL": [{**COUNT, "sql": "SELECT moons FROM planets"}]}
    with serving(cache_dir, sql, sources={"the sky": url(path), "none": "sqlite:///none.db"}) as server:
        assert server.invoke(question="How many moons has the planet Mars?", source="the sky")["value"] == 2
        for other in ("the sea", url(path), ""):
            response = server.post("/agent/invoke", input={**ASKED, "source": other})
            assert response.status_code == 422, other


@pytest.mark.parametrize("package", ["fastapi", "python_multipart", "uvicorn"])
def test_a_missing_package_is_named_with_its_extra(
    package: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DriverMissing) as caught:
        serve(settings=settings)
    assert (caught.value.package, caught.value.extra) == (package, "serve")
    assert "pip install 'datasphinx[serve]'" in str(caught.value)


def test_serve_listens_on_loopback_by_default(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: asked.update(given))
    serve(settings=settings)
    assert (asked["host"], asked["port"]) == ("127.0.0.1", 8000)
