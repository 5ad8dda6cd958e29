"""A question as server-sent events: its steps, its output, and what happens when nobody reads any more."""

import threading
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.agent.server.asking import events_of
from tests.agent.server.leaving import Held
from tests.agent.server.serving import ASKED, COUNT, Served, serving
from tests.agent.walk import NODES
from tests.support.databases import many_tables, url


def stream(server: Served, path: str = "/agent/events", **given: Any) -> list[tuple[str, Any]]:
    with server.http.stream("POST", path, json=given) as response:
        assert (response.status_code, response.headers["content-type"][:17]) == (200, "text/event-stream")
        return list(events_of(response.iter_lines()))


def test_each_step_and_then_the_output(served: Served) -> None:
    *events, (last, output) = stream(served, **ASKED)
    assert [kind for kind, _ in events] == ["started", "step"] * len(NODES)
    assert [started for _, started in events[::2]] == [{"node": node, "attempt": 1} for node in NODES]
    steps = events[1::2]
    assert [step["node"] for _, step in steps] == NODES
    assert all(step["latency_ms"] >= 0 for _, step in steps)
    # Without a doubt, no model checks the statement, so there is nothing to show.
    assert [step["node"] for _, step in steps if not step["line"]] == ["validate_sql"]
    assert all(step["line"].startswith("✓ ") for _, step in steps if step["line"])
    assert steps[3][1]["update"]["sql_request"] == COUNT["sql"]
    assert (last, output["status"], output["sql"]) == ("output", "ok", COUNT["sql"])
    assert output.keys() == served.invoke(**ASKED).keys()


@pytest.mark.parametrize(
    ("statements", "attempts"),
    [
        ([f"SELECT missing_{n} FROM orders" for n in range(5)], [(1, None), (2, 4), (3, 4), (4, 4)]),
        ([f"DELETE FROM orders WHERE order_id = {n}" for n in range(5)], [(1, None), (2, 3), (3, 3)]),
    ],
)
def test_an_attempt_says_how_many_there_may_be(
    cache_dir: Path, statements: list[str], attempts: list[tuple[int, int | None]]
) -> None:
    with serving(cache_dir, {"GeneratedSQL": [{"sql": sql} for sql in statements]}) as server:
        events = stream(server, **ASKED)
    started = [data for kind, data in events if kind == "started" and data["node"] == "generate_sql"]
    assert [(each["attempt"], each.get("limit")) for each in started] == attempts


def test_the_first_event_says_how_long_the_last_answers_about_the_source_took(cache_dir: Path) -> None:
    with serving(cache_dir, {"GeneratedSQL": [COUNT] * 5}) as server:
        asked = [stream(server, **ASKED) for _ in range(4)]
        other = stream(server, **ASKED, source="sample")
    told = [[data.get("expected_ms") for kind, data in events if kind == "started"] for events in [*asked, other]]
    taken = [events[-1][1]["audit"]["latency_ms"] for events in asked]
    nothing = [None] * len(NODES)
    assert told == [
        nothing, nothing, [round(median(taken[:2])), *nothing[1:]], [round(median(taken[:3])), *nothing[1:]], nothing,
    ]  # fmt: skip


def test_no_step_has_rows(served: Served) -> None:
    *steps, (_, output) = stream(served, **ASKED)
    assert output["tables"] and not [step for _, step in steps if "result" in str(step)]


def test_steps_arrive_while_the_question_runs(cache_dir: Path) -> None:
    seen = threading.Event()

    def wait(_: Any) -> dict[str, Any]:
        return COUNT if seen.wait(10) else {"sql": "", "assumptions": [], "off_topic": True}

    with (
        serving(cache_dir, {"GeneratedSQL": [wait]}) as server,
        server.http.stream("POST", "/agent/events", json=ASKED) as response,
    ):
        events = events_of(response.iter_lines())
        assert next(event for kind, event in events if kind == "step")["node"] == "retrieve_tables"
        seen.set()
        *_, (_, output) = events
    assert output["status"] == "ok"


@pytest.mark.parametrize("given", [{}, {**ASKED, "surprise": 1}, {"question": ""}, {"input": ASKED}])
def test_a_wrong_input_is_refused(served: Served, given: dict[str, Any]) -> None:
    response = served.http.post("/agent/events", json=given)
    assert (response.status_code, response.json()["code"]) == (422, "input_invalid")


@pytest.mark.heavy
def test_a_run_that_takes_too_long_ends_in_a_problem(cache_dir: Path) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [held]}, max_question_s=0.5) as server:
        *_, (kind, problem) = stream(server, **ASKED)
        held.left.set()
    assert (kind, problem["code"], problem["status"]) == ("problem", "request_timeout", 504)


def test_a_defect_ends_in_a_problem(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.server.routes.events.step_line", lambda *_: 1 / 0)
    *_, (kind, problem) = stream(served, **ASKED)
    assert (kind, problem["code"]) == ("problem", "internal_error") and "division" not in str(problem)


def test_a_silent_run_is_kept_alive(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.server.routes.events._KEEP_ALIVE_S", 0.01)
    held = Held(lambda _: COUNT)
    with (
        serving(cache_dir, {"GeneratedSQL": [held]}) as server,
        server.http.stream("POST", "/agent/events", json=ASKED) as response,
    ):
        lines = response.iter_lines()
        assert next(line for line in lines if line == ": keep-alive")
        held.left.set()
        assert [kind for kind, _ in events_of(lines)][-1] == "output"


@pytest.mark.heavy
def test_the_progress_of_reading_a_large_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.sources.reflect._CHUNK_SIZE", 200)
    sources = {"large": {"url": url(many_tables(tmp_path, 200)), "allow_writable_account": True}}
    answers = {
        "GeneratedSQL": [{**COUNT, "sql": "SELECT COUNT(*) FROM planets"}],
        "TableSelection": [{"tables": ["planets"]}],
        "ColumnSelection": [{"tables": [{"table": "planets", "columns": ["planet"]}]}],
    }
    with serving(tmp_path / "cache", answers, sources=sources, clarify="never") as server:
        first, second = (stream(server, question="How many planets are there?") for _ in range(2))
    waits = [data for kind, data in first if kind == "waiting"]
    assert waits == [{"for": "reading_schema", "done": done, "total": 201} for done in (0, 200, 201)]
    assert [kind for kind, _ in first[:2]] == ["started", "waiting"]
    assert first[-1][1]["value"] == second[-1][1]["value"] == 2
    assert "waiting" not in [kind for kind, _ in second]
