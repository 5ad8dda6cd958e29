"""/metrics: what Prometheus reads."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from datasphinx.agent.server.keys import hash_of
from tests.agent.server.keys import ACME, KEYS, as_
from tests.agent.server.leaving import Held
from tests.agent.server.serving import ASKED, COUNT, Served, serving


@pytest.fixture
def served(cache_dir: Path) -> Iterator[Served]:
    """A server that has counted nothing; its model always counts the orders."""
    with serving(cache_dir) as server:
        yield server


def figures(server: Served) -> dict[str, float]:
    response = server.http.get("/metrics")
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/plain")
    samples = [each for family in text_string_to_metric_families(response.text) for each in family.samples]
    return {f"{each.name} {' '.join(each.labels.values())}".strip(): each.value for each in samples}


def test_questions_are_counted_by_graph_and_status(served: Served) -> None:
    served.invoke(**ASKED)
    served.post("/agent/batch", inputs=[ASKED, ASKED])
    served.invoke(**ASKED, thread_id="0" * 32)
    served.http.post("/analyst/events", json={"question": "How many?", "datasets": ["ds_0123456789abcdef"]}).read()
    found = figures(served)
    assert found["datasphinx_questions_total agent ok"] == 3
    assert found["datasphinx_questions_total agent error"] == found["datasphinx_questions_total analyst error"] == 1
    assert found["datasphinx_errors_total thread_unknown"] == found["datasphinx_errors_total dataset_unknown"] == 1
    assert found["datasphinx_question_seconds_count agent"] == 4
    assert found["datasphinx_llm_calls_total agent"] == len(served.model.calls)
    assert found["datasphinx_running agent"] == 0


def test_a_question_runs_until_it_ends(cache_dir: Path) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [held]}) as server:
        with server.http.stream("POST", "/agent/events", json=ASKED) as response:
            lines = response.iter_lines()
            assert next(lines)
            assert figures(server)["datasphinx_running agent"] == 1
            held.left.set()
            assert list(lines)
        assert figures(server)["datasphinx_running agent"] == 0


def test_problems_are_counted_by_code(served: Served) -> None:
    served.post("/agent/invoke", input={"question": ""})
    served.http.post("/agent/events", json={"question": ""})
    served.http.get("/agent/nothing")
    served.http.get(f"/threads/{'0' * 32}")
    served.http.get("/sources", headers={"Host": "elsewhere.example"})
    served.invoke(**ASKED, thread_id="0" * 32)
    problems = {name.split()[1]: value for name, value in figures(served).items() if "_problems_total" in name}
    assert problems == {"input_invalid": 2, "not_found": 1, "thread_unknown": 1, "origin_refused": 1}


def test_a_limit_that_is_reached_is_a_problem(cache_dir: Path) -> None:
    tenants = {"acme": {"questions_per_minute": 1}, "beta": {}}
    settings = {"api_keys": KEYS, "operate_keys": hash_of(ACME), "tenants": tenants}
    with serving(cache_dir, **settings) as server, as_(server, ACME) as acme:
        statuses = [acme.post("/agent/invoke", json={"input": ASKED}).status_code for _ in range(3)]
        server.http.get("/sources")
        found = acme.get("/metrics").text
    assert statuses == [200, 429, 429]
    assert 'datasphinx_problems_total{code="limit_reached"} 2.0' in found
    assert 'datasphinx_problems_total{code="key_missing"} 1.0' in found
