"""Statements that users edit, over HTTP: execution, limits, isolation, the record, and their proposals."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.conversation.threads import open_threads
from datasphinx.agent.messages import Message
from datasphinx.agent.server.keys import hash_of
from tests.agent.server.keys import OTHER, REVIEWED_KEYS, REVIEWER, USER, request
from tests.agent.server.serving import COUNT, Served, serving
from tests.agent.walk import correction
from tests.conftest import VALID
from tests.support.databases import make_table, url

ROWS = [["north", "a@x"], ["south", "b@x"], ["north", "c@x"]]
NORTH = "SELECT area FROM things ORDER BY area"


@pytest.fixture(scope="module")
def site(cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with two tenants; the rows of the first are restricted, and its source has a knowledge folder."""
    folder = tmp_path_factory.mktemp("sql")
    things = make_table(folder, "area TEXT, email TEXT", ROWS)
    (folder / "knowledge").mkdir()
    rules = {"things": "area = :area"}
    settings: dict[str, Any] = {
        "run_sql": True,
        "sources": {
            "shop": {"url": url(things), "knowledge": str(folder / "knowledge"), "row_rules": rules},
            "plain": {"url": url(things)},
        },
        "api_keys": REVIEWED_KEYS,
        "review_keys": [hash_of(REVIEWER)],
        "tenants": {
            "acme": {"sources": ["shop"], "row_parameters": {"area": "north"}},
            "beta": {"sources": ["plain"], "questions_per_minute": 2},
        },
        "record_url": f"sqlite:///{folder / 'record.sqlite'}",
        "data_dir": folder / "data",
    }
    with serving(cache_dir, **settings) as server:
        yield server


def test_statement_runs_with_row_rules_and_is_marked_on_the_record(site: Served) -> None:
    trace = "0" * 32
    status, result = request(site, USER, "/sql", {"sql": NORTH, "source": "shop", "trace_id": trace})
    assert (status, result["tables"][0]["rows"], result["truncated"]) == (200, [["north"], ["north"]], False)
    assert result["edited_by_hand"] is True and result["sql"] == NORTH

    _, recorded = request(site, USER, f"/traces/{result['audit']['trace_id']}")
    (begin, *_, output) = [event["body"] for event in recorded["events"]]
    assert begin["input"] == {"sql": NORTH, "source": "shop", "origin": "edited_by_hand", "edited_trace": trace}
    assert output["sql"] == NORTH
    assert request(site, OTHER, f"/traces/{result['audit']['trace_id']}")[0] == 404


def test_the_result_says_what_to_know_about_its_figures(site: Served) -> None:
    sql = "SELECT COUNT(email) / COUNT(*) FROM things"
    _, result = request(site, USER, "/sql", {"sql": sql, "source": "shop"})
    finding = Message("fraction_cut", value="COUNT(things.email) / COUNT(*)").in_language("en")
    assert result["answer"].endswith(f"Please note: {finding}.")
    assert "Please note" not in request(site, USER, "/sql", {"sql": NORTH, "source": "shop"})[1]["answer"]


def test_dates_that_the_database_computes_are_filters(site: Served) -> None:
    sql = "SELECT COUNT(*) FROM things WHERE area > date('2025-03-31', '-12 months')"
    _, result = request(site, USER, "/sql", {"sql": sql, "source": "shop"})

    assert result["filters"] == ["area > Mar 31, 2024"]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("DELETE FROM things", "statement_refused"),
        ("SELECT 1; SELECT 2", "statement_refused"),
        ("SELECT nothing FROM things", "names_unknown"),
        ("SELECT name FROM sqlite_master", "statement_refused"),
    ],
)
def test_guard_refuses_statements(site: Served, sql: str, code: str) -> None:
    status, problem = request(site, USER, "/sql", {"sql": sql})

    assert (status, problem["code"]) == (422, code)


