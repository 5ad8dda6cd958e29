"""Threads, traces and charts over HTTP: what is kept, and feedback on it."""

from pathlib import Path

import pytest

from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.support.best_customer import ASKS, BEST

UNKNOWN = "0" * 32
RUN = "00000000-0000-0000-0000-000000000000"
BY_STATUS = {
    **COUNT,
    "sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status",
    "chart": {"type": "bar"},
}


ANSWERS = {"GeneratedSQL": [BY_STATUS]}
SETTINGS = {"clarify": "never"}


def test_a_thread_shows_what_was_asked_and_answered(cache_dir: Path) -> None:
    with serving(cache_dir, {"GeneratedSQL": [ASKS, COUNT]}) as server:
        asked = server.invoke(question=BEST)
        path = f"/threads/{asked['thread_id']}"
        before = server.http.get(path).json()
        output = server.invoke(thread_id=asked["thread_id"], clarification_answer="1")
        after, history = server.http.get(path).json(), server.http.get(f"{path}/history").json()

    assert (before["status"], before["turns"], before["graph"]) == ("clarification", [], "agent")
    assert before["clarification"] == asked["clarification"]
    assert (after["status"], after["clarification"]) == ("ok", None)
    assert [(turn["sql"], turn["answer"]) for turn in after["turns"]] == [(output["sql"], output["answer"])]
    said = [run["said"] for run in history["runs"]]
    assert said == [{"clarification_answer": "1"}, {"question": BEST}]
    traces = [(run["status"], run["trace_id"]) for run in history["runs"]]
    assert traces == [("ok", output["audit"]["trace_id"]), ("clarification", asked["audit"]["trace_id"])]


def test_each_run_is_there_as_it_came_out(served: Served) -> None:
    first = served.invoke(question="How many orders are there by status? Show a bar chart.")
    thread = first["thread_id"]
    given = {"accepted": False, "comment": "fewer"}
    others = [served.invoke(thread_id=thread, feedback=given), served.invoke(thread_id=thread, **ASKED)]
    runs = served.http.get(f"/threads/{thread}/history").json()["runs"]

    assert first["charts"] and first["tables"]
    found = [served.http.get(f"/threads/{thread}/runs/{run['id']}").json() for run in reversed(runs)]
    assert found == [first, *others]
    assert runs[1]["said"] == {"feedback": given}


def test_feedback_brings_another_answer(cache_dir: Path) -> None:
    other = {**COUNT, "sql": "SELECT COUNT(DISTINCT order_id) AS orders FROM orders"}
    with serving(cache_dir, {"GeneratedSQL": [COUNT, other]}, clarify="never") as server:
        path = f"/threads/{server.invoke(**ASKED)['thread_id']}/feedback"
        rejected = server.http.post(path, json={"accepted": False, "comment": "each of them once"})
        accepted = server.http.post(path, json={"accepted": True})
    assert (rejected.status_code, rejected.json()["sql"]) == (200, other["sql"])
    assert (accepted.json()["status"], accepted.json()["audit"]["llm_calls"]) == ("ok", 0)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", f"/threads/{UNKNOWN}", "thread_unknown"),
        ("GET", f"/threads/{UNKNOWN}/history", "thread_unknown"),
        ("GET", f"/threads/{UNKNOWN}/runs/{RUN}", "thread_unknown"),
        ("POST", f"/threads/{UNKNOWN}/feedback", "thread_unknown"),
        ("GET", f"/traces/{UNKNOWN}", "trace_unknown"),
        ("POST", f"/traces/{UNKNOWN}/replay", "trace_unknown"),
        ("GET", "/charts/1.png", "chart_unknown"),
        ("GET", f"/charts/{UNKNOWN}-{RUN}-1.png", "chart_unknown"),
    ],
)
def test_what_is_not_there(served: Served, method: str, path: str, code: str) -> None:
    response = served.http.request(method, path, json={"accepted": True} if method == "POST" else None)
    assert (response.status_code, response.json()["code"]) == (404, code)


def test_a_run_that_the_thread_does_not_have(served: Served) -> None:
    thread, other = (served.invoke(**ASKED)["thread_id"] for _ in range(2))
    (run,) = served.http.get(f"/threads/{other}/history").json()["runs"]
    for path in (f"/threads/{thread}/runs/{run['id']}", f"/threads/{thread}/runs/{RUN}"):
        response = served.http.get(path)
        assert (response.status_code, response.json()["code"]) == (404, "run_unknown")


@pytest.mark.parametrize("path", ["/threads/x", "/traces/x", f"/threads/{UNKNOWN}%0a", "/threads/..%2fx/history"])
def test_what_is_no_id(served: Served, path: str) -> None:
    assert served.http.get(path).status_code in (404, 422)


# Traces


def test_a_trace_and_its_replay(served: Served) -> None:
    trace_id = served.invoke(**ASKED)["audit"]["trace_id"]
    trace = served.http.get(f"/traces/{trace_id}").json()
    assert trace["trace_id"] == trace_id
    assert {"run", "llm", "statement", "step", "output"} <= {event["kind"] for event in trace["events"]}
    spent = len(served.model.calls)
    replay = served.http.post(f"/traces/{trace_id}/replay")
    assert (replay.status_code, replay.json()["same"], replay.json()["differences"]) == (200, True, [])
    assert len(served.model.calls) == spent


def test_without_a_record_there_is_no_trace(cache_dir: Path) -> None:
    with serving(cache_dir, record=False) as server:
        trace_id = server.invoke(**ASKED)["audit"]["trace_id"]
        assert server.http.get(f"/traces/{trace_id}").status_code == 404


# Charts


def test_a_chart_is_drawn_when_it_is_asked_for(served: Served) -> None:
    output = served.invoke(question="How many orders by status?", output_type="plot")
    (chart,) = output["charts"]
    first, again = (served.http.get(f"/charts/{chart['id']}.png") for _ in range(2))
    assert (first.status_code, first.headers["content-type"]) == (200, "image/png")
    assert first.content.startswith(b"\x89PNG") and again.content == first.content
    assert served.http.get(f"/charts/{chart['id'][:-1]}2.png").status_code == 404
