"""Conversations over HTTP: questions back, feedback and follow-ups on threads, also after a restart of the server."""

import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from datasphinx.agent.conversation.threads import open_threads
from datasphinx.agent.errors import ConfigurationError, DriverMissing, Unavailable
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.server.app import create_app, serve
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.record.stores import fresh_url
from tests.agent.server.leaving import Held
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT, asks_about_best
from tests.support.databases import make_table, url
from tests.support.servers import ON_EVERY_STORE

ROUTES = ["invoke", "batch", "stream", "stream_events"]
UNKNOWN = "0" * 32


# The model asks back what "the best" means, and else counts the orders.
ANSWERS = {"GeneratedSQL": [asks_about_best]}


# A conversation


def test_a_question_back_is_answered_without_its_thread(cache_dir: Path) -> None:
    with serving(cache_dir, {"GeneratedSQL": [ASKS, COUNT]}) as server:
        asked = server.invoke(question=BEST)
        output = server.invoke(clarification=asked["clarification"], clarification_answer="the oldest")

    assert (output["status"], output["sql"]) == ("ok", COUNT["sql"])
    assert output["thread_id"] != asked["thread_id"]


def test_each_question_begins_a_thread_unless_it_names_one(served: Served) -> None:
    first, second = served.invoke(**ASKED), served.invoke(**ASKED)
    third = served.invoke(question="and of all?", thread_id=first["thread_id"])

    assert first["thread_id"] != second["thread_id"]
    assert (third["sql"], third["thread_id"]) == (COUNT["sql"], first["thread_id"])
    assert "The conversation so far" not in served.model.calls[1].prompt
    assert "The conversation so far" in served.model.calls[-1].prompt


def test_a_source_that_was_named_holds_until_another_is(cache_dir: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("sky", "sea")]
    for folder, moons in zip(folders, (2, 0), strict=True):
        folder.mkdir()
        make_table(folder, "planet TEXT, moons INTEGER", [["Mars", moons]], table="planets")
    sources = {folder.name: url(next(folder.iterdir())) for folder in folders}
    statement = {**COUNT, "sql": "SELECT moons FROM planets"}
    asked = "How many moons has the planet Mars?"
    form = {"sql": "", "output_type": "dataframe"}
    answers = {"GeneratedSQL": [statement, statement, form, statement, statement]}
    with serving(cache_dir, answers, sources=sources) as server:
        first = server.invoke(question=asked, source="sea")
        same, form, other, other_form = (
            server.invoke(question=question, thread_id=first["thread_id"], **named)
            for question, named in (
                (asked, {}), ("as a table", {}), (asked, {"source": "sky"}), ("as a table", {"source": "sea"}),
            )
        )  # fmt: skip
    assert [output["value"] for output in (first, same, other)] == [0, 0, 2]
    assert [output["tables"][0]["rows"] for output in (form, other_form)] == [[[0]], [[0]]]


@pytest.mark.heavy
@ON_EVERY_STORE
def test_a_thread_outlives_the_server(cache_dir: Path, store: dict[str, Any]) -> None:
    answers = {"GeneratedSQL": [ASKS, COUNT]}
    with serving(cache_dir, answers, **store) as server:
        thread = server.invoke(question=BEST)["thread_id"]
    with serving(cache_dir, **store) as server:
        output = server.invoke(thread_id=thread, clarification_answer="by amount")
        assert "AmbiguityReview" not in {call.schema_name for call in server.model.calls}
    top_two = {**COUNT, "sql": BY_AMOUNT.replace("LIMIT 3", "LIMIT 2")}
    with serving(cache_dir, {"GeneratedSQL": [top_two]}, **store) as server:
        followed = server.invoke(thread_id=thread, question="only the top two")

    assert (output["status"], output["sql"]) == ("ok", BY_AMOUNT)
    assert len(followed["tables"][0]["rows"]) == 2
    assert output["audit"]["trace_id"] != followed["audit"]["trace_id"]


