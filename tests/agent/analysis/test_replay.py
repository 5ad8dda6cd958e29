"""A run of the analyst can be run again without a model, on the same datasets, and what differs is named by step."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent import errors
from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.errors import NotFound, SourceNotFound
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import Replay, replay
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.analysis.conftest import BY_ACCOUNT, QUESTION, TOTAL, MakeAnalyst, query, step
from tests.agent.record.stores import tampering
from tests.support.commands import Run
from tests.support.fake_openai import FakeOpenAI
from tests.support.fake_openai import Reply as HTTPReply

pytestmark = pytest.mark.stored_record

BARS = step("plot", result_id="r1", plot={"chart_type": "bar", "x": "账号", "y": "returns"})
END = step("finish", answer="{2.账号} has {2.returns} returns, {1.账号} {1.returns}.")
BACK = step("ask_user", question="Which month?", options=["January", "February"])


def again(output: dict[str, Any], settings: Settings, source: str | None = None) -> Replay:
    return replay(open_store(settings), output["audit"]["trace_id"], settings, source)


def change(store_of: Settings, kind: str, was: str, now: str) -> None:
    """Write other bodies of one kind on the record."""
    with tampering(open_store(store_of)) as connection:
        sql = "UPDATE datasphinx_events SET body = replace(body, ?, ?) WHERE kind = ?"
        assert connection.exec_driver_sql(sql, (was, now, kind)).rowcount


def test_a_replay_is_the_same_and_asks_no_model(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst([query(dataset), BARS, END])
    output = agent.ask(files=[returns])
    asked = len(agent.model.calls)
    done = again(output, agent.services.settings)

    assert done.differences == []
    assert done.steps == len(output["audit"]["steps"])
    assert (done.output["answer"], done.output["tables"]) == (output["answer"], output["tables"])
    assert done.output["charts"] == output["charts"] != []
    assert len(agent.model.calls) == asked


@pytest.mark.heavy
def test_every_tool_is_called_again(analyst: MakeAnalyst, returns: str, sales: str, dataset: str) -> None:
    file_id = analyst().services.registry.dataset(dataset).file_id
    agent = analyst(
        [
            step("create_dataset", file_id=file_id, header_row=1),
            step("resolve_fields", dataset_id=dataset, terms=["退货", "beta"]),
            step("sample_rows", dataset_id=dataset, n=2),
            query(dataset),
            BARS,
            END,
        ]
    )
    output = agent.ask(files=[returns, sales])

    assert output["error"] is None
    assert again(output, agent.services.settings).differences == []


def test_a_replay_reads_the_file_with_the_same_options(analyst: MakeAnalyst, tmp_path: Path) -> None:
    path = tmp_path / "months.csv"
    path.write_text("kind,Jan,Feb,Mar\nboot,3,4,5\nTotal,3,4,5\n", encoding="utf-8")
    load = {"unpivot": {"name": "month", "value": "pairs"}, "drop_totals": False}
    agent = analyst([])
    file_id = agent.services.registry.add_file(path)
    dataset_id = agent.services.registry.create(file_id, LoadOptions.model_validate(load)).dataset_id
    total = {"aggregations": [{"as": "pairs", "agg": "sum", "col": "pairs"}]}
    agent = analyst([step("run_query", dataset_id=dataset_id, query=total), END])
    output = agent.ask(files=[str(path)], load=load)

    assert output["tables"][0]["rows"] == [[24]]
    assert again(output, agent.services.settings).differences == []


def test_another_file_under_the_path_makes_no_difference(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst([query(dataset), END])
    output = agent.ask(files=[returns])
    Path(returns).write_text("city\nKazan\n", encoding="utf-8")
    assert again(output, agent.services.settings).differences == []
    Path(returns).unlink()
    assert again(output, agent.services.settings).differences == []


def test_another_result_is_reported_at_the_call_that_gave_it(
    analyst: MakeAnalyst, dataset: str, tmp_path: Path
) -> None:
    agent = analyst([query(dataset), BARS, step("finish")])
    output = agent.ask(datasets=[dataset])
    settings = agent.services.settings
    elsewhere = tmp_path / "copy"
    shutil.copytree(settings.data_dir, elsewhere)
    stored = elsewhere / "datasets" / f"{dataset}.duckdb"
    stored.chmod(0o600)
    with duckdb.connect(str(stored)) as connection:
        connection.execute(f"""UPDATE "{dataset}" SET "退货数量" = 31 WHERE "退货数量" = 30""")
    done = again(output, settings.model_copy(update={"data_dir": elsewhere}))

    different = next(each for each in done.differences if each.what == "statement result_hash")
    at = output["audit"]["steps"][different.step - 1]
    by_tool = {output["audit"]["steps"][each.step - 1].get("tool") for each in done.differences}
    assert at.get("tool") in ("get_schema", "run_query")
    assert "run_query" in by_tool
    assert ("narrate", "chart option_hash") in {(each.node, each.what) for each in done.differences}


@pytest.mark.parametrize(
    ("kind", "was", "now", "what"),
    [
        ("llm", '\\"sum\\"', '\\"max\\"', "tool arguments"),
        *(
            pytest.param(*case, marks=pytest.mark.heavy)
            for case in (
                ("llm", '\\"bar\\"', '\\"pie\\"', "tool arguments"),
                ("llm", "{2.returns}", "{3.returns}", "node"),
                ("tool", '"rows":2', '"rows":3', "tool rows"),
                ("chart", '"type":"bar"', '"type":"pie"', "chart type"),
                ("chart", '"option_hash":"', '"option_hash":"0', "chart option_hash"),
                ("statement", '"result_hash":"', '"result_hash":"0', "statement result_hash"),
                ("llm", '"tools_hash":"', '"tools_hash":"0', "llm tools_hash"),
                ("step", '"node":"run_tool"', '"node":"plan"', "node"),
            )
        ),
    ],
)
def test_whatever_was_otherwise_is_named(
    analyst: MakeAnalyst, dataset: str, kind: str, was: str, now: str, what: str
) -> None:
    agent = analyst([query(dataset), BARS, END])
    output = agent.ask(datasets=[dataset])
    change(agent.services.settings, kind, was, now)
    assert what in {each.what for each in again(output, agent.services.settings).differences}


@pytest.mark.parametrize(
    "steps",
    [
        [],
        pytest.param(["no JSON", "nor here"], marks=pytest.mark.heavy),
        ["no JSON", "{query}", END],
        [TimeoutError("slow")],
        pytest.param([ZeroDivisionError("a defect of a client")], marks=pytest.mark.heavy),
        [step("run_query", dataset_id="ds_0", query={}), "{query}", END],
        pytest.param(["{query}", "{query}", END], marks=pytest.mark.heavy),
        pytest.param([END, "{query}", END], marks=pytest.mark.heavy),
        pytest.param(["{query}", step("finish", answer="There are 12345 returns."), END], marks=pytest.mark.heavy),
        pytest.param(
            ["{query}", step("plot", result_id="r1", plot={"chart_type": "bar", "x": "city", "y": "returns"}), END],
            marks=pytest.mark.heavy,
        ),
        pytest.param([step("finish", cannot_answer="there is no weather in it")], marks=pytest.mark.heavy),
        pytest.param([step("finish")] * 9, marks=pytest.mark.heavy),
        [BACK],
    ],
)
def test_every_way_a_run_can_go_is_replayed_the_same(analyst: MakeAnalyst, dataset: str, steps: list[Any]) -> None:
    filled = [query(dataset) if each == "{query}" else each for each in steps]
    agent = analyst(filled, ["no narration"] * 3)
    output = agent.ask(datasets=[dataset])
    done = again(output, agent.services.settings)

    assert done.differences == []
    assert (done.output["error"] or {}).get("code") == (output["error"] or {}).get("code")


@pytest.mark.parametrize("result", ["r1", "r2"])
def test_a_form_that_was_asked_for_is_replayed_with_its_correction(
    analyst: MakeAnalyst, dataset: str, result: str
) -> None:
    steps = [query(dataset), END, query(dataset, TOTAL), step("finish", result_ids=[result])]
    agent = analyst(steps)
    output = agent.ask(datasets=[dataset], output_type="number")

    assert (output["value"], bool(output["error"])) == ((100, False) if result == "r2" else (None, True))
    assert again(output, agent.services.settings).differences == []


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"files": ["no_such_file.csv"]},
        {"files": ["file_0123456789abcdef"]},
        {"datasets": ["ds_0123456789abcdef"]},
        {"question": " ", "datasets": ["ds_0123456789abcdef"]},
    ],
)
def test_a_run_that_could_not_begin_is_replayed_as_that(analyst: MakeAnalyst, given: dict[str, Any]) -> None:
    agent = analyst()
    output = agent.ask(**given)

    assert output["error"]
    assert again(output, agent.services.settings).differences == []


def test_a_file_that_could_not_be_read_is_replayed_as_that(analyst: MakeAnalyst, tmp_path: Path) -> None:
    broken = tmp_path / "book.xlsx"
    broken.write_bytes(b"PK\x03\x04 broken")
    agent = analyst()
    output = agent.ask(files=[str(broken)])
    broken.unlink()

    assert output["error"]["code"] == "file_unreadable"
    assert again(output, agent.services.settings).differences == []


@pytest.mark.heavy
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_question_that_was_clarified_is_replayed_with_what_was_asked(
    analyst: MakeAnalyst, returns: str, dataset: str, rounds: int
) -> None:
    other = step("ask_user", question="Which account?", options=["alpha", "beta"])
    agent = analyst([BACK, other, END][:rounds] + [query(dataset), END], checkpointer=InMemorySaver())
    outputs = [agent.ask(files=[returns])]
    outputs += [agent.ask(clarification_answer=answer) for answer in ("February", "beta")[:rounds]]

    assert "Clarified: Which month? - February" in agent.prompts()[-1]
    assert outputs[-1]["error"] is None
    assert [again(output, agent.services.settings).differences for output in outputs] == [[]] * (rounds + 1)


def test_a_limit_that_was_reached_is_reached_again(analyst: MakeAnalyst, dataset: str) -> None:
    agent = analyst([query(dataset), query(dataset, TOTAL), END], max_steps=1)
    output = agent.ask(datasets=[dataset])
    today = agent.services.settings.model_copy(update={"max_steps": 8})

    assert output["error"]["code"] == "budget_exceeded"
    assert again(output, today).differences == []


def test_an_endpoint_that_cannot_call_tools_is_replayed_the_same(analyst: MakeAnalyst, dataset: str) -> None:
    settings = analyst().services.settings
    answers = [{**each, "arguments": json.dumps(each["arguments"])} for each in (query(dataset), END)]
    with FakeOpenAI([HTTPReply(status=400), *answers, *answers]) as server:
        asked = settings.model_copy(update={"llm_base_url": server.base_url, "llm_model": "fake"})
        graph = build_analyst(Services(asked))
        outputs = [graph.invoke({"question": QUESTION, "datasets": [dataset]}) for _ in range(2)]
        assert [output["error"] for output in outputs] == [None, None]
        asked_so_far = len(server.requests)
        assert [again(output, settings).differences for output in outputs] == [[], []]
        assert len(server.requests) == asked_so_far


@pytest.mark.heavy
@pytest.mark.parametrize("spec", [BY_ACCOUNT, {"group_by": ["no such"]}, "{"])
def test_the_embedded_model_is_replayed(analyst: MakeAnalyst, returns: str, spec: Any) -> None:
    settings = analyst().services.settings
    services = Services(settings, model=ScriptedModel({"QuerySpec": [spec]}), embedded=EmbeddedOptions())
    output = build_analyst(services).invoke({"question": "每个账号的退货数量", "files": [returns]})

    assert again(output, settings).differences == []


# What is gone


def test_a_dataset_that_is_gone(analyst: MakeAnalyst, dataset: str) -> None:
    agent = analyst([query(dataset), END])
    output = agent.ask(datasets=[dataset])
    agent.services.registry.delete_dataset(dataset)
    with pytest.raises(NotFound, match=dataset):
        again(output, agent.services.settings)


def test_a_file_that_is_gone_and_comes_back(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst([query(dataset), END])
    output = agent.ask(files=[returns])
    registry = agent.services.registry
    file_id = registry.dataset(dataset).file_id
    registry.delete_file(file_id)
    with pytest.raises(NotFound, match=file_id):
        again(output, agent.services.settings)
    registry.add_file(Path(returns))
    assert again(output, agent.services.settings).differences == []


def test_a_dataset_of_a_file_is_made_again(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst([query(dataset), END])
    output = agent.ask(files=[returns])
    agent.services.registry.delete_dataset(dataset)
    assert again(output, agent.services.settings).differences == []


def test_no_other_source_can_stand_for_datasets(analyst: MakeAnalyst, dataset: str) -> None:
    agent = analyst([query(dataset), END])
    output = agent.ask(datasets=[dataset])
    with pytest.raises(SourceNotFound, match="datasets"):
        again(output, agent.services.settings, "sample")


def test_a_configured_source_that_does_not_answer_does_not_matter(analyst: MakeAnalyst, dataset: str) -> None:
    agent = analyst([query(dataset), END], source="postgresql://reader:a-long-password@127.0.0.1:1/dwh")
    output = agent.ask(datasets=[dataset])
    today = agent.services.settings.model_copy(update={"source": ""})
    assert again(output, today).differences == []


def test_the_command_replays_and_says_what_is_gone(
    analyst: MakeAnalyst, returns: str, dataset: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = analyst([query(dataset), END])
    trace = agent.ask(files=[returns])["audit"]["trace_id"]
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(agent.services.settings.cache_dir))
    code, out, _ = run("trace", "replay", trace)
    assert (code, out.strip()) == (errors.ANSWERED, f"trace {trace}: 8 steps, nothing differs")
    change(agent.services.settings, "statement", '"result_hash":"', '"result_hash":"0')
    code, out, _ = run("trace", "replay", trace)
    assert code == errors.DOMAIN
    assert "run_tool: statement result_hash" in out
    registry = agent.services.registry
    registry.delete_file(registry.dataset(dataset).file_id)
    code, out, err = run("trace", "replay", trace)
    assert (code, out) == (errors.USAGE, "")
    assert "There is no file file_" in err
