"""A report is planned, answered in parallel, reviewed and written; its figures all come from rows."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from datasphinx.agent.conversation.conversations import CANCELLATION
from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import ModelUnreachable
from datasphinx.agent.record.store import open_store
from datasphinx.agent.record.verify import verify
from datasphinx.agent.replay import replay
from datasphinx.agent.report.graph import build_report
from datasphinx.agent.sample.shop import shop_url
from tests.agent.report.conftest import (
    PLAN,
    REGIONS,
    REQUEST,
    STATEMENTS,
    TOTAL,
    WRITTEN,
    YEARS,
    MakeReport,
)
from tests.support.databases import make_database

pytestmark = pytest.mark.integration


def figures(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the text of each figure with its place in the parts."""
    for text in [report["summary"], *(section["text"] for section in report["sections"]), *report["limits"]]:
        for figure in text["figures"]:
            yield text["text"][figure["start"] : figure["end"]], figure


def test_every_figure_of_a_report_comes_from_the_rows_of_a_question(report: MakeReport) -> None:
    output = report().ask()
    written = output["report"]
    rows = {part["id"]: part["result"]["rows"] for part in written["parts"]}
    assert (output["status"], output["error"]) == ("ok", None)
    assert [section["title"] for section in written["sections"]] == ["By region", "By year"]
    found = dict(figures(written))
    leader = rows["q2"][0]
    assert found[f"{rows['q1'][0][0]:,} orders"]["part"] == "q1"
    assert found[leader[0]] == {**found[leader[0]], "part": "q2", "rows": [0]}
    assert found[f"{leader[1]:,}"]["part"] == "q2"
    assert found[str(rows["q3"][0][0])]["rows"] == [0]
    assert f"{rows['q1'][0][0]:,} orders" in output["answer"] and STATEMENTS[TOTAL] in output["answer"]