def test_sources_of_other_tenants_are_unknown(site: Served) -> None:
    for path, body in (("/sql", {"sql": NORTH, "source": "plain"}), ("/sql/schema?source=plain", None)):
        status, problem = request(site, USER, path, body)
        assert problem["code"] == "source_not_found", (path, status)


def test_statements_need_a_key_and_count_as_questions(site: Served) -> None:
    assert request(site, "", "/sql", {"sql": NORTH})[0] == 401
    statuses = [request(site, OTHER, "/sql", {"sql": NORTH})[0] for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_schema_names_the_columns(site: Served) -> None:
    things = {"schema": None, "name": "things", "columns": ["area", "email"]}

    assert request(site, USER, "/sql/schema") == (200, {"dialect": "sqlite", "tables": [things]})


def test_edited_statement_is_proposed_and_accepted(site: Served) -> None:
    body = {"sql": NORTH, "source": "shop", "question": "Which areas are there?"}
    status, proposal = request(site, USER, "/sql/proposals", body)
    assert (status, proposal["origin"], proposal["status"]) == (201, "edited_statement", "open")
    assert request(site, USER, "/sql/proposals", body)[1] == proposal

    status, accepted = request(site, REVIEWER, f"/proposals/{proposal['id']}/accept", {"author": "Ann"})
    assert (status, accepted["place"]) == (200, "knowledge/verified.yml:2")
    _, answered = request(site, USER, "/agent/invoke", {"input": {"question": "Which areas are there"}})
    assert answered["output"]["verified"]["author"] == "Ann"
    assert answered["output"]["tables"][0]["rows"] == [["north"], ["north"]]


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"sql": "DROP TABLE things"}, "statement_refused"), ({"question": "?!"}, "example_invalid")],
)
def test_what_cannot_be_proposed(site: Served, changes: dict[str, str], code: str) -> None:
    body = {"sql": NORTH, "source": "shop", "question": "Areas?", **changes}

    assert request(site, USER, "/sql/proposals", body)[1]["code"] == code


@pytest.mark.parametrize("settings", [{"api_keys": {"acme": hash_of(USER)}}, {"run_sql": False}])
def test_there_is_no_route_with_keys_and_where_it_is_switched_off(cache_dir: Path, settings: dict[str, Any]) -> None:
    with serving(cache_dir, **settings) as server:
        headers = {"Authorization": f"Bearer {USER}"} if "api_keys" in settings else {}
        assert server.http.get("/sources", headers=headers).json()["may_run_sql"] is False
        assert server.http.post("/sql", json={"sql": "SELECT 1"}, headers=headers).status_code == 404
        assert server.http.get("/sql/schema", headers=headers).status_code == 404


def test_a_private_server_runs_statements_each_an_answer_of_a_new_conversation(served: Served) -> None:
    assert served.http.get("/sources").json()["may_run_sql"] is True
    sql = "SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY n DESC"
    ran, other = (served.http.post("/sql", json={"sql": each}).json() for each in (sql, "SELECT 1"))
    path = f"/threads/{ran['thread_id']}"
    assert served.http.get(f"{path}/runs/{ran['run_id']}/chart").json()["chart"]["type"] == "bar"
    assert [run["said"] for run in served.http.get(f"{path}/history").json()["runs"]] == [{"question": sql}]
    assert other["thread_id"] != ran["thread_id"]


