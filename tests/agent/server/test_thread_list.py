"""The list of a user's conversations: titles, search, renaming, deletion, and who sees what."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.conversation.threads import open_threads
from tests.agent.server.issuers import AUDIENCE, issuing
from tests.agent.server.keys import ACME, BETA, KEYS, as_
from tests.agent.server.serving import ASKED, COUNT, Served, serving

OTHER = "0" * 32
ON_POSTGRES = pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.heavy])
ON_EVERY_STORE = pytest.mark.parametrize("store", ["sqlite", ON_POSTGRES], indirect=True)


def ask(client: httpx.Client, question: str, **given: Any) -> str:
    """Ask as the page does, and return the thread."""
    response = client.post("/agent/events", json={"question": question, **given})
    last = response.text.strip().rpartition("data: ")[2]
    thread: str = json.loads(last)["thread_id"]
    return thread


def titles(client: httpx.Client, **query: str) -> list[str]:
    return [each["title"] for each in client.get("/threads", params=query).json()["threads"]]


@ON_EVERY_STORE
def test_conversations_are_listed_found_renamed_and_deleted(cache_dir: Path, store: dict[str, Any]) -> None:
    with serving(cache_dir, **store) as server:
        http = server.http
        assert titles(http) == []
        first = ask(http, "How many orders were placed?")
        second = ask(http, "Сколько  заказов\nбыло?")
        assert titles(http) == ["Сколько заказов было?", "How many orders were placed?"]
        ask(http, "as a table", thread_id=first)
        assert titles(http) == ["How many orders were placed?", "Сколько заказов было?"]
        # Later questions and other letters of the alphabet are found as well.
        assert titles(http, search="A TABLE") == ["How many orders were placed?"]
        assert titles(http, search="ЗАКАЗОВ") == ["Сколько заказов было?"]
        assert titles(http, search="100%") == [] and len(titles(http, limit="1")) == 1

        renamed = http.patch(f"/threads/{second}", json={"title": " Orders, in Russian "})
        assert (renamed.status_code, renamed.json()["title"]) == (200, "Orders, in Russian")
        assert titles(http)[1] == "Orders, in Russian"

        assert http.delete(f"/threads/{first}").status_code == 204
        assert titles(http) == ["Orders, in Russian"]
        gone = http.get(f"/threads/{first}")
        assert (gone.status_code, gone.json()["code"]) == (404, "thread_unknown")
        assert http.delete(f"/threads/{first}").json()["code"] == "thread_unknown"
        assert http.get(f"/threads/{second}").json()["turns"][0]["question"] == "Сколько заказов было?"


@ON_EVERY_STORE
def test_questions_and_titles_may_have_any_characters(cache_dir: Path, store: dict[str, Any]) -> None:
    with serving(cache_dir, **store) as server:
        headers = {"Content-Type": "application/json"}
        body = json.dumps({"question": "How many orders\x00 were placed? \U0001f600"})
        asked = server.http.post("/agent/events", content=body, headers=headers)
        assert "event: output" in asked.text, asked.text[-600:]
        thread = json.loads(asked.text.strip().rpartition("data: ")[2])["thread_id"]
        (listed,) = server.http.get("/threads").json()["threads"]
        assert listed["thread_id"] == thread and listed["title"].endswith("placed? \U0001f600")
        title = json.dumps({"title": "a\x00b%s?"})
        renamed = server.http.patch(f"/threads/{thread}", content=title, headers=headers)
        assert renamed.status_code == 200 and renamed.json()["title"].endswith("%s?")


@ON_EVERY_STORE
def test_the_model_gives_a_conversation_its_title_and_a_user_another_one(
    cache_dir: Path, store: dict[str, Any]
) -> None:
    said = [{**COUNT, "title": title} for title in ("Number of orders", "Other orders", "The 10,000 orders", " ")]
    with serving(cache_dir, {"GeneratedSQL": said}, **store) as server:
        thread = ask(server.http, "How many orders were placed?")
        assert titles(server.http) == ["Number of orders"]
        assert titles(server.http, search="were placed") == ["Number of orders"]
        server.http.patch(f"/threads/{thread}", json={"title": "Mine"})
        ask(server.http, "And in all?", thread_id=thread)
        assert titles(server.http) == ["Mine"]
        # A figure that nobody gave, and no title: the question.
        for question in ("How many are there?", "How many are there in all?"):
            ask(server.http, question)
        assert titles(server.http)[:2] == ["How many are there in all?", "How many are there?"]


def test_questions_of_programs_are_not_listed(served: Served) -> None:
    served.invoke(**ASKED)
    assert titles(served.http, search=ASKED["question"]) == []


def test_unknown_conversations_are_not_changed(served: Served) -> None:
    assert served.http.patch(f"/threads/{OTHER}", json={"title": "x"}).json()["code"] == "thread_unknown"
    assert served.http.delete(f"/threads/{OTHER}").json()["code"] == "thread_unknown"
    assert served.http.delete("/threads/../sources").status_code in (404, 405)


@ON_EVERY_STORE
def test_tenants_see_their_own_conversations(cache_dir: Path, store: dict[str, Any]) -> None:
    with serving(cache_dir, api_keys=KEYS, **store) as server, as_(server, ACME) as acme, as_(server, BETA) as beta:
        thread = ask(acme, "How many orders were placed?")
        assert (titles(acme), titles(beta)) == (["How many orders were placed?"], [])
        assert beta.patch(f"/threads/{thread}", json={"title": "mine"}).status_code == 404
        assert beta.delete(f"/threads/{thread}").status_code == 404
        assert server.http.get("/threads").status_code == 401
        assert titles(acme) == ["How many orders were placed?"]
        assert acme.get(f"/threads/{thread}").status_code == 200


def test_users_of_a_tenant_see_their_own_conversations(cache_dir: Path, tmp_path: Path) -> None:
    with issuing() as issuer:
        oidc = {"issuer": issuer.url, "audience": AUDIENCE, "tenant": "acme"}
        tokens = [issuer.token(sub=name) for name in ("ann", "ben")]
        with (
            serving(cache_dir, data_dir=tmp_path, oidc=oidc) as server,
            as_(server, tokens[0]) as ann,
            as_(server, tokens[1]) as ben,
            as_(server, issuer.token(sub=None)) as nobody,
        ):
            thread = ask(ann, "How many orders were placed?")
            ask(nobody, "How many orders were placed?")
            assert [len(titles(each)) for each in (ann, ben, nobody)] == [1, 0, 0]
            assert ben.delete(f"/threads/{thread}").status_code == 404
            # A link can be opened by others of the tenant; what one of them deletes remains for those who continue it.
            assert ask(ben, "as a table", thread_id=thread) == thread
            assert titles(ben) == ["as a table"]
            assert ben.delete(f"/threads/{thread}").status_code == 204
            assert (titles(ben), len(titles(ann))) == ([], 1)
            assert ann.get(f"/threads/{thread}").status_code == 200
            assert ann.delete(f"/threads/{thread}").status_code == 204
            assert ann.get(f"/threads/{thread}").status_code == 404


@ON_EVERY_STORE
def test_a_conversation_in_use_is_not_deleted(cache_dir: Path, store: dict[str, Any]) -> None:
    with serving(cache_dir, **store) as server:
        thread = ask(server.http, "How many orders were placed?")
        threads = open_threads(server.services.settings)
        with threads.lock(threads.key("agent", thread)) as is_locked:
            assert is_locked
            refused = server.http.delete(f"/threads/{thread}")
        assert (refused.status_code, refused.json()["code"]) == (409, "thread_busy")
        assert titles(server.http) == ["How many orders were placed?"]
        assert server.http.delete(f"/threads/{thread}").status_code == 204