@pytest.mark.heavy
@ON_EVERY_STORE
def test_settings_of_a_chart_are_replaced_and_outlive_the_server(cache_dir: Path, store: dict[str, Any]) -> None:
    by_status = {**COUNT, "sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"}
    with serving(cache_dir, {"GeneratedSQL": [by_status]}, clarify="never", **store) as server:
        output = server.invoke(question="Which statuses have the most orders?")
        path = f"/threads/{output['thread_id']}/runs/{output['run_id']}/chart"
        for kind in ("pie", "line"):
            spec = {"chart_type": kind, "x": "status", "y": "orders"}
            assert server.http.put(path, json={"spec": spec}).json()["chart"]["type"] == kind
    with serving(cache_dir, clarify="never", **store) as server:
        found = server.http.get(path).json()
        followed = server.invoke(**ASKED, thread_id=output["thread_id"])
    assert (found["chart"]["type"], found["saved"]) == ("line", True)
    assert followed["thread_id"] == output["thread_id"] and followed["error"] is None


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_ends_in_the_question_back(served: Served, route: str) -> None:
    response = served.post(f"/agent/{route}", **({"inputs": [{"question": BEST}]} if route == "batch" else
                                                {"input": {"question": BEST}}))  # fmt: skip

    assert response.status_code == 200
    assert ASKS["question"] in response.text and '"status":"clarification"' in response.text.replace(": ", ":")
    assert "__interrupt__" not in response.text


# What goes wrong


@ON_EVERY_STORE
def test_an_unknown_thread(cache_dir: Path, store: dict[str, Any]) -> None:
    with serving(cache_dir, **store) as server:
        for said in ({"clarification_answer": "1"}, {"feedback": {"accepted": True}}, {"question": "Сколько заказов?"}):
            output = server.invoke(thread_id=UNKNOWN, **said)
            assert not server.model.calls, said
            failed = output["status"], output["error"]["code"], output["thread_id"]
            assert failed == ("error", "thread_unknown", UNKNOWN), said
            assert UNKNOWN in output["answer"] and ("Беседы" in output["answer"]) == ("question" in said), said
            assert (output["tables"], output["audit"]["steps"]) == ([], []), said


def test_the_graphs_have_threads_of_their_own(served: Served) -> None:
    thread = served.invoke(**ASKED)["thread_id"]
    output = served.invoke("analyst", question="and in May?", thread_id=thread)

    assert output["error"]["code"] == "thread_unknown"


@pytest.mark.heavy
@ON_EVERY_STORE
def test_of_two_answers_at_once_one_runs(cache_dir: Path, store: dict[str, Any]) -> None:
    held = Held(lambda _: COUNT)
    answers = {"GeneratedSQL": [ASKS, held]}
    with serving(cache_dir, answers, **store) as one, serving(cache_dir, **store) as other:
        thread = one.invoke(question=BEST)["thread_id"]
        said = {"thread_id": thread, "clarification_answer": "the oldest"}
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(one.invoke, **said)
            assert held.begun.wait(20)
            try:
                busy = [server.invoke(**said) for server in (one, other)]
            finally:
                held.left.set()
        late = other.invoke(**said)
        assert other.model.calls == []

    assert first.result()["status"] == "ok"
    assert [output["error"]["code"] for output in busy] == ["thread_busy"] * 2
    assert late["error"]["code"] == "nothing_asked"


WRONG: list[dict[str, Any]] = [
    {"thread_id": UNKNOWN},
    {"thread_id": "1", **ASKED},
    {"thread_id": UNKNOWN + "\n", **ASKED},
    {"thread_id": f"../{UNKNOWN}"[:32], **ASKED},
    {"clarification_answer": "1"},
    {"clarification_answer": "1", **ASKED},
    {"clarification_answer": "1", "thread_id": UNKNOWN, **ASKED},
    {"clarification_answer": " ", "thread_id": UNKNOWN},
    {"clarification_answer": "x" * 2001, "thread_id": UNKNOWN},
    {"clarification_answer": 1, "thread_id": UNKNOWN},
    {"clarification_answer": "1", "clarification": {"question": "?"}},
    {"clarification_answer": "1", "thread_id": UNKNOWN, "source": "sample"},
    {"feedback": {"accepted": True}},
    {"feedback": {"accepted": "perhaps"}, "thread_id": UNKNOWN},
    {"feedback": {}, "thread_id": UNKNOWN},
    {"feedback": {"accepted": True, "surprise": 1}, "thread_id": UNKNOWN},
    {"feedback": {"accepted": True}, "thread_id": UNKNOWN, **ASKED},
    {"feedback": {"accepted": True}, "thread_id": UNKNOWN, "clarification_answer": "1"},
]