def test_an_edited_statement_is_an_answer_of_its_conversation(cache_dir: Path, tmp_path: Path) -> None:
    with serving(cache_dir, data_dir=tmp_path) as server:
        http = server.http
        thread = server.invoke(question="How many orders by status?")["thread_id"]
        sql = "SELECT status, COUNT(*) AS n FROM orders GROUP BY status ORDER BY n DESC"
        sent = {"sql": sql, "question": "Orders by status", "thread_id": thread}
        ran = http.post("/sql", json=sent).json()
        assert ran["thread_id"] == thread and ran["answer"].startswith("| Status | n |")
        assert [step["node"] for step in ran["audit"]["steps"]] == ["run_sql"] and ran["audit"]["recorded"]

        path = f"/threads/{thread}/runs/{ran['run_id']}"
        assert http.get(path).json() == {name: ran[name] for name in ran.keys() - {"truncated", "edited_by_hand"}}
        assert [run["said"] for run in http.get(f"/threads/{thread}/history").json()["runs"]] == [
            {"question": "Orders by status"},
            {"question": "How many orders by status?"},
        ]
        assert http.get(f"{path}/chart").json()["chart"]["type"] == "bar"
        assert http.get(f"{path}/tables/1.csv").text.startswith("\ufeffstatus,n")
        board = http.post("/boards", json={"title": "Orders"}).json()["id"]
        pinned = http.post(f"/boards/{board}/pins", json={"thread_id": thread, "run_id": ran["run_id"]})
        assert (pinned.status_code, pinned.json()["title"]) == (201, "Orders by status")

        assert server.invoke(question="And today?", thread_id=thread)["error"] is None
        assert f"Its query: {sql}" in server.model.calls[-1].prompt
        lost = http.post("/sql", json={**sent, "thread_id": "0" * 32}).json()
        assert lost["code"] == "thread_unknown"


def test_an_alternative_answers_the_question_of_its_draft(cache_dir: Path, tmp_path: Path) -> None:
    total = "SELECT SUM(total_amount) AS revenue FROM orders"
    other = "SELECT AVG(total_amount) AS revenue FROM orders"
    asked, comment = "What is the revenue?", "of all orders"
    answers = {"GeneratedSQL": [COUNT, {"sql": total}], "SQLValidation": [VALID, correction(other)]}
    with serving(cache_dir, answers, data_dir=tmp_path, enable_sql_validation=True) as server:
        thread = server.invoke(question=asked)["thread_id"]
        draft = server.invoke(thread_id=thread, feedback={"accepted": False, "comment": comment})
        (alternative,) = draft["alternatives"]
        said = f"Not what I meant: {comment}"
        sent = {"sql": alternative["sql"], "question": said, "thread_id": thread}
        assert server.http.post("/sql", json=sent).json()["chosen"] is True

        server.invoke(thread_id=thread, feedback={"accepted": False})
        prompt = next(each.prompt for each in reversed(server.model.calls) if f"Question: {asked}" in each.prompt)
        assert comment in prompt and said not in prompt and alternative["sql"] in prompt


@pytest.mark.parametrize("is_named", [False, True])
def test_an_edited_statement_on_a_default_source_is_followed_as_one_of_it(
    cache_dir: Path, tmp_path: Path, is_named: bool
) -> None:
    things = url(make_table(tmp_path, "area TEXT", [["north"], ["south"]]))
    count = {"sql": "SELECT COUNT(*) AS n FROM things"}
    with serving(cache_dir, {"GeneratedSQL": [count]}, source=things, run_sql=True, data_dir=tmp_path) as server:
        (source,) = server.http.get("/sources").json()["sources"]
        given = {"source": source["name"]} if is_named else {}
        thread = server.invoke(question="How many things?", **given)["thread_id"]
        server.http.post("/sql", json={"sql": NORTH, "question": "Which areas?", "thread_id": thread, **given})
        assert server.invoke(question="And how many?", thread_id=thread)["error"] is None
        assert "The last question: Which areas?" in server.model.calls[-1].prompt
        assert str(tmp_path) not in server.http.get(f"/threads/{thread}").text


def test_a_statement_is_no_answer_of_a_conversation_of_another_tenant(cache_dir: Path, tmp_path: Path) -> None:
    keys = {"acme": hash_of(USER), "beta": hash_of(OTHER)}
    with serving(cache_dir, run_sql=True, api_keys=keys, data_dir=tmp_path) as server:
        asked = request(server, USER, "/agent/invoke", {"input": {"question": "How many orders?"}})[1]["output"]
        sent = {"sql": "SELECT 1", "thread_id": asked["thread_id"]}
        status, problem = request(server, OTHER, "/sql", sent)
        assert (status, problem["code"]) == (404, "thread_unknown")
        assert len(request(server, USER, f"/threads/{asked['thread_id']}/history")[1]["runs"]) == 1
        assert request(server, OTHER, "/threads")[1]["threads"] == []


