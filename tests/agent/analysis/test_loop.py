"""The loop of the analyst: what it does without the model, what the model may do, and where it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.datasets.options import DETECT, LoadOptions
from datasphinx.agent.errors import SourceUnreachable
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.record.store import open_store
from datasphinx.agent.services import Services
from tests.agent.analysis.conftest import BY_ACCOUNT, QUESTION, TOTAL, MakeAnalyst, calls, query, step, tools

AS_NUMBERS = LoadOptions(types={"cost": "number"})
DONE = step("finish", answer="{max.returns}")
LARGEST = "{max.returns:账号} has {max.returns} of {r2.returns}."
NOT_AN_ANSWER = {"output_type": None, "value": None}


def test_a_question_is_answered_from_a_file(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst(
        [
            query(dataset),
            step("finish", answer="{list.账号:returns}", result_ids=["r1"]),
        ]
    )
    output = agent.ask(files=[returns])

    assert output["error"] is None
    assert output["answer"] == "alpha (30) and beta (70)"
    assert output["output_type"] == "dataframe"
    (table,) = output["tables"]
    assert (table["columns"], table["rows"]) == (["账号", "returns"], [["alpha", 30], ["beta", 70]])
    assert output["value"] == output["tables"][0]
    assert output["sql"].startswith("SELECT")
    assert tools(output) == ["create_dataset", "get_schema", "run_query"]
    assert output["audit"]["llm_calls"] == 2


def test_files_that_no_result_reads_are_named(analyst: MakeAnalyst, returns: str, sales: str, dataset: str) -> None:
    output = analyst([query(dataset), DONE]).ask(files=[returns, sales])
    assert output["answer"].endswith("These files were not used: sales.csv.")


def test_the_record_tells_of_every_call(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    output = analyst([query(dataset), DONE]).ask(files=[returns])
    (made,) = calls(output, "run_query")

    assert made["node"] == "run_tool"
    assert (made["rows"], made["result_id"], made["error"]) == (2, "r1", None)
    assert made["arguments"]["dataset_id"] == dataset
    assert made["latency_ms"] >= 0
    assert len(made["statements"]) == 1
    assert json.loads(json.dumps(output)) == output


def test_the_schema_is_read_before_the_model_is_asked(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst([step("finish", cannot_answer="no")])
    agent.ask(files=[returns], output_type="number")
    (prompt,) = agent.prompts()

    assert "退货数量" in prompt and '"max": 40' in prompt
    assert QUESTION in prompt
    assert "one number" in prompt
    assert "Calls left before you have to finish: 8" in prompt


def test_datasets_and_files_that_are_kept_are_asked_by_id(analyst: MakeAnalyst, dataset: str) -> None:
    agent = analyst([step("finish", cannot_answer="no")] * 2)
    file_id = agent.services.registry.dataset(dataset).file_id

    assert tools(agent.ask(datasets=[dataset])) == ["get_schema"]
    assert tools(agent.ask(files=[file_id])) == ["create_dataset", "get_schema"]


def test_of_many_datasets_the_model_chooses(analyst: MakeAnalyst, tmp_path: Path) -> None:
    files = []
    for number in range(6):
        files.append(tmp_path / f"t{number}.csv")
        files[-1].write_text(f"a{number}\n{number}\n")
    output = analyst([step("finish", cannot_answer="no")]).ask(files=[str(file) for file in files])

    assert (tools(output).count("create_dataset"), tools(output).count("get_schema")) == (6, 4)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "data_missing"),
        ({"files": []}, "data_missing"),
        ({"files": ["no_such_file.csv"]}, "file_unknown"),
        ({"files": ["\0"]}, "file_unknown"),
        ({"files": ["file_0123456789abcdef"]}, "file_unknown"),
        ({"datasets": ["ds_0123456789abcdef"]}, "dataset_unknown"),
        ({"datasets": ["../../etc"]}, "dataset_unknown"),
        ({"question": "  "}, "invalid_question"),
        ({"question": "x" * 20_000}, "question_too_long"),
    ],
)
def test_what_cannot_be_begun_is_told(analyst: MakeAnalyst, given: dict[str, Any], code: str) -> None:
    agent = analyst()
    output = agent.ask(**given)

    assert output["error"]["code"] == code
    assert output["answer"] == output["error"]["message"]
    assert agent.model.calls == []


def test_a_file_that_cannot_be_read_ends_the_question(analyst: MakeAnalyst, tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    path.write_bytes(b"PK\x03\x04 broken")
    agent = analyst()

    assert agent.ask(files=[str(path)])["error"]["code"] == "file_unreadable"
    assert agent.model.calls == []


def test_where_only_configured_sources_may_be_asked_no_path_is_read(analyst: MakeAnalyst, returns: str) -> None:
    agent = analyst()
    services = Services(agent.services.settings, model=agent.model, any_source=False)
    output = build_analyst(services).invoke({"question": QUESTION, "files": [returns]})

    assert output["error"]["code"] == "file_unknown"


# The model's calls


def test_every_tool_can_be_called(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst(
        [
            step("create_dataset", file_id="{file}", header_row=1),
            step("resolve_fields", dataset_id=dataset, terms=["退货"]),
            step("sample_rows", dataset_id=dataset, n=1),
            query(dataset),
            step("plot", result_id="r1", plot={"chart_type": "pie", "x": "账号", "y": "returns"}),
            step("get_schema", dataset_id=dataset, extra=1),
            step("finish", answer="Of {min.returns} and {max.returns}."),
        ]
    )
    output = agent.ask(files=[returns])

    assert tools(output)[2:] == [
        "create_dataset", "resolve_fields", "sample_rows", "run_query", "plot", "get_schema"
    ]  # fmt: skip
    assert [chart["type"] for chart in output["charts"]] == ["pie"]
    assert output["error"] is None
    assert calls(output, "create_dataset")[1]["error"]


def test_a_wrong_call_is_told_and_mended(analyst: MakeAnalyst, dataset: str) -> None:
    wrong = query(dataset, {**BY_ACCOUNT, "group_by": ["帐号"]})
    agent = analyst([wrong, query(dataset), DONE])
    output = agent.ask(datasets=[dataset])

    assert output["error"] is None
    assert "group_by[0]" in agent.prompts()[1] and "there is no column" in agent.prompts()[1]
    assert [bool(made["error"]) for made in calls(output, "run_query")] == [True, False]


def test_a_call_is_not_made_twice(analyst: MakeAnalyst, dataset: str) -> None:
    agent = analyst([query(dataset), query(dataset, {**BY_ACCOUNT, "filters": []}), DONE])
    output = agent.ask(datasets=[dataset])
    first, second = calls(output, "run_query")

    assert (first["error"], len(first["statements"]), len(second["statements"])) == (None, 1, 0)
    assert "call 2 was the same" in second["error"]
    assert "call 2 was the same" in agent.prompts()[2]


def several(*steps: dict[str, Any]) -> str:
    """A reply with several calls, as the client hands them on."""
    return json.dumps(steps)


def test_the_calls_of_one_reply_are_made_in_order(analyst: MakeAnalyst, dataset: str) -> None:
    plot = step("plot", result_id="r1", plot={"chart_type": "bar", "x": "账号", "y": "returns"})
    done = step("finish", answer=LARGEST, result_ids=["r1", "r2"])
    agent = analyst([several(query(dataset), plot, query(dataset, TOTAL), done)])
    output = agent.ask(datasets=[dataset])

    assert output["error"] is None
    assert tools(output) == ["get_schema", "run_query", "plot", "run_query"]
    assert output["audit"]["llm_calls"] == 1
    assert len(output["charts"]) == 1


def test_a_failed_call_keeps_the_reply_from_ending(analyst: MakeAnalyst, dataset: str) -> None:
    wrong = query(dataset, {**BY_ACCOUNT, "group_by": ["帐号"]})
    first = several(query(dataset), wrong, query(dataset, TOTAL), DONE)
    agent = analyst([first, step("finish", answer="There are {returns} returns.", result_ids=["r2"])])
    output = agent.ask(datasets=[dataset])

    assert (output["answer"], output["value"]) == ("There are 100 returns.", 100)
    assert [bool(made["error"]) for made in calls(output, "run_query")] == [False, True, False]
    assert "Calls left before you have to finish: 5" in agent.prompts()[1]


def test_calls_beyond_the_limit_are_left_out_and_the_model_may_finish(analyst: MakeAnalyst, dataset: str) -> None:
    queries = [query(dataset, {**BY_ACCOUNT, "limit": at + 1}) for at in range(5)]
    agent = analyst([several(*queries), step("finish", answer="beta has 70.", result_ids=["r2"])], max_steps=2)
    output = agent.ask(datasets=[dataset])

    assert (output["error"], len(calls(output, "run_query"))) == (None, 2)
    assert "Calls left before you have to finish: 0" in agent.prompts()[1]


def test_a_reply_in_words_is_the_answer_and_its_figures_are_checked(analyst: MakeAnalyst, dataset: str) -> None:
    right = "The account {max.returns:账号} has {max.returns} returns."
    agent = analyst(["It is {returns}.", query(dataset), "{max.returns:账号} has 71 returns.", right])
    output = agent.ask(datasets=[dataset])

    assert output["answer"] == "The account beta has 70 returns."
    assert "there is no result yet" in agent.prompts()[1]
    assert "71" in agent.prompts()[3] and "is typed" in agent.prompts()[3]


def test_fields_of_a_query_and_of_a_chart_may_stand_beside_the_ids(analyst: MakeAnalyst, dataset: str) -> None:
    flat = {"group_by": ["账号"], "aggregations": [{"col": "退货数量", "agg": "sum", "as": "returns"}]}
    sort = [{"col": "returns", "dir": "desc"}]
    asked = step("run_query", dataset_id=dataset, filters=[], joins=None, **flat, sort=sort, limit=5)
    drawn = step("plot", result_id="r1", chart_type="bar", x="账号", y=["returns"], title="Returns")
    output = analyst([asked, drawn, DONE]).ask(datasets=[dataset])

    assert (output["error"], tools(output)) == (None, ["get_schema", "run_query", "plot"])
    assert output["tables"][0]["rows"][0] == ["beta", 70]
    assert [chart["type"] for chart in output["charts"]] == ["bar"]


def test_objects_may_be_json_texts(analyst: MakeAnalyst, dataset: str) -> None:
    text = step("run_query", dataset_id=dataset, query=json.dumps(TOTAL))
    drawn = step("plot", result_id="r2", plot=json.dumps({"chart_type": "bar", "x": "账号", "y": "returns"}))
    output = analyst([text, query(dataset), drawn, step("finish", result_ids=["r1"])]).ask(datasets=[dataset])

    assert (output["value"], len(output["charts"])) == (100, 1)


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_steps_are_limited_and_what_was_found_comes_out(analyst: MakeAnalyst, dataset: str, limit: int) -> None:
    steps = [query(dataset, {**BY_ACCOUNT, "limit": at + 1}) for at in range(20)]
    agent = analyst(steps, max_steps=limit)
    output = agent.ask(datasets=[dataset])

    assert output["error"]["code"] == "budget_exceeded"
    assert f"{limit} steps" in output["answer"]
    assert len(calls(output, "run_query")) == len(output["tables"]) == limit
    assert len(agent.model.calls) == limit + 1
    assert output["sql"]


def test_every_call_that_the_model_chooses_is_a_step(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    file_id = analyst().services.registry.dataset(dataset).file_id
    opened = [step("create_dataset", file_id=file_id, header_row=row) for row in range(20)]
    read = [step("get_schema", dataset_id=dataset) for _ in range(20)]
    for steps in (opened, read):
        agent = analyst(steps, max_steps=3)
        output = agent.ask(files=[returns])

        assert output["error"]["code"] == "budget_exceeded"
        assert len(agent.model.calls) == 4
        assert "Calls left before you have to finish: 1" in agent.prompts()[2]
    assert len(calls(analyst(opened, max_steps=3).ask(files=[returns]), "create_dataset")) == 4


@pytest.mark.parametrize("max_steps", [0, 9])
def test_steps_cannot_be_set_beyond_eight(analyst: MakeAnalyst, max_steps: int) -> None:
    with pytest.raises(Exception, match="MAX_STEPS"):
        analyst(max_steps=max_steps)


@pytest.mark.parametrize(("setting", "value"), [("max_llm_calls", 1), ("max_llm_tokens", 10), ("max_question_s", 1e-6)])
def test_budgets_end_the_question_with_what_was_found(
    analyst: MakeAnalyst, dataset: str, setting: str, value: float
) -> None:
    agent = analyst([query(dataset), DONE], **{setting: value})
    output = agent.ask(datasets=[dataset])

    assert output["error"]["code"] == "budget_exceeded"
    assert setting.upper() in output["answer"]
    assert len(output["tables"]) == (0 if setting == "max_question_s" else 1)


def test_a_budget_in_money_ends_the_question_with_what_was_found(
    analyst: MakeAnalyst, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ScriptedModel, "_llm_type", "gpt-4o")
    output = analyst([query(dataset), DONE], max_cost_usd=1e-6).ask(datasets=[dataset])

    assert output["error"]["code"] == "budget_exceeded"
    assert "1e-06 US dollars" in output["answer"]
    assert len(output["tables"]) == 1 and output["audit"]["llm_cost_usd"] > 1e-6


class Slow:
    """A source whose grouped statements run until they are cancelled."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def execute(self, sql: str, cancellation: Any = None, **given: Any) -> Any:
        while "GROUP BY" in sql and not cancellation.requested:
            pass
        return self.source.execute(sql, cancellation, **given)


