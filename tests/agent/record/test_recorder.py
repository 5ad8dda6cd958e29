"""Events recorded for a question, and behaviour when the record cannot be written."""

import json
import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import Unavailable
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.events import Event, StoredEvent
from datasphinx.agent.record.recorder import Recorder
from datasphinx.agent.record.store import Store, sqlite_url
from datasphinx.agent.record.verify import verify
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.conftest import VALID, MakeAgent, ScriptedAgent
from tests.support.databases import make_table, url

pytestmark = pytest.mark.stored_record

COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}
KEY = "sk-test-0123456789abcdef"
PASSWORD = "correct-horse-battery"


class Flaky:
    """A record that is dead for the events of some numbers, counted from 1, and alive for the others."""

    def __init__(self, *dead: int) -> None:
        self.kept: list[Event] = []
        self.tries = 0
        self._dead = dead

    def append(self, events: Sequence[Event]) -> None:
        self.tries += 1
        if self.tries in self._dead:
            raise Unavailable("record_unavailable", store="the store", reason="it is down")
        self.kept.extend(events)


def events_of(agent: ScriptedAgent, output: dict[str, Any]) -> list[StoredEvent]:
    return Store(sqlite_url(agent.services.settings.data_dir)).run(output["audit"]["trace_id"])


def bodies(events: Sequence[StoredEvent], kind: str) -> list[dict[str, Any]]:
    return [event.content for event in events if event.kind == kind]


def asked_over(sink: Flaky, cache_dir: Path) -> dict[str, Any]:
    model = ScriptedModel({"GeneratedSQL": [COUNT], "SQLValidation": [VALID]})
    services = Services(load_settings(cache_dir=cache_dir), model=model, recorder=Recorder(sink))
    output = build_graph(services).invoke({"question": "How many orders are there?"})
    return {**output, "calls": len(model.calls)}


def test_a_question_leaves_each_thing_it_did(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]})
    output = agent.ask("How many orders are there?")
    events = events_of(agent, output)
    assert output["audit"]["recorded"] is True
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    kinds = [event.kind for event in events]
    assert (kinds[0], kinds[-1], kinds.count("llm"), kinds.count("statement"), kinds.count("step")) == (
        "run", "output", 2, 1, 8,
    )  # fmt: skip
    (begun,), (generated, judged) = bodies(events, "run"), bodies(events, "llm")
    assert begun["input"] == {"question": "How many orders are there?"}
    assert begun["settings"]["row_limit"] == 10_000
    assert json.loads(generated["output"]) == COUNT
    assert [message["role"] for message in generated["messages"]] == [
        message.type for message in agent.model.calls[0].messages
    ]
    assert generated["messages"][-1]["content"] == agent.model.calls[0].messages[-1].content
    assert (judged["schema"], judged["node"], judged["error"]) == ("SQLValidation", "validate_sql", None)
    (statement,), (ended,) = bodies(events, "statement"), bodies(events, "output")
    assert (statement["sql"], statement["rows"], statement["parameters"]) == (COUNT["sql"], 1, {})
    assert len(statement["result_hash"]) == 64
    assert (ended["answer"], ended["sql"], ended["llm_calls"]) == (output["answer"], COUNT["sql"], 2)
    assert ended["tables"][0]["rows"] == 1
    assert verify(Store(sqlite_url(agent.services.settings.data_dir))).findings == []


class Transactions:
    """A sink that keeps the kinds of the events of each transaction."""

    def __init__(self) -> None:
        self.kinds: list[list[str]] = []

    def append(self, events: Sequence[Event]) -> None:
        self.kinds.append([event.kind for event in events])


def test_a_short_question_needs_two_transactions(cache_dir: Path) -> None:
    sink = Transactions()
    model = ScriptedModel({"GeneratedSQL": [COUNT], "SQLValidation": [VALID]})
    services = Services(load_settings(cache_dir=cache_dir), model=model, recorder=Recorder(sink, delay_s=60))
    output = build_graph(services).invoke({"question": "How many orders are there?"})
    assert output["audit"]["recorded"] is True
    assert [len(kinds) for kinds in sink.kinds] == [1, 11]
    assert (sink.kinds[0], sink.kinds[1][-1]) == (["run"], "output")


