"""Boards over HTTP: pinning, refreshing, schedules, bounds, export, and who may read and change them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.server.boards import ScheduledRefreshes
from datasphinx.agent.server.tenants import Tenants, open_tenant
from datasphinx.agent.storage.boards import claim_due
from tests.agent.record.stores import fresh_url
from tests.agent.server.asking import QUESTION, ROWS, query_or_finish, text_of, upload
from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.serving import ASKED, Served, serving
from tests.agent.tools.conftest import RETURNS
from tests.support.databases import change, url

COUNT = "SELECT COUNT(*) AS n FROM things"
HOUR_S = 3600


@pytest.fixture
def site(cache_dir: Path, tmp_path: Path, things: Path) -> Iterator[Served]:
    """A server over that database, whose model counts its rows."""
    answers = {"GeneratedSQL": [{"sql": COUNT}]}
    sources = {"things": {"url": url(things)}}
    with serving(cache_dir, answers, data_dir=tmp_path / "data", sources=sources) as server:
        yield server


def add_row(things: Path) -> None:
    change(things, "INSERT INTO things VALUES ('west')")


def pinned(
    server: Served, graph: str = "agent", asked: dict[str, Any] = ASKED, **headers: str
) -> tuple[str, dict[str, Any]]:
    """Ask, create a board and pin the answer; return the path of the board and the pinned answer."""
    answer = server.http.post(f"/{graph}/invoke", json={"input": asked}, headers=headers).json()["output"]
    board = server.http.post("/boards", json={"title": "Sales"}, headers=headers)
    assert board.status_code == 201, board.text
    path = f"/boards/{board.json()['id']}"
    response = pin_of(server, path, answer, **headers)
    assert response.status_code == 201, response.text
    return path, response.json()


def pin_of(server: Served, path: str, answer: dict[str, Any], **headers: str) -> httpx.Response:
    """Pin an answer to a board."""
    given = {name: answer[name] for name in ("thread_id", "run_id")}
    return server.http.post(f"{path}/pins", json=given, headers=headers)


def asked_of_file(server: Served) -> dict[str, Any]:
    """Upload the returns, and return a question about them."""
    made = upload(server, "returns.csv", RETURNS.encode()).json()
    return {"question": QUESTION, "datasets": [made["datasets"][0]["dataset_id"]]}


def test_a_pinned_answer_has_its_figure_and_is_refreshed_on_demand(site: Served, things: Path) -> None:
    path, pin = pinned(site)
    assert pin["title"] == ASKED["question"] and pin["sql"] == COUNT and pin["source"] == "things"
    assert pin["result"]["figure"] == 2 and pin["result"]["rows"] == [[2]] and pin["out_of_bounds"] is None
    calls = len(site.model.calls)
    add_row(things)
    assert site.http.get(path).json()["pins"] == [pin]
    board = site.http.post(f"{path}/refresh", json={}).json()
    assert board["pins"][0]["result"]["figure"] == 3
    assert len(site.model.calls) == calls
    # The run is on the record like any other statement.
    trace = site.http.get(f"/traces/{board['pins'][0]['result']['trace_id']}").json()
    assert trace["events"][0]["body"]["input"]["board"] == board["id"]


def test_bounds_mark_the_figure(site: Served) -> None:
    path, pin = pinned(site)
    pin_path = f"{path}/pins/{pin['id']}"
    shown = [
        site.http.patch(pin_path, json=bounds).json()["out_of_bounds"]
        for bounds in ({"lower": 2}, {"lower": 3}, {"lower": None, "upper": 1}, {"upper": 2.5}, {"upper": None})
    ]
    assert shown == [False, True, True, False, None]
    refused = site.http.patch(pin_path, json={"lower": 5, "upper": 1})
    assert (refused.status_code, refused.json()["code"]) == (422, "input_invalid")
    assert site.http.patch(pin_path, json={"title": "Things"}).json()["title"] == "Things"


def test_an_answer_that_no_longer_runs_explains_why(site: Served, things: Path) -> None:
    path, pin = pinned(site)
    change(things, "DROP TABLE things", "CREATE TABLE others (n INTEGER)")
    response = site.http.post(f"{path}/pins/{pin['id']}/refresh", json={}, headers={"Accept-Language": "ru"})
    result = response.json()["result"]
    assert result["error"]["message"] and result["figure"] is None and result["rows"] == []
    english = site.http.get(path).json()["pins"][0]["result"]["error"]
    assert english["code"] == result["error"]["code"] and english["message"] != result["error"]["message"]


def test_boards_are_renamed_and_deleted(site: Served) -> None:
    path, pin = pinned(site)
    assert site.http.patch(path, json={"title": "Things"}).json()["title"] == "Things"
    assert [board["title"] for board in site.http.get("/boards").json()["boards"]] == ["Things"]
    assert site.http.delete(f"{path}/pins/{pin['id']}").status_code == 204
    assert site.http.get(path).json()["pins"] == []
    assert site.http.delete(path).status_code == 204
    gone = site.http.get(path)
    assert (gone.status_code, gone.json()["code"]) == (404, "board_unknown")
    assert site.http.delete(f"{path}/pins/{pin['id']}").status_code == 404
    assert site.http.post("/boards", json={"title": " "}).status_code == 422


def count_or_decline(messages: list[Any]) -> dict[str, Any]:
    is_declined = "rain" in text_of(messages)
    return {"sql": "" if is_declined else COUNT, "assumptions": [], "off_topic": is_declined}


def test_only_stored_answers_with_a_statement_are_pinned(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    settings: dict[str, Any] = {"sources": {"things": {"url": url(things)}}, "data_dir": tmp_path / "data"}
    with serving(cache_dir, {"GeneratedSQL": [count_or_decline]}, **settings) as server:
        path, pin = pinned(server)
        output = server.invoke(question="Will it rain?")
        assert output["error"]
        unknown = {"thread_id": "0" * 32, "run_id": "00000000-0000-0000-0000-000000000000"}
        refusals = {"answer_not_pinnable": (422, output), "thread_unknown": (404, unknown)}
        for code, (status, run) in refusals.items():
            response = pin_of(server, path, run)
            assert (response.status_code, response.json()["code"]) == (status, code)
        assert server.http.get(path).json()["pins"] == [pin]


def test_export_as_csv_and_json(site: Served) -> None:
    path, pin = pinned(site)
    site.http.patch(f"{path}/pins/{pin['id']}", json={"upper": 1, "title": "=1+1"})
    csv = site.http.get(f"{path}/export.csv")
    header, row = csv.content.decode("utf-8-sig").splitlines()
    assert header == "title,question,figure,lower,upper,out_of_bounds,refreshed_at,error"
    assert row.startswith(f"'=1+1,{ASKED['question']},2,,1") and ",true," in row
    assert "attachment" in csv.headers["content-disposition"]
    assert site.http.get(f"{path}/export.json").json() == site.http.get(path).json()


def test_scheduled_refresh_runs_when_it_is_due(site: Served, things: Path) -> None:
    path, _ = pinned(site)
    assert site.http.patch(path, json={"schedule": "hourly"}).json()["schedule"] == "hourly"
    add_row(things)
    server = open_tenant("", site.services)
    now = [0.0]

    def figure() -> Any:
        return site.http.get(path).json()["pins"][0]["result"]["figure"]

    async def run() -> list[Any]:
        refreshes = ScheduledRefreshes(server, None, lambda: now[0])
        figures = []
        await refreshes.refresh_due()
        figures.append(figure())
        now[0] = 2 * 10**10
        await refreshes.refresh_due()
        figures.append(figure())
        add_row(things)
        await refreshes.refresh_due()
        figures.append(figure())
        now[0] += HOUR_S
        await refreshes.refresh_due()
        return [*figures, figure()]

    assert asyncio.run(run()) == [2, 3, 3, 4]
    assert site.http.patch(path, json={"schedule": None}).json()["schedule"] is None


def test_schedule_runs_in_the_background_until_the_server_stops(site: Served, things: Path) -> None:
    path, _ = pinned(site)
    site.http.patch(path, json={"schedule": "daily"})
    add_row(things)
    server = open_tenant("", site.services)

    async def run() -> None:
        async with ScheduledRefreshes(server, None, lambda: 2e10, check_s=0.01).running():
            async with asyncio.timeout(20):
                while site.http.get(path).json()["pins"][0]["result"]["figure"] != 3:
                    await asyncio.sleep(0.01)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


def test_tenants_have_their_own_boards_and_quota_applies(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    settings: dict[str, Any] = {
        "sources": {"things": {"url": url(things)}},
        "api_keys": KEYS,
        "tenants": {"acme": {"questions_per_minute": 3}, "beta": {}},
        "data_dir": tmp_path / "data",
    }
    acme, beta = {"X-API-Key": ACME}, {"X-API-Key": BETA}
    with serving(cache_dir, {"GeneratedSQL": [{"sql": COUNT}]}, **settings) as server:
        path, pin = pinned(server, **acme)
        assert server.http.get("/boards").status_code == 401
        assert server.http.get("/boards", headers=beta).json() == {"boards": []}
        for method, at in (("GET", path), ("POST", f"{path}/refresh"), ("DELETE", path), ("GET", f"{path}/export.csv")):
            assert server.http.request(method, at, headers=beta).json()["code"] == "board_unknown"
        assert server.http.post(f"{path}/pins/{pin['id']}/refresh", headers=acme).status_code == 200
        refused = server.http.post(f"{path}/refresh", headers=acme)
        assert (refused.status_code, refused.json()["code"]) == (429, "limit_reached")
        # A scheduled refresh counts too; it leaves the result as it is.
        server.http.patch(path, json={"schedule": "hourly"}, headers=acme)
        add_row(things)
        tenants = Tenants(open_tenant("", server.services))
        asyncio.run(ScheduledRefreshes(tenants._server, tenants, lambda: 2e10).refresh_due())
        assert server.http.get(path, headers=acme).json()["pins"][0]["result"]["figure"] == 2


@pytest.mark.heavy
@pytest.mark.postgres
def test_servers_with_one_database_share_boards_and_schedules(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    settings: dict[str, Any] = {"sources": {"things": {"url": url(things)}}}
    answers = {"GeneratedSQL": [{"sql": COUNT}]}
    with (
        fresh_url("postgres", tmp_path) as shared,
        serving(cache_dir, answers, threads_url=shared, data_dir=tmp_path / "one", **settings) as one,
        serving(cache_dir, answers, threads_url=shared, data_dir=tmp_path / "other", **settings) as other,
    ):
        path, pin = pinned(one)
        assert other.http.get(path).json()["pins"] == [pin]
        one.http.patch(path, json={"schedule": "hourly"})
        database = open_tenant("", other.services).boards.database
        claims = [claim_due(open_tenant("", each.services).boards.database, 2e10) for each in (one, other)]
        assert [len(each) for each in claims] == [1, 0] and not claim_due(database, 2e10)
        assert other.http.delete(path).status_code == 204
        assert one.http.get(path).status_code == 404


def test_an_answer_about_a_file_is_pinned_while_the_file_is_stored(cache_dir: Path, tmp_path: Path) -> None:
    with serving(cache_dir, {"AnalystStep": [query_or_finish]}, data_dir=tmp_path / "data") as server:
        asked = asked_of_file(server)
        answer = server.invoke("analyst", **asked)
        path, pin = pinned(server, "analyst", asked)
        assert (pin["source"], pin["datasets"]) == (None, asked["datasets"])
        assert pin["result"]["rows"] == ROWS
        server.http.delete(f"/datasets/{asked['datasets'][0]}")
        refreshed = server.http.post(f"{path}/refresh").json()["pins"][0]["result"]
        assert (refreshed["error"]["code"], refreshed["rows"]) == ("dataset_unknown", [])
        refused = pin_of(server, path, answer)
        assert (refused.status_code, refused.json()["code"]) == (422, "answer_not_pinnable")
        assert "upload the file" in refused.json()["detail"]


@pytest.mark.heavy
def test_a_pinned_answer_about_a_file_keeps_the_values_of_its_filters(cache_dir: Path, tmp_path: Path) -> None:
    def filtered(messages: list[Any]) -> dict[str, Any]:
        call = query_or_finish(messages)
        if call["tool"] == "run_query":
            where = [{"col": "账号", "op": "=", "value": "beta"}]
            call["arguments"]["query"] = {**call["arguments"]["query"], "filters": where}
        return call

    with serving(cache_dir, {"AnalystStep": [filtered]}, data_dir=tmp_path / "data") as server:
        _, pin = pinned(server, "analyst", asked_of_file(server))
    assert "'beta'" in pin["sql"]
    assert pin["result"]["error"] is None
    assert pin["result"]["rows"] == [row for row in ROWS if row[0] == "beta"]


def test_values_of_secret_columns_are_not_stored(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    sources = {"things": {"url": url(things), "secret_columns": ["things.thing"]}}
    answers = {"GeneratedSQL": [{"sql": "SELECT thing FROM things"}]}
    with serving(cache_dir, answers, sources=sources, data_dir=tmp_path / "data") as server:
        _, pin = pinned(server)
        assert pin["result"]["rows"] == [["***"], ["***"]]


def test_a_changed_row_rule_hides_results_computed_before(cache_dir: Path, tmp_path: Path, things: Path) -> None:
    settings: dict[str, Any] = {"api_keys": KEYS, "data_dir": tmp_path / "data"}
    answers, headers = {"GeneratedSQL": [{"sql": COUNT}]}, {"X-API-Key": ACME}
    rules = {"url": url(things), "row_rules": {"things": "thing = :place"}, "row_parameters": {"place": "north"}}
    with serving(cache_dir, answers, sources={"things": rules}, **settings) as server:
        path, pin = pinned(server, **headers)
        assert pin["result"]["figure"] == 1
    other = {**rules, "row_parameters": {"place": "nowhere"}}
    with serving(cache_dir, answers, sources={"things": other}, **settings) as server:
        assert server.http.get(path, headers=headers).json()["pins"][0]["result"] is None
        refreshed = server.http.post(f"{path}/refresh", headers=headers).json()
        assert refreshed["pins"][0]["result"]["figure"] == 0
    with serving(cache_dir, answers, sources={"shop": {"url": shop_url(cache_dir)}}, **settings) as server:
        refreshed = server.http.post(f"{path}/refresh", headers=headers).json()
        assert refreshed["pins"][0]["result"]["error"]["code"] == "source_not_found"
