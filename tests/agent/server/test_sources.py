"""The names of sources over HTTP: what `/sources` lists can be named everywhere, and nothing else."""

from pathlib import Path
from typing import Any

from tests.agent.server.keys import ACME, KEYS
from tests.agent.server.serving import ASKED, Served, serving
from tests.support.databases import url

COUNT_THINGS = {"sql": "SELECT COUNT(*) AS n FROM things", "assumptions": [], "off_topic": False}


def listed(server: Served, **headers: str) -> list[str]:
    return [each["name"] for each in server.http.get("/sources", headers=headers).json()["sources"]]


def test_the_sample_shop_can_be_named(served: Served) -> None:
    assert listed(served) == ["sample"]
    assert served.invoke(**ASKED, source="sample")["error"] is None
    tables = served.http.get("/sources/tables", params={"source": "sample"}).json()["tables"]
    columns = {f"{table['name']}.{column['name']}": column for table in tables for column in table["columns"]}
    assert columns["orders.order_id"]["is_key"] and not columns["orders.order_id"]["values"]
    assert columns["orders.customer_id"]["references"] == "customers.customer_id"
    assert "delivered" in columns["orders.status"]["values"] and not columns["customers.name"]["values"]
    assert "sample" in served.http.get("/agent/input_schema").text


def test_with_keys_the_sample_shop_can_be_named_too(cache_dir: Path, tmp_path: Path) -> None:
    with serving(cache_dir, api_keys=KEYS, data_dir=tmp_path / "data") as server:
        headers = {"X-API-Key": ACME}
        answers = {
            name: server.http.post("/agent/invoke", json={"input": {**ASKED, "source": name}}, headers=headers).json()[
                "output"
            ]
            for name in (*listed(server, **headers), "other")
        }
        assert '"enum":["sample"]' not in server.http.get("/openapi.json").text

    assert answers["sample"]["error"] is None
    assert answers["other"]["error"]["code"] == "source_not_found"


def test_a_default_source_without_a_name_can_be_named_as_it_is_listed(
    cache_dir: Path, tmp_path: Path, things: Path
) -> None:
    with serving(
        cache_dir, {"GeneratedSQL": [COUNT_THINGS]}, source=url(things), run_sql=True, data_dir=tmp_path / "data"
    ) as server:
        (name,) = listed(server)
        first = server.invoke(question="How many things?", source=name)
        again = server.invoke(question="How many things are there?", source=name, thread_id=first["thread_id"])
        edited = server.http.post("/sql", json={"sql": COUNT_THINGS["sql"], "source": name})
        shown = server.http.get(f"/threads/{first['thread_id']}")

    assert str(tmp_path) not in name
    assert [output["value"] for output in (first, again)] == [2, 2]
    assert edited.json()["tables"][0]["rows"] == [[2]]
    assert str(tmp_path) not in shown.text


def test_each_configured_source_is_listed_and_can_be_named_beside_a_default_one(
    cache_dir: Path, tmp_path: Path, things: Path
) -> None:
    sources: dict[str, Any] = {"first": url(things), "second": url(things)}
    with serving(
        cache_dir, {"GeneratedSQL": [COUNT_THINGS]}, sources=sources, source="second", data_dir=tmp_path / "data"
    ) as server:
        assert listed(server) == ["second", "first"]
        for name in ("first", "second"):
            assert server.invoke(question="How many things?", source=name)["value"] == 2
            for path in ("tables", "questions"):
                assert server.http.get(f"/sources/{path}", params={"source": name}).is_success