def test_a_slow_tool_is_told(analyst: MakeAnalyst, dataset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Services.datasets
    monkeypatch.setattr(Services, "datasets", lambda self, ids: Slow(opened(self, ids)))
    agent = analyst([query(dataset), step("finish", cannot_answer="too slow")], statement_timeout_s=0.5)
    output = agent.ask(datasets=[dataset])

    assert "stopped after 0.5 s" in calls(output, "run_query")[0]["error"]
    assert "tool_timeout" in agent.prompts()[1]
    assert "filter rows, read fewer columns or set a smaller limit" in agent.prompts()[1]


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        (['{"tool": '] * 2, "model_answer_unreadable"),
        ([], "model_unreachable"),
        ([ZeroDivisionError("a defect")], "internal_error"),
    ],
)
def test_a_model_that_fails_ends_the_question(
    analyst: MakeAnalyst, dataset: str, answers: list[Any], code: str
) -> None:
    output = analyst([query(dataset), *answers]).ask(datasets=[dataset])

    assert output["error"]["code"] == code
    assert [table["name"] for table in output["tables"]] == ["r1"]


def test_a_store_that_fails_ends_the_question(
    analyst: MakeAnalyst, dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(self: Services, dataset_ids: Any) -> Any:
        raise SourceUnreachable("the store", "gone")

    monkeypatch.setattr(Services, "datasets", gone)

    assert analyst().ask(datasets=[dataset])["error"]["code"] == "source_unreachable"


# The end


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"answer": "70", "result_ids": ["r2"]}, "result_ids[0]"),
        ({"reply": "70"}, "reply"),
        ({"answer": 7}, "answer"),
    ],
)
def test_a_wrong_end_is_told_and_costs_a_step(
    analyst: MakeAnalyst, dataset: str, wrong: dict[str, Any], path: str
) -> None:
    agent = analyst([query(dataset), step("finish", **wrong), DONE])

    assert agent.ask(datasets=[dataset])["error"] is None
    assert f'"path": "{path}"' in agent.prompts()[2]
    assert "Calls left before you have to finish: 6" in agent.prompts()[2]