def test_a_conversation_with_a_running_question_gets_no_other_answer(cache_dir: Path, tmp_path: Path) -> None:
    with serving(cache_dir, data_dir=tmp_path) as server:
        thread = server.invoke(question="How many orders?")["thread_id"]
        threads = open_threads(server.services.settings)
        with threads.lock(threads.key("agent", thread)):
            busy = server.http.post("/sql", json={"sql": "SELECT 1", "thread_id": thread})
        assert (busy.status_code, busy.json()["code"]) == (409, "thread_busy")
        assert len(server.http.get(f"/threads/{thread}/history").json()["runs"]) == 1


@pytest.mark.heavy
def test_a_statement_is_a_title_is_cut_in_prompts_and_is_pinned_without_the_folder(
    cache_dir: Path, tmp_path: Path
) -> None:
    books = make_table(tmp_path, "title TEXT", [["Emma"]], table="books")
    counted = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS n FROM books", "assumptions": [], "off_topic": False}]}
    with serving(cache_dir, counted, source=url(books), data_dir=tmp_path / "data") as server:
        (source,) = server.http.get("/sources").json()["sources"]
        thread = server.invoke(question="How many books?")["thread_id"]
        columns = ", ".join(f"title AS column_{number}" for number in range(300))
        sent = {"sql": f"SELECT {columns} FROM books", "source": source["name"], "thread_id": thread}
        ran = server.http.post("/sql", json=sent).json()
        assert server.http.get("/threads").json()["threads"][0]["title"].startswith("SELECT title AS column_0")

        server.invoke(question="And the first?", thread_id=thread)
        prompt = server.model.calls[-1].prompt
        assert "column_0" in prompt and "column_299" not in prompt
        board = server.http.post("/boards", json={"title": "Books"}).json()["id"]
        pinned = server.http.post(f"/boards/{board}/pins", json={"thread_id": thread, "run_id": ran["run_id"]}).json()
        assert (pinned["source"], pinned["result"]["error"]) == (source["name"], None)


def test_charts_are_those_of_the_source_of_the_statement(cache_dir: Path, tmp_path: Path) -> None:
    codes = make_table(tmp_path, "code INT, amount INT", [[17, 9], [5, 7], [9, 4], [12, 2]])
    sources = {"lost": {"url": f"sqlite:///{tmp_path}/lost.sqlite"}, "codes": {"url": url(codes)}}
    sql = "SELECT code AS c, SUM(amount) AS total FROM things GROUP BY code ORDER BY total DESC"
    written = {"GeneratedSQL": [{"sql": sql, "assumptions": [], "off_topic": False}]}
    with serving(cache_dir, written, sources=sources, data_dir=tmp_path / "data") as server:
        asked = server.invoke(question="What is the total by code?", source="codes")
        chart = server.http.get(f"/threads/{asked['thread_id']}/runs/{asked['run_id']}/chart").json()
        assert chart["spec"]["chart_type"] == "bar"
        ran = server.http.post("/sql", json={"sql": sql, "source": "codes"}).json()
        path = f"/threads/{ran['thread_id']}/runs/{ran['run_id']}/chart"
        assert server.http.get(path).json()["spec"]["chart_type"] == "bar"


@pytest.mark.heavy
def test_a_source_without_knowledge_has_no_proposals(cache_dir: Path, tmp_path: Path) -> None:
    with serving(cache_dir, run_sql=True, data_dir=tmp_path) as server:
        body = {"sql": "SELECT COUNT(*) AS n FROM orders", "question": "How many orders?"}
        response = server.http.post("/sql/proposals", json=body)

    assert (response.status_code, response.json()["code"]) == (422, "proposal_invalid")