def test_events_are_written_when_the_delay_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    sink, now = Transactions(), 100.0
    monkeypatch.setattr("datasphinx.agent.record.recorder.time.monotonic", lambda: now)
    recorder = Recorder(sink, delay_s=1)
    recorder.begin("a", {})
    for now in (100.5, 100.9, 101.1, 101.5):
        recorder.add("a", "step", {"at": now})
    assert sink.kinds == [["run"], ["step"] * 3]
    recorder.flush("a")
    assert sink.kinds == [["run"], ["step"] * 3, ["step"]]


def test_events_of_interrupted_runs_are_written_at_the_end_of_the_process(tmp_path: Path) -> None:
    program = (
        "from datasphinx.agent.record.recorder import Recorder;"
        "from datasphinx.agent.record.store import Store, sqlite_url;"
        "from pathlib import Path; recorder = Recorder(Store(sqlite_url(Path('.'))), delay_s=60);"
        "recorder.begin('a' * 32, {}); recorder.add('a' * 32, 'step', {}); raise KeyboardInterrupt"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.DEVNULL, check=False)
    assert [event.kind for event in Store(sqlite_url(tmp_path)).run("a" * 32)] == ["run", "step"]


def test_events_of_many_unfinished_runs_are_not_lost() -> None:
    sink = Transactions()
    recorder = Recorder(sink, delay_s=60)
    for number in range(1001):
        recorder.add(f"{number:032x}", "step", {})
    assert sink.kinds == [["step"]]


def test_values_of_rows_are_not_stored(tmp_path: Path) -> None:
    path = make_table(tmp_path, "thing TEXT, remark TEXT", [(f"thing {at}", f"secret remark {at}") for at in range(30)])
    model = ScriptedModel({
        "GeneratedSQL": [{"sql": "SELECT remark FROM things"}], "SQLValidation": [VALID],
    })  # fmt: skip
    settings = load_settings(source=url(path))
    output = build_graph(Services(settings, model=model)).invoke({"question": "Show all remarks"})
    assert len(output["tables"][0]["rows"]) == 30
    run = Store(sqlite_url(settings.data_dir)).run(output["audit"]["trace_id"])
    assert not any("secret remark 17" in event.body for event in run if event.kind == "statement")


def test_an_error_of_a_statement_is_recorded_with_its_code(scripted: MakeAgent) -> None:
    broken = {"sql": "SELECT no_such_column_at_all FROM orders", "assumptions": [], "off_topic": False}
    agent = scripted({"GeneratedSQL": [broken, COUNT]})
    failed, fine = bodies(events_of(agent, agent.ask("How many orders are there?")), "statement")
    assert (failed["error"]["code"], fine["error"]) == ("names_unknown", None)


def test_a_chart_is_recorded_by_its_hash(scripted: MakeAgent) -> None:
    by_month = {
        "sql": "SELECT strftime('%Y-%m', ordered_on) AS month, COUNT(*) AS orders FROM orders GROUP BY 1 ORDER BY 1",
        "assumptions": [], "off_topic": False,
    }  # fmt: skip
    agent = scripted({"GeneratedSQL": [by_month] * 3, "NarratedAnswer": [{"answer": "", "output_type": "plot"}] * 2})
    output = agent.ask("Draw the orders by month", output_type="plot")
    if output["error"]:
        pytest.fail(output["answer"])
    (chart,) = bodies(events_of(agent, output), "chart")
    assert chart["type"] == output["charts"][0]["type"]
    assert len(chart["option_hash"]) == 64


def test_a_kept_verdict_is_on_the_record_too(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT, COUNT]})
    agent.ask("How many orders are there?")
    second = agent.ask("How many orders are there?")
    (cached,) = bodies(events_of(agent, second), "cached")
    assert cached["validation"]["is_valid"] is True


@pytest.mark.parametrize("question", ["", None, 7, float("nan"), "x" * 20_000, "\ud800 broken \u0000"])
def test_no_question_is_too_odd_to_be_recorded(scripted: MakeAgent, question: Any) -> None:
    agent = scripted()
    output = agent.ask(question)
    assert output["audit"]["recorded"] is True
    assert len(events_of(agent, output)[0].body) < 12_000