@pytest.mark.parametrize(
    ("question", "reason", "text"),
    [
        (QUESTION, "There is no weather in the file, only returns.", "The data cannot answer this question"),
        ("Какая погода была в мае?", "В файле нет погоды.", "По этим данным ответить на вопрос нельзя"),
        ("五月的天气怎么样？", "文件中没有天气数据。", "这些数据无法回答该问题"),
    ],
)
def test_why_the_data_cannot_answer_is_the_answer(
    analyst: MakeAnalyst, dataset: str, question: str, reason: str, text: str
) -> None:
    output = analyst([step("finish", cannot_answer=reason)]).ask(question, datasets=[dataset])

    assert output["error"] == {"code": "cannot_answer", "message": text}
    assert output["answer"] == reason
    assert not any(reason in note for note in output["audit"]["notes"])


@pytest.mark.stored_record
def test_why_a_draft_was_refused_is_on_the_record_and_in_no_note(analyst: MakeAnalyst, dataset: str) -> None:
    wrong = step("finish", answer="There are 98,765 returns.")
    agent = analyst([query(dataset), wrong, wrong])
    output = agent.ask(datasets=[dataset])
    steps = [
        event for event in open_store(agent.services.settings).run(output["audit"]["trace_id"]) if event.kind == "step"
    ]

    assert "answer refused" not in str(output["audit"]["notes"])
    assert any("answer refused: " in event.body for event in steps)