def test_what_does_not_go_together_is_refused(cache_dir: Path) -> None:
    with serving(cache_dir, {"GeneratedSQL": [ASKS, COUNT]}, sources={"sample": "sqlite:///none.db"}) as server:
        for given in WRONG:
            response = server.post("/agent/invoke", input=given)
            assert response.status_code == 422, given
    assert server.model.calls == []


def test_a_question_with_a_clarification_is_refused(served: Served) -> None:
    asked = served.invoke(question=BEST)
    both = {"clarification": asked["clarification"], "clarification_answer": "1", "thread_id": asked["thread_id"]}

    for given in ({**ASKED, "clarification": asked["clarification"]}, both):
        assert served.post("/agent/invoke", input=given).status_code == 422


# The store


def test_the_file_is_for_its_owner_alone(served: Served) -> None:
    thread = served.invoke(question=BEST)["thread_id"]
    served.invoke(thread_id=thread, clarification_answer="1")
    folder = served.services.settings.data_dir
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}

    assert {modes[name] for name in modes if name.startswith("threads.sqlite")} == {0o600}
    assert not list((folder / "threads").glob("agent-*"))
    assert stat.S_IMODE((folder / "threads").stat().st_mode) == 0o700


def test_a_store_that_cannot_be_reached_is_an_error_without_its_password(cache_dir: Path) -> None:
    nowhere = "postgresql+psycopg://me:swordfish@127.0.0.1:1/threads"
    with serving(cache_dir, threads_url=nowhere) as server:
        response = server.post("/agent/invoke", input=ASKED)
    output = response.json()["output"]

    assert (output["error"]["code"], output["status"]) == ("threads_unavailable", "error")
    assert "swordfish" not in response.text and "me:***@127.0.0.1:1" in output["answer"]
    with pytest.raises(Unavailable):
        serve(settings=load_settings(cache_dir=cache_dir, threads_url=nowhere))


@pytest.mark.parametrize("wrong", ["mysql://me:swordfish@localhost/x", "no url"])
def test_another_engine_keeps_no_threads(cache_dir: Path, wrong: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_threads(load_settings(cache_dir=cache_dir, threads_url=wrong))
    assert caught.value.setting == "DATASPHINX_THREADS_URL" and "swordfish" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "settings", "extra"),
    [
        ("langgraph.checkpoint.sqlite", {}, "threads"),
        ("filelock", {}, "threads"),
        ("langgraph.checkpoint.postgres", {"threads_url": "postgresql://127.0.0.1/x"}, "postgres"),
    ],
)
def test_what_is_not_installed_is_named(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch, module: str, settings: dict[str, Any], extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DriverMissing) as caught:
        create_app(Services(load_settings(cache_dir=cache_dir, **settings), model=ScriptedModel()))
    assert caught.value.extra == extra


@pytest.mark.postgres
def test_servers_that_begin_together_make_the_tables_once(tmp_path: Path, cache_dir: Path) -> None:
    with fresh_url("postgres", tmp_path) as empty, ThreadPoolExecutor(4) as pool:
        plain = make_url(empty).set(drivername="postgres").render_as_string(hide_password=False)
        stores = [open_threads(load_settings(cache_dir=cache_dir, threads_url=each)) for each in (empty, plain) * 2]
        assert list(pool.map(lambda store: store.last(UNKNOWN), stores)) == [None] * 4