def test_no_secret_is_on_the_record(cache_dir: Path, tmp_path: Path) -> None:
    statement = {"sql": "SELECT COUNT(*) FROM orders", "assumptions": [f"the key is {KEY}"], "off_topic": False}
    model = ScriptedModel({"GeneratedSQL": [statement], "SQLValidation": [{**VALID, "reason": f"{PASSWORD} {KEY}"}]})
    settings = load_settings(
        cache_dir=cache_dir,
        llm_api_key=KEY,
        source="sample",
        sources={"store": f"postgresql://reader:{PASSWORD}@127.0.0.1:1/x"},
    )
    graph = build_graph(Services(settings, model=model))
    question = f"How many orders? postgresql://u:another-password@h/db, {KEY}, Authorization: Bearer abcdefgh12345"
    graph.invoke({"question": question})
    graph.invoke({"question": "How many?", "source": "postgresql://u:third-password@127.0.0.1:1/db"})
    stored = b"".join(path.read_bytes() for path in settings.data_dir.glob("record.sqlite*"))
    assert b"How many orders?" in stored
    for secret in (KEY, PASSWORD, "another-password", "third-password", "abcdefgh12345"):
        assert secret.encode() not in stored


def test_without_a_record_nothing_is_written_and_the_answer_says_so(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]}, record=False)
    output = agent.ask("How many orders are there?")
    assert (output["value"], output["audit"]["recorded"]) == (10127, False)
    assert not [note for note in output["audit"]["notes"] if "record" in note]
    assert not agent.services.settings.data_dir.exists()


# A store that is dead


def test_a_question_whose_beginning_cannot_be_recorded_is_not_asked(scripted: MakeAgent) -> None:
    agent = scripted({"GeneratedSQL": [COUNT]}, record_url=f"postgresql://auditor:{PASSWORD}@127.0.0.1:1/record")
    output = agent.ask("Сколько заказов?")
    assert output["error"]["code"] == "record_unavailable"
    assert "DATASPHINX_RECORD_URL" in output["answer"]
    assert "Журнал" in output["answer"]
    assert PASSWORD not in json.dumps(output)
    assert agent.model.calls == []
    assert [step["statements"] for step in output["audit"]["steps"]] == [[]]
    assert output["audit"]["recorded"] is False


def test_a_store_that_dies_in_mid_run_costs_no_answer_and_is_said(
    cache_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Flaky(*range(4, 1000))
    output = asked_over(sink, cache_dir)
    assert (output["value"], output["error"]) == (10127, None)
    assert output["audit"]["recorded"] is False
    (note,) = [text for text in output["audit"]["notes"] if "record" in text]
    assert "not all of this run is on the record" in note and "it is down" in note
    assert "events are lost" in caplog.text
    assert len(sink.kept) == 3


def test_a_store_that_comes_back_has_the_whole_run_in_order(cache_dir: Path) -> None:
    broken, whole = Flaky(4), Flaky()
    output = asked_over(broken, cache_dir)
    asked_over(whole, cache_dir)
    assert output["audit"]["recorded"] is True
    assert [event.kind for event in broken.kept] == [event.kind for event in whole.kept]
    assert [event.time for event in broken.kept] == sorted(event.time for event in broken.kept)


def test_after_a_question_with_a_dead_store_the_next_one_is_recorded(cache_dir: Path) -> None:
    sink = Flaky(1, 2)
    services = Services(
        load_settings(cache_dir=cache_dir),
        model=ScriptedModel({"GeneratedSQL": [COUNT], "SQLValidation": [VALID]}),
        recorder=Recorder(sink),
    )
    graph = build_graph(services)
    first = graph.invoke({"question": "How many orders are there?"})
    second = graph.invoke({"question": "How many orders are there?"})
    assert (first["error"]["code"], second["value"]) == ("record_unavailable", 10127)
    assert second["audit"]["recorded"] is True


def test_the_log_has_the_events_without_texts(scripted: MakeAgent, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "datasphinx")
    agent = scripted({"GeneratedSQL": [COUNT]}, record=False, enable_sql_validation=False)
    output = agent.ask("How many orders are there?")
    logged = [record for record in caplog.records if record.getMessage().startswith("[EVENT]")]
    assert {record.trace_id for record in logged} == {output["audit"]["trace_id"]}  # type: ignore[attr-defined]
    assert "orders" not in " ".join(map(str, (vars(record) for record in logged if record.event_kind == "llm")))  # type: ignore[attr-defined]