def test_notes_are_those_of_the_reading_that_the_answer_is_from(analyst: MakeAnalyst, tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("item,cost\n" + "".join(f"a,{number}\n" for number in range(16)) + "b,free\nc,free\n")
    registry = analyst().services.registry
    file_id = registry.add_file(path)
    found, read = (registry.create(file_id, options).dataset_id for options in (DETECT, AS_NUMBERS))
    total = {"aggregations": [{"as": "cost", "agg": "sum", "col": "cost"}]}
    rows = {"aggregations": [{"as": "rows", "agg": "count", "col": "*"}]}
    again = step("create_dataset", file_id=file_id, types={"cost": "number"})
    text, emptied = "it stays text", "became empty"
    for steps, expected in (
        ([query(found, rows), again], [text]),
        ([again, query(read, total)], [emptied]),
        ([again, query(read, total), step("run_query", dataset_id="r1", query=rows)], [emptied]),
        (
            [again, query(found, rows), query(read, total), step("finish", answer="{cost}", result_ids=["r2"])],
            [emptied],
        ),
        ([again, step("finish", reply="You are welcome.")], []),
    ):
        notes = analyst([*steps, step("finish")]).ask(files=[str(path)])["audit"]["notes"]
        told = [note for note in notes if note.startswith("cost: ")]
        assert [part in note for note, part in zip(told, expected, strict=True)] == [True] * len(expected)


def test_a_reason_with_unknown_figures_is_returned_once(analyst: MakeAnalyst, dataset: str) -> None:
    reason = "The highest returns were 9,871, but there is no weather."
    wrong, right = step("finish", cannot_answer=reason), step("finish", cannot_answer="There is no weather.")
    agent = analyst([wrong, right])

    assert agent.ask(datasets=[dataset])["answer"] == "There is no weather."
    assert "9,871" in agent.prompts()[1]
    for output in (analyst([wrong, wrong]).ask(datasets=[dataset]), analyst([wrong]).ask(datasets=[dataset])):
        assert (output["error"]["code"], output["answer"]) == ("cannot_answer", "The data cannot answer this question")
        assert "The highest returns were" not in str(output["audit"]["notes"])


def test_a_form_that_cannot_be_is_corrected_once(analyst: MakeAnalyst, dataset: str) -> None:
    steps = [
        query(dataset),
        DONE,
        query(dataset, TOTAL),
        step("finish", result_ids=["r2"]),
    ]
    agent = analyst(steps)
    output = agent.ask(datasets=[dataset], output_type="number")

    assert (output["output_type"], output["value"]) == ("number", 100)
    assert "invalid_output_type" in agent.prompts()[2]


def test_the_column_of_a_number_is_asked_for(analyst: MakeAnalyst, dataset: str) -> None:
    both = {**TOTAL, "aggregations": [*TOTAL["aggregations"], {"as": "rows", "agg": "count", "col": "*"}]}
    select = {"from": "r1", "aggregations": [{"as": "number", "agg": "max", "col": "returns"}]}
    steps = [query(dataset, both), step("finish", output_type="number"), query(dataset, select)]
    for asked, proposed in (("number", None), (None, "number")):
        end = step("finish", output_type=proposed)
        agent = analyst([steps[0], end, steps[2], end])
        output = agent.ask("How many returns are there?", datasets=[dataset], output_type=asked)

        assert (output["output_type"], output["value"]) == ("number", 100)
        assert "r1 has one row with several columns" in agent.prompts()[2]
        assert '{\\"from\\": \\"r1\\"' in agent.prompts()[2]
    insisting = analyst([steps[0], end, end]).ask("How many returns are there?", datasets=[dataset])
    assert (insisting["output_type"], insisting["error"]) == ("dataframe", None)


def test_the_column_of_a_number_is_the_one_that_the_answer_refers_to(analyst: MakeAnalyst, dataset: str) -> None:
    both = {**TOTAL, "aggregations": [*TOTAL["aggregations"], {"as": "rows", "agg": "count", "col": "退货数量"}]}
    end = step("finish", answer="There are {rows} of them.", output_type="number")
    agent = analyst([query(dataset, both), end, end])
    agent.ask("How many rows are there?", datasets=[dataset])

    assert "one has" not in agent.prompts()[2] and '"col\\": \\"rows\\"' in agent.prompts()[2]


def test_a_chart_that_is_missing_is_asked_for_once_and_told(analyst: MakeAnalyst, dataset: str) -> None:
    total, end = query(dataset, TOTAL), step("finish", output_type="plot")
    agent = analyst([total, end, query(dataset), step("finish", output_type="plot", result_ids=["r2"])])
    output = agent.ask("Draw the returns", datasets=[dataset])
    assert (output["output_type"], len(output["charts"])) == ("plot", 1)
    assert "draw it with plot" in agent.prompts()[2] and "There is no chart" not in output["answer"]

    insisting = analyst([total, end, end]).ask("Draw the returns", datasets=[dataset])
    assert (insisting["output_type"], insisting["error"]) == ("number", None)
    drawn = step("plot", result_id="r1", plot={"chart_type": "bar", "x": "weather", "y": "returns"})
    failed = analyst([query(dataset), drawn, step("finish")]).ask("Draw the returns", datasets=[dataset])
    for answer in (insisting["answer"], failed["answer"]):
        assert "There is no chart: these rows cannot be drawn as one." in answer


def test_columns_of_a_joined_file_have_their_own_names(
    analyst: MakeAnalyst, dataset: str, keep: Any, data_dir: Path
) -> None:
    other = keep(data_dir, "rates.csv", "账号,rate\nalpha,2\nbeta,3\n")
    spec = {
        "joins": [{"dataset": other, "on": {"账号": "账号"}}],
        "group_by": ["账号", f"{other}.rate"],
        "aggregations": BY_ACCOUNT["aggregations"],
    }
    answer = f'{{list|{{账号}} {{"{other}.rate"}}: {{returns}}}}'
    output = analyst([query(dataset, spec), step("finish", answer=answer)]).ask(datasets=[dataset, other])

    assert output["tables"][0]["columns"] == ["账号", "rate", "returns"]
    assert output["answer"].startswith("alpha 2: 30") or output["answer"].startswith("Alpha 2: 30")


def test_what_was_guessed_of_a_file_stands_once_in_the_prompt(analyst: MakeAnalyst, tmp_path: Path) -> None:
    path = tmp_path / "months.csv"
    path.write_text(MONTHS, encoding="utf-8")
    agent = analyst([step("finish", cannot_answer="no")])
    agent.ask(files=[str(path)])

    assert agent.prompts()[0].count("were read as their first day") == 1


def test_results_of_probes_are_no_answer(analyst: MakeAnalyst, dataset: str) -> None:
    output = analyst([query(dataset), step("finish", cannot_answer="There is no weather.")]).ask(datasets=[dataset])

    assert (output["answer"], output["error"]["code"]) == ("There is no weather.", "cannot_answer")
    assert (output["tables"], output["charts"], output["sql"]) == ([], [], None)


def test_the_model_sees_the_whole_of_its_expressions_and_of_notes(analyst: MakeAnalyst, dataset: str) -> None:
    expression = " + ".join(["退货数量"] * 60)
    call = step("run_query", dataset_id=dataset, query={"derived": [{"as": "much", "expr": expression}], "limit": 1})
    wrong = step("run_query", dataset_id=dataset, query={"derived": [{"as": "x", "expr": "unknown(退货数量)"}]})
    agent = analyst([call, wrong, step("finish", cannot_answer="no")])
    agent.ask(datasets=[dataset])

    assert expression in agent.prompts()[1]
    assert "there is no function unknown, only" in agent.prompts()[2] and "moving_avg" in agent.prompts()[2]


def test_a_form_that_cannot_be_twice_is_an_error(analyst: MakeAnalyst, dataset: str) -> None:
    agent = analyst([query(dataset), DONE, step("finish", answer="70")])
    output = agent.ask(datasets=[dataset], output_type="number")

    assert output["error"]["code"] == "invalid_output_type"
    assert [table["name"] for table in output["tables"]] == ["r1"]


def test_a_chart_that_is_wanted_is_the_value(analyst: MakeAnalyst, dataset: str) -> None:
    drawn = step("plot", result_id="r1", plot={"chart_type": "bar", "x": "账号", "y": "returns"})
    output = analyst([query(dataset), drawn, step("finish")]).ask(datasets=[dataset], output_type="plot")

    assert output["output_type"] == "plot"
    assert output["value"] == output["charts"][0]
    assert output["charts"][0]["option"]["series"][0]["data"] == [30, 70]


# Questions to the user

ASKED = step("ask_user", question="Which account?", options=["alpha", "beta"])


def test_the_user_is_asked_and_the_answer_goes_on(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst([ASKED, query(dataset), DONE], checkpointer=InMemorySaver())
    first = agent.ask(files=[returns])

    assert first["clarification"]["question"] == "Which account?"
    assert [option["label"] for option in first["clarification"]["options"]] == ["alpha", "beta"]
    assert (first["error"], first["value"]) == (None, None)
    assert "Which account?" in first["answer"]

    second = agent.ask(clarification_answer="beta")
    assert (second["answer"], second["clarification"]) == ("70", None)
    assert "Clarified: Which account? - beta" in agent.prompts()[1]


def test_an_answer_in_own_words_is_read_with_the_options(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst([ASKED, query(dataset), DONE], checkpointer=InMemorySaver())
    agent.ask(files=[returns])
    agent.ask(clarification_answer="the second one")

    assert "Clarified: Which account? (1. alpha; 2. beta) - the second one" in agent.prompts()[1]


def test_the_same_is_not_asked_twice(analyst: MakeAnalyst, returns: str, dataset: str) -> None:
    agent = analyst([ASKED, ASKED, query(dataset), DONE], checkpointer=InMemorySaver())
    agent.ask(files=[returns])
    second = agent.ask(clarification_answer="beta")

    assert (second["answer"], second["clarification"]) == ("70", None)
    assert "the user is not asked" in agent.prompts()[2]


def test_nobody_is_asked_where_that_is_not_wanted(analyst: MakeAnalyst, dataset: str) -> None:
    agent = analyst([ASKED, query(dataset), DONE])
    output = agent.ask(datasets=[dataset], clarify="never")

    assert (output["answer"], output["clarification"]) == ("70", None)
    assert "Do not ask the user" in agent.prompts()[0]


# Narration


def test_a_rejected_answer_returns_to_the_plan_with_what_is_missing(analyst: MakeAnalyst, dataset: str) -> None:
    wrong = step("finish", answer="{max.returns:账号} has {max.returns} of {r2.returns} returns, gamma 12.")
    agent = analyst(
        [query(dataset), wrong, query(dataset, TOTAL), step("finish", answer="There are {returns} returns.")]
    )
    output = agent.ask(datasets=[dataset])

    assert (output["answer"], output["value"]) == ("There are 100 returns.", 100)
    assert [table["name"] for table in output["tables"]] == ["r2"]
    assert "12" in agent.prompts()[2] and "is typed; refer to a column" in agent.prompts()[2]
    assert "compute what they lack with run_query" in agent.prompts()[2]
    assert "Calls left before you have to finish: 7" in agent.prompts()[2]


@pytest.mark.parametrize("before", [[], [0]])
def test_what_a_model_says_beside_its_calls_is_no_answer(analyst: MakeAnalyst, dataset: str, before: list[int]) -> None:
    end = step("finish", answer="There are {returns} returns.")
    done = [query(dataset) for _ in before]
    output = analyst([*done, "Let me look at the data first.", query(dataset, TOTAL), end]).ask(datasets=[dataset])

    assert (output["error"], output["answer"]) == (None, "There are 100 returns.")


def test_a_rejected_answer_is_the_last_resort(analyst: MakeAnalyst, dataset: str) -> None:
    steps = [query(dataset), step("finish", answer="beta has 71 returns.")]
    for more in ([], [query(dataset, TOTAL)], ['{"tool": '] * 2):
        output = analyst([*steps, *more], max_steps=1).ask(datasets=[dataset])

        assert output["error"] is None
        assert "| beta | 70 |" in output["answer"] and "71" not in output["answer"]


def test_results_that_the_answer_needs_are_added(analyst: MakeAnalyst, dataset: str) -> None:
    rows = {"aggregations": [{"as": "highest", "agg": "max", "col": "退货数量"}]}
    ends = step(
        "finish",
        answer="Up to {r3.highest}, in all {max.returns}.",
        result_ids=["r1"],
    )
    output = analyst([query(dataset), query(dataset, TOTAL), query(dataset, rows), ends]).ask(datasets=[dataset])

    assert output["error"] is None
    assert [table["name"] for table in output["tables"]] == ["r1", "r3"]


def test_figures_may_come_from_every_result_that_is_named(analyst: MakeAnalyst, dataset: str) -> None:
    steps = [query(dataset), query(dataset, TOTAL)]
    both = step("finish", answer=LARGEST, result_ids=["r1", "r2"])
    output = analyst([*steps, both]).ask(datasets=[dataset])
    only = analyst([*steps, step("finish", answer=LARGEST, result_ids=["r1"])]).ask(datasets=[dataset])

    assert output["answer"] == "beta has 70 of 100."
    assert [table["name"] for table in output["tables"]] == ["r1", "r2"]
    assert only["answer"] == output["answer"], "the total follows from the first result alone"


@pytest.mark.parametrize(("stated", "answer"), [("de", "Es sind 1.234,5."), ("sv", "Es sind 1,234.5.")])
def test_the_model_states_the_language_of_the_answer(
    analyst: MakeAnalyst, keep: Any, data_dir: Path, stated: str, answer: str
) -> None:
    dataset = keep(data_dir, "sales.csv", "sales\n1234.5\n")
    total = {"aggregations": [{"as": "sales", "agg": "sum", "col": "sales"}]}
    output = analyst([query(dataset, total), step("finish", answer="Es sind {sales}.", language=stated)]).ask(
        "Umsatz?", datasets=[dataset]
    )

    assert output["answer"] == answer
    assert output["language"] == {"de": "de", "sv": "en"}[stated]


MONTHS = "month,sales\n2024-01,10\n2024-02,25\n2024-03,40\n"
BY_MONTH = {"group_by": ["month"], "aggregations": [{"as": "sales", "agg": "sum", "col": "sales"}],
            "sort": [{"by": "month"}]}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("在 1-3 月呈上升趋势", None),
        ("在 2-3 月上升", None),
        (
            "从 {1.month} 到 {3.month}，销售额{?change.sales|上升|下降|不变} {change%.sales}",
            "从 2024年1月到 3月，销售额上升 300%",
        ),
        (
            "最高为 {max.sales}（{max.sales:month}），合计 {sum.sales}，占 {share.max.sales}",
            "最高为 40（2024年3月），合计 75，占 53.3%",
        ),
        ("{2.month}为 {2.sales}", "2024年2月为 25"),
        ("销售额为 {2.sales}", None),
    ],
)
def test_figures_and_periods_of_an_answer_are_references(
    analyst: MakeAnalyst, keep: Any, data_dir: Path, answer: str, expected: str | None
) -> None:
    dataset = keep(data_dir, "months.csv", MONTHS)
    steps = [query(dataset, BY_MONTH), *[step("finish", answer=answer, formats={"month": "month"})] * 2]
    output = analyst(steps).ask("销售额的趋势如何？", datasets=[dataset])

    assert output["error"] is None
    if expected:
        assert output["answer"] == expected
    else:
        assert "|" in output["answer"]


def test_reasons_and_questions_state_no_invented_figure(analyst: MakeAnalyst, dataset: str) -> None:
    reason = step("finish", cannot_answer="Revenue was 98765 in 2019, which is not in the data.")
    assert "98765" not in analyst([reason] * 2).ask(datasets=[dataset])["answer"]

    asked = step("ask_user", question="The 98765 returns of which account?", options=["alpha", "beta"])
    agent = analyst([asked, ASKED])
    assert agent.ask(datasets=[dataset])["clarification"]["question"] == "Which account?"
    assert "98765" in agent.prompts()[1]


@pytest.mark.parametrize(
    "end",
    [
        step("finish", reply="Beta returned most by far."),
        step("finish", cannot_answer="Alpha returned 70, and the costs are missing."),
        step("finish", cannot_answer="Beta returned most, and the costs are missing."),
        step("ask_user", question="Beta has 70: which one?", options=["the 70 of alpha", "the rest"]),
    ],
    ids=["reply about results", "figure of a result", "name of a result", "question"],
)
def test_no_text_types_what_only_the_results_say(analyst: MakeAnalyst, dataset: str, end: dict[str, Any]) -> None:
    agent = analyst([query(dataset), end, step("finish", answer="{list.账号:returns}")])

    assert agent.ask(datasets=[dataset])["answer"] == "alpha (30) and beta (70)"
    assert "is typed" in agent.prompts()[2] or "with references" in agent.prompts()[2]


def test_texts_without_rows_may_have_the_figures_of_the_schema(analyst: MakeAnalyst, keep: Any, data_dir: Path) -> None:
    years = keep(data_dir, "sales.csv", "year,sales\n2021,5\n2022,7\n2023,9\n")
    asked = step("ask_user", question="Which year is meant, 2022 or 2023?", options=["2022", "2023"])
    ended = step("finish", cannot_answer="The file has sales up to 2023 only.")
    wrong = step("ask_user", question="Is 2025 meant?", options=["2025", "2023"])

    assert analyst([asked]).ask(datasets=[years])["clarification"]["question"] == "Which year is meant, 2022 or 2023?"
    assert "up to 2023 only" in analyst([ended]).ask(datasets=[years])["answer"]
    agent = analyst([wrong, ended])
    assert agent.ask(datasets=[years])["clarification"] is None
    assert "2025" in agent.prompts()[1] and "is typed; nobody gave it" in agent.prompts()[1]


def test_a_reply_may_not_have_the_figures_of_the_schema(analyst: MakeAnalyst, dataset: str) -> None:
    reply = step("finish", reply="The most returns are 40.")
    agent = analyst([reply, query(dataset), step("finish", answer="{list.账号:returns}")])

    assert agent.ask(datasets=[dataset])["answer"] == "alpha (30) and beta (70)"


def test_the_name_of_a_result_column_says_only_what_was_said(analyst: MakeAnalyst, dataset: str) -> None:
    spec = {**BY_ACCOUNT, "aggregations": [{"as": "98765 in all", "agg": "sum", "col": "退货数量"}]}
    output = analyst([query(dataset, spec), *[step("finish", answer="Beta returned 98765 pieces.")] * 2]).ask(
        datasets=[dataset]
    )

    assert "98765" not in output["answer"]
    assert output["tables"][0]["columns"] == ["账号", 'SUM("退货数量")']


def test_at_high_effort_another_call_compares_the_answer_with_the_rows(analyst: MakeAnalyst, dataset: str) -> None:
    wrong = step("finish", answer="{max.returns:账号} has fewer returns, {max.returns}.")
    right = step("finish", answer="{max.returns:账号} has more returns, {max.returns}.")
    checks = [{"unsupported": ["beta has fewer returns"]}, {"unsupported": []}]
    agent = analyst([query(dataset), wrong, right], checks=checks, effort="high")

    assert agent.ask(datasets=[dataset])["answer"] == "beta has more returns, 70."
    assert "beta has fewer returns" in agent.prompts()[2]
    assert "beta has fewer returns, 70." in agent.prompts("CheckedText")[0]