def test_the_rows_of_a_report_are_stored_once(report: MakeReport) -> None:
    made = report()
    graph, thread = build_report(made.services, InMemorySaver()), {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": REQUEST}, thread)
    leader = made.services.source(None).execute(STATEMENTS[REGIONS])["rows"][0]
    state = graph.get_state(thread).values
    assert [name for name, value in state.items() if str(leader) in str(value)] == ["report"]


def test_a_text_with_a_typed_figure_is_written_again_and_then_plain(report: MakeReport) -> None:
    wrong = {**WRITTEN, "summary": "There are 123,456 orders."}
    made = report({"WrittenReport": [wrong, wrong]})
    written = made.ask()["report"]
    assert written["summary"]["text"] == ""
    assert "123,456" not in str(written)
    repeated = [call for call in made.model.calls if call.schema_name == "WrittenReport"][1].prompt
    assert 'summary: the figure "123,456" is typed' in repeated


def test_a_refused_text_is_told_which_reference_of_which_question_is_wrong(report: MakeReport) -> None:
    beside = "{q3:max.orders:year} with {q3:max.orders}"
    summary = f"{{q2:f3}} of the orders, {{q2:1.orders}}, {{q3:1.orders}} and {{q3:-1.orders}}; {beside}."
    made = report({"WrittenReport": [{**WRITTEN, "summary": summary}, WRITTEN]})
    made.ask()
    repeated = [call for call in made.model.calls if call.schema_name == "WrittenReport"][1].prompt
    assert "summary: {q2:f3} needs {q2:f3.name} beside it" in repeated
    assert "summary: {?q3:change.orders|...|...|...} has to say the direction" in repeated
    assert "summary: {q2:1...} needs the names or period of its row beside it" in repeated


def test_the_figures_of_what_is_computed_have_the_rows_that_it_is_computed_of(report: MakeReport) -> None:
    summary = "{q2:sum.orders} orders, {?q3:change.orders|more|fewer|as many} by {q3:change.orders}."
    made = report({"WrittenReport": [{**WRITTEN, "summary": summary}]}).ask()["report"]
    regions, years = (made["parts"][at]["result"]["rows"] for at in (1, 2))
    found = [figure["rows"] for figure in made["summary"]["figures"]]
    assert found == [list(range(len(regions))), [0, len(years) - 1], [0, len(years) - 1]]


def test_the_words_of_the_questions_may_be_typed(report: MakeReport) -> None:
    """A label of a row that repeats a word of its question makes no name of it."""
    question = "How many orders are Large orders?"
    labelled = "SELECT 'Large orders' AS size, COUNT(*) AS orders FROM orders GROUP BY channel ORDER BY 2"
    summary = "{q1:max.orders} is the most of Large ones."
    made = report(
        {
            "ReportPlan": [{"questions": [{"question": question}]}],
            "WrittenReport": [{"title": "Large orders", "summary": summary}],
        },
        {question: labelled},
    )
    assert made.ask()["report"]["summary"]["text"].endswith(" is the most of Large ones.")


def test_each_row_of_a_question_in_words(report: MakeReport) -> None:
    listed = {**WRITTEN, "summary": "Orders: {q3:list|{orders} in {year}}."}
    made = report({"WrittenReport": [listed]}).ask()["report"]
    years = made["parts"][2]["result"]["rows"]
    assert made["summary"]["text"].startswith(f"Orders: {years[0][1]:,} in {years[0][0]}, ")
    assert [figure["part"] for figure in made["summary"]["figures"]] == ["q3"]


def test_the_review_adds_questions_that_name_values_of_the_rows_by_reference(report: MakeReport) -> None:
    added = "How many orders of {q2:max.orders:region} per year?"
    leader = report().ask()["report"]["parts"][1]["result"]["rows"][0][0]
    resolved = f"How many orders of {leader} per year?"
    made = report(
        {"ReportReview": [{"questions": [{"question": added}]}, {"questions": [{"question": "What of 777?"}]}]},
        {**STATEMENTS, resolved: STATEMENTS[YEARS]},
    )
    parts = made.ask()["report"]["parts"]
    assert [part["question"] for part in parts] == [TOTAL, REGIONS, YEARS, resolved]
    assert parts[3]["result"]


def test_a_question_without_an_answer_is_reported_in_its_place(report: MakeReport) -> None:
    missing = {"sql": "", "off_topic": True, "reason": "There is no table of regions."}
    made = report(statements={**STATEMENTS, REGIONS: missing})
    output = made.ask()
    reviewed = next(call.prompt for call in made.model.calls if call.schema_name == "ReportReview")
    assert "no answer: " in reviewed and "There is no table of regions." in reviewed
    written = output["report"]
    assert written["parts"][1]["error"]["code"] == "off_topic"
    assert written["sections"][-1]["title"] == REGIONS
    assert "regions" in written["sections"][-1]["text"]["text"]
    assert output["status"] == "ok"


def test_a_report_without_any_answer_is_an_error_with_the_error_of_each_question(report: MakeReport) -> None:
    dead = ModelUnreachable("http://model", "no answer")
    output = report({"GeneratedSQL": [dead] * 3}).ask()
    assert output["error"]["code"] == "model_unreachable"
    assert [part["error"]["code"] for part in output["report"]["parts"]] == ["model_unreachable"] * 3


def test_an_endpoint_that_dies_after_the_answers_leaves_a_plain_report(report: MakeReport) -> None:
    dead = ModelUnreachable("http://model", "no answer")
    output = report({"ReportReview": [dead], "WrittenReport": [dead]}).ask()
    written = output["report"]
    assert [section["title"] for section in written["sections"]] == [TOTAL, REGIONS, YEARS]
    assert str(written["parts"][0]["result"]["rows"][0][0]) in written["sections"][0]["text"]["text"].replace(",", "")
    assert output["status"] == "ok"


def test_a_source_that_is_removed_meanwhile_leaves_the_answers_so_far(report: MakeReport, cache_dir: Path) -> None:
    answered = threading.Event()

    def remove() -> str:
        assert answered.wait(30)
        made.services.replace_sources({})
        return STATEMENTS[YEARS]

    made = report(statements={**STATEMENTS, YEARS: remove}, sources={"shop": {"url": shop_url(cache_dir)}})
    output: dict[str, Any] = {}
    inputs = {"question": REQUEST, "source": "shop"}
    count = 0
    for mode, chunk in made.graph.stream(inputs, stream_mode=["custom", "values"]):
        count += mode == "custom" and chunk["event"] == "part"
        if count == 2:
            answered.set()
        output = chunk if mode == "values" else output
    codes = [part["error"] and part["error"]["code"] for part in output["report"]["parts"]]
    assert codes == [None, None, "source_not_found"]
    assert [section["title"] for section in output["report"]["sections"]] == [TOTAL, REGIONS, YEARS]
    assert output["status"] == "ok" and output["report"]["parts"][0]["result"]


def test_a_request_that_the_data_cannot_answer_is_off_topic(report: MakeReport) -> None:
    output = report({"ReportPlan": [{"questions": [], "reason": "The tables have no weather."}]}).ask()
    assert output["error"]["code"] == "off_topic"
    assert "weather" in output["answer"]


def test_a_cancelled_report_has_the_answers_so_far(report: MakeReport) -> None:
    cancellation = Cancellation()

    def cancel() -> str:
        cancellation.cancel()
        return STATEMENTS[YEARS]

    made = report(statements={**STATEMENTS, YEARS: cancel}, record=True)
    output = made.graph.invoke({"question": REQUEST}, {"configurable": {CANCELLATION: cancellation}})
    codes = {part["error"] and part["error"]["code"] for part in output["report"]["parts"]}
    assert "statement_cancelled" in codes
    assert len(output["report"]["sections"]) == 3
    assert output["audit"]["recorded"]
    assert not verify(open_store(made.services.settings)).findings


def test_the_budget_of_a_report_is_one_for_all_its_questions(
    report: MakeReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasphinx.agent.record.step._REPORT_QUESTIONS", 2)
    plan = {"questions": [{"question": f"{TOTAL} {number}", "purpose": "size"} for number in range(8)]}
    output = report({"ReportPlan": [plan]}, max_llm_calls=1).ask()
    codes = [part["error"] and part["error"]["code"] for part in output["report"]["parts"]]
    # Up to four questions are answered at once, which may all have begun before the first one is counted.
    assert 4 <= codes.count("budget_exceeded") < 8
    assert "DATASPHINX_MAX_LLM_CALLS" in str(output["report"])
    assert output["audit"]["llm_calls"] == sum(len(step["calls"]) for step in output["audit"]["steps"])


def test_a_report_is_planned_for_the_source_that_fits_the_request(
    report: MakeReport, cache_dir: Path, tmp_path: Path
) -> None:
    ships = make_database(tmp_path, "CREATE TABLE ships (name TEXT)")
    urls = {"ships": f"sqlite:///{ships}", "shop": shop_url(cache_dir)}
    made = report(sources={name: {"url": url} for name, url in urls.items()})
    output = made.ask()
    (planned,) = [call.prompt for call in made.model.calls if call.schema_name == "ReportPlan"]
    assert "orders" in planned and "ships" not in planned
    assert [part["error"] for part in output["report"]["parts"]] == [None] * 3


def test_a_plan_is_put_to_the_user_who_approves_it(report: MakeReport) -> None:
    made = report()
    graph = build_report(made.services, InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    asked = graph.invoke({"question": REQUEST, "approve_plan": True}, thread)
    assert TOTAL in asked["clarification"]["question"]
    assert [call.schema_name for call in made.model.calls] == ["ReportPlan"]
    output = graph.invoke(Command(resume="1"), thread)
    assert [part["question"] for part in output["report"]["parts"]] == [TOTAL, REGIONS, YEARS]


def test_a_remark_on_a_plan_gives_another_one_and_an_edited_plan_is_used(report: MakeReport) -> None:
    made = report({"ReportPlan": [PLAN, {"questions": [{"question": TOTAL}]}]})
    graph = build_report(made.services, InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": REQUEST, "approve_plan": True}, thread)
    again = graph.invoke(Command(resume="only the total"), thread)
    assert REGIONS not in again["clarification"]["question"]
    assert "only the total" in made.model.calls[-1].prompt
    edited = graph.invoke(Command(resume={"clarification_answer": "1", "questions": [YEARS]}), thread)
    assert [part["question"] for part in edited["report"]["parts"]] == [YEARS]


def test_questions_to_the_user_become_one_that_is_asked_once(report: MakeReport) -> None:
    def ambiguous(question: str) -> dict[str, Any]:
        options = [
            {"label": name, "reading": name, "sql": f"SELECT COUNT(*) AS {name} FROM {name}"}
            for name in ("orders", "returns")
        ]
        return {"sql": "", "alternatives": options, "question": question, "ambiguity_type": "AmbQuestion"}

    answered: list[str] = []

    def answer(messages: Any) -> Any:
        prompt = str(messages[1].content)
        if "Clarified:" in prompt:
            answered.append(prompt)
            return {"sql": STATEMENTS[TOTAL]}
        asking = TOTAL in prompt or REGIONS in prompt
        return ambiguous("Orders or returns?") if asking else {"sql": STATEMENTS[YEARS]}

    made = report({"GeneratedSQL": [answer] * 9})
    graph = build_report(made.services, InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    asked = graph.invoke({"question": REQUEST}, thread)["clarification"]
    assert asked["question"].count("Orders or returns?") == 2
    output = graph.invoke(Command(resume="orders\nreturns by region"), thread)
    assert [part["error"] for part in output["report"]["parts"]] == [None] * 3
    assert {"returns by region" in prompt for prompt in answered} == {True, False}
    assert [call.schema_name for call in made.model.calls].count("ReportPlan") == 1
    done = replay(open_store(made.services.settings), output["audit"]["trace_id"], made.services.settings)
    assert done.differences == []


def test_a_report_is_replayed_with_its_questions(report: MakeReport) -> None:
    made = report(record=True)
    output = made.ask()
    done = replay(open_store(made.services.settings), output["audit"]["trace_id"], made.services.settings)
    assert done.differences == []
    assert done.output["answer"] == output["answer"]
    traces = [part["trace_id"] for part in output["report"]["parts"]]
    assert len({*traces, output["audit"]["trace_id"]}) == 4


def test_a_why_is_answered_by_contributions_that_sum_to_the_change(report: MakeReport) -> None:
    why = {
        "question": "Which channels changed revenue from 2023 to 2024?",
        "change": {
            "expression": "SUM(orders.total_amount)",
            "date_column": "orders.ordered_on",
            "first_from": "2023-01-01",
            "first_until": "2024-01-01",
            "second_from": "2024-01-01",
            "second_until": "2025-01-01",
            "dimensions": ["orders.channel"],
        },
    }
    text = "{q2:max.contribution:channel} contributed {q2:max.contribution} of {q2:sum.contribution}."
    written = {"title": "Revenue", "summary": text, "sections": []}
    made = report({"ReportPlan": [{"questions": [{"question": TOTAL}, why]}], "WrittenReport": [written]}, record=True)
    output = made.ask("Why did revenue rise in 2024?")
    part = output["report"]["parts"][1]
    rows = part["result"]["rows"]
    assert part["result"]["columns"] == ["channel", "before", "after", "contribution"]
    assert all(after - before == pytest.approx(contribution) for _, before, after, contribution in rows)
    assert output["report"]["summary"]["text"].startswith(f"{rows[0][0]} contributed ")
    plan = next(call.prompt for call in made.model.calls if call.schema_name == "ReportPlan")
    assert "metric 'net sales': SUM(orders.total_amount)" in plan
    assert [call.schema_name for call in made.model.calls].count("GeneratedSQL") == 1
    done = replay(open_store(made.services.settings), output["audit"]["trace_id"], made.services.settings)
    assert done.differences == []


def test_a_change_that_cannot_be_broken_down_is_reported_in_its_place(report: MakeReport) -> None:
    dates = {"first_from": "2023-01-01", "first_until": "2024-01-01", "second_from": "2023-06-01"}
    why = {"question": "Why?", "change": {"metric": "fame", **dates, "second_until": "2024-06-01"}}
    output = report({"ReportPlan": [{"questions": [{"question": TOTAL}, why]}]}).ask()
    assert output["report"]["parts"][1]["error"]["code"] == "question_failed"
    assert "fame" in output["report"]["parts"][1]["answer"]
    assert output["status"] == "ok"
