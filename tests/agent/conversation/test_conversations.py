"""Conversations with a chat model in four languages: each question is one call, and each kind has its outcome."""

import json
from typing import Any, NamedTuple

import pytest

from datasphinx.agent.generation.follow_ups import remembered
from datasphinx.agent.messages import render
from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.sql.layout import in_lines
from datasphinx.agent.types import Turn
from tests.agent.walk import COUNT, calls
from tests.conftest import MakeAgent
from tests.support.best_customer import Talk, Talking

pytestmark = [pytest.mark.integration, pytest.mark.stored_record]

IN_2024 = "SELECT COUNT(*) AS orders FROM orders WHERE ordered_on >= '2024-01-01' AND ordered_on < '2025-01-01'"
BY_STATUS = "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"
BY_MONTH = "SELECT substr(ordered_on, 1, 7) AS m, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1 NULLS LAST LIMIT 12"
REGIONS = "SELECT name FROM regions ORDER BY name"
BARS = {"sql": "", "chart": {"type": "bar", "x": "status", "y": ["orders"]}}


class Wording(NamedTuple):
    """What the user and the model say in one language."""

    hello: str
    welcome: str
    how_many: str
    only_2024: str
    in_2024: str
    by_status: str
    orders_by_status: str
    assumed: str
    as_bars: str
    by_month: str
    orders_by_month: str
    as_table: str
    why: str
    breakdown: str
    thanks: str
    pleasure: str
    regions: str
    meaning: str
    definition: str
    invented: str


WORDINGS = {
    "en": Wording(
        "Hello!", "Hello! Ask me about orders, customers or products.", "How many orders are there?",
        "only 2024", "How many orders were there in 2024?", "and by status?", "How many orders are there by status?",
        "All years count.", "as a bar chart", "and by month?", "How many orders are there by month?", "as a table",
        "why?", "The data do not say why; they can be broken down by status or region.", "thanks!", "You are welcome.",
        "Which regions are there?", "what is a region?", "A region is a sales area of the shop.", "It was 98,765.",
    ),
    "de": Wording(
        "Hallo!", "Hallo! Fragen Sie nach Bestellungen oder Kunden.", "Wie viele Bestellungen gibt es?",
        "nur 2024", "Wie viele Bestellungen gab es 2024?", "und nach Status?", "Wie viele Bestellungen je Status?",
        "Alle Jahre zählen.", "als Balkendiagramm", "und nach Monat?", "Wie viele Bestellungen je Monat?",
        "als Tabelle", "warum?", "Das sagen die Daten nicht; sie lassen sich nach Status aufteilen.", "danke!",
        "Gern geschehen.", "Welche Regionen gibt es?", "was ist eine Region?", "Eine Region ist ein Verkaufsgebiet.",
        "Es waren 98.765.",
    ),
    "ru": Wording(
        "Привет!", "Здравствуйте! Спросите о заказах или клиентах.", "Сколько всего заказов?",
        "только 2024", "Сколько заказов было в 2024 году?", "а по статусам?", "Сколько заказов по статусам?",
        "Учтены все годы.", "в виде столбчатой диаграммы", "а по месяцам?", "Сколько заказов по месяцам?",
        "в виде таблицы", "почему?", "Данные не говорят почему; их можно разбить по статусам.", "спасибо!",
        "Пожалуйста.", "Какие есть регионы?", "что такое регион?", "Регион — это область продаж.", "Было 98 765.",
    ),
    "zh": Wording(
        "你好！", "你好！可以问订单或客户。", "一共有多少个订单？", "只看2024年", "2024年有多少个订单？", "按状态呢？",
        "每种状态有多少个订单？", "包括所有年份。", "改成柱状图", "按月呢？", "每个月有多少个订单？", "改成表格",
        "为什么？", "数据没有说明原因；可以按状态细分。", "谢谢！", "不客气。", "有哪些地区？",
        "地区是什么意思？", "地区是商店的销售区域。", "是98,765。",
    ),
}  # fmt: skip


@pytest.fixture
def talking(scripted: MakeAgent) -> Talking:
    def make(*answers: Any, **overrides: Any) -> Talk:
        return Talk(scripted({"GeneratedSQL": answers}, **{"enable_sql_validation": False, **overrides}))

    return make


def statements(output: dict[str, Any]) -> int:
    return sum(len(step["statements"]) for step in output["audit"]["steps"])


@pytest.mark.parametrize("language", WORDINGS)
def test_a_conversation_costs_one_call_for_each_question(talking: Talking, language: str) -> None:
    say = WORDINGS[language]
    script: list[tuple[str, dict[str, Any], str | None, str | None]] = [
        (say.hello, {"sql": "", "reply": say.welcome}, "string", None),
        (say.how_many, COUNT, "number", COUNT["sql"]),
        (say.only_2024, {"sql": IN_2024, "standalone": say.in_2024}, "number", IN_2024),
        (say.by_status, {"sql": BY_STATUS, "standalone": say.orders_by_status, "assumptions": [say.assumed]},
         "dataframe", BY_STATUS),
        (say.as_bars, BARS, "plot", BY_STATUS),
        (say.as_table, {"sql": "", "output_type": "dataframe"}, "dataframe", BY_STATUS),
        (say.as_bars, BARS, "plot", BY_STATUS),
        (say.why, {"sql": "", "reply": say.breakdown}, "string", None),
        (say.by_month, {"sql": BY_MONTH, "standalone": say.orders_by_month}, "plot", BY_MONTH),
        (say.thanks, {"sql": "", "reply": say.pleasure}, "string", None),
        (say.as_table, {"sql": "", "output_type": "dataframe"}, "dataframe", BY_MONTH),
        (say.how_many, COUNT, "number", COUNT["sql"]),
        (say.regions, {"sql": REGIONS}, "dataframe", REGIONS),
        (say.meaning, {"sql": "", "reply": say.definition}, "string", None),
        (say.why, {"sql": "", "reply": say.invented}, "string", None),
        (say.as_table, {"sql": "", "output_type": "dataframe"}, "dataframe", REGIONS),
        (say.thanks, {"sql": "", "reply": say.pleasure}, "string", None),
    ]  # fmt: skip
    talk = talking(*(answer for _, answer, _, _ in script))
    outputs = [talk.ask(question) for question, _, _, _ in script]

    assert calls(talk.agent) == {"GeneratedSQL": len(script)}
    assert [output["output_type"] for output in outputs] == [kind for _, _, kind, _ in script]
    assert [output["sql"] for output in outputs] == [sql and in_lines(sql, "sqlite") for _, _, _, sql in script]
    replies = [(output, answer) for output, (_, answer, _, _) in zip(outputs, script, strict=True) if "reply" in answer]
    *told, invented, pleasure = replies
    assert [output["answer"] for output, _ in (*told, pleasure)] == [answer["reply"] for _, answer in (*told, pleasure)]
    assert all(output["error"] is None and output["status"] == "ok" for output, _ in replies)
    assert invented[0]["answer"] == render("general_reply", language)  # type: ignore[arg-type]
    # Neither a reply nor another form executes a statement.
    without = [index for index, (_, answer, _, _) in enumerate(script) if not answer["sql"]]
    assert [statements(outputs[index]) for index in without] == [0] * len(without)
    assert all(say.assumed in outputs[index]["answer"] for index in (3, 4, 5, 6))
    assert [turn["question"] for turn in talk.state()["turns"]] == [
        say.how_many, say.in_2024, say.orders_by_status, say.orders_by_month, say.how_many, say.regions
    ]  # fmt: skip


def test_another_form_has_a_title_of_its_own_and_names_columns_as_references_do(talking: Talking) -> None:
    line = {"type": "line", "x": "Status", "y": ["ORDERS"]}
    bars = {"sql": "", "chart": {**line, "type": "bar"}, "standalone": "Orders by status as a bar chart"}
    talk = talking({"sql": BY_STATUS, "chart": line}, bars, {**bars, "standalone": "The 9876 orders as a bar chart"})
    charts = [talk.ask(text)["charts"][0] for text in ("Orders by status as a line chart", "As bars", "As bars again")]
    assert [(chart["type"], chart["option"]["title"]["text"]) for chart in charts] == [
        ("line", "Orders by status as a line chart"),
        ("bar", bars["standalone"]),
        ("bar", bars["standalone"]),
    ]


def test_another_form_keeps_the_further_questions(talking: Talking) -> None:
    proposed = ["How many orders are there by month?"]
    talk = talking({"sql": BY_STATUS, "follow_ups": proposed}, BARS, {"sql": "", "output_type": "dataframe"})
    outputs = [talk.ask(text) for text in ("How many orders are there by status?", "as bars", "as a table")]

    assert [output["follow_ups"] for output in outputs] == [proposed] * 3


def test_a_form_without_rows_is_asked_again(talking: Talking) -> None:
    talk = talking(BARS, COUNT)
    output = talk.ask("How many orders are there?")

    assert (output["status"], output["sql"]) == ("ok", in_lines(COUNT["sql"], "sqlite"))
    assert "a statement is needed" in talk.prompts("GeneratedSQL")[1]


def test_a_form_without_rows_is_told_as_the_reason(talking: Talking) -> None:
    output = talking(BARS, BARS, BARS, BARS, enable_sql_validation=None).ask("as bars")

    assert output["status"] == "error"
    assert "a statement is needed" in output["answer"] and "single_statement" not in output["answer"]


@pytest.mark.parametrize(
    "answer",
    [
        {"sql": "", "reply": "Asia Pacific is the best, Latin America the worst."},
        {"sql": "", "off_topic": True, "reason": "There is no weather in Asia Pacific."},
    ],
    ids=["reply", "reason"],
)
def test_no_text_without_rows_types_a_name_of_the_last_rows(talking: Talking, answer: dict[str, Any]) -> None:
    talk = talking({"sql": REGIONS}, answer)
    talk.ask("Which regions are there?")

    assert "Asia" not in talk.ask("and the weather?")["answer"]


@pytest.mark.parametrize("question", ["thanks!", "why?"])
def test_a_reply_with_a_figure_is_replaced_by_one_that_fits_any_remark(talking: Talking, question: str) -> None:
    talk = talking(COUNT, {"sql": "", "reply": "You are welcome, also in 1999."})
    talk.ask("How many orders are there?")

    assert talk.ask(question)["answer"] == "You can ask for figures in the data, or how they break down."


def test_a_stored_value_that_only_the_model_says_is_not_said_by_the_user(talking: Talking) -> None:
    top = "SELECT name, COUNT(*) AS n FROM customers JOIN orders USING (customer_id) GROUP BY 1 ORDER BY n DESC LIMIT 3"
    asks = "How many orders has Walker Media compared with Castro Clinic?"
    talk = talking(COUNT, {"sql": top, "standalone": asks, "answer": ["Walker Media has {max.n}."]})
    talk.ask("How many orders are there?")

    assert "Walker Media has" not in talk.ask("and the customers?")["answer"]
    assert talk.state()["turns"][-1]["question"] == "How many orders are there? → and the customers?"


def test_the_prompt_of_a_follow_up_has_the_last_answer(talking: Talking) -> None:
    say = WORDINGS["en"]
    drawn = {**BARS, "sql": BY_STATUS, "output_type": "plot", "assumptions": [say.assumed], "follow_ups": ["And 2023?"]}
    talk = talking(drawn, {"sql": "", "reply": say.breakdown}, COUNT)
    talk.ask(say.orders_by_status), talk.ask(say.why), talk.ask("and in all?")
    prompt = talk.prompts("GeneratedSQL")[-1]

    for told in (say.orders_by_status, BY_STATUS, "Its columns: status, orders", say.assumed, '"type": "bar"',
                 f"Then: {say.why} - {say.breakdown}"):  # fmt: skip
        assert told in prompt
    assert "And 2023?" not in prompt
    assert "conversation" not in talk.prompts("GeneratedSQL")[0]


def test_each_run_is_replayed(talking: Talking) -> None:
    say = WORDINGS["en"]
    talk = talking({"sql": BY_STATUS}, BARS, {"sql": "", "reply": say.breakdown}, {"sql": BY_MONTH, "standalone": "x"})
    outputs = [talk.ask(text) for text in (say.orders_by_status, say.as_bars, say.why, say.by_month)]
    settings = talk.agent.services.settings

    for output in outputs:
        assert replay(open_store(settings), output["audit"]["trace_id"], settings).differences == []


def test_a_thread_of_an_earlier_version_goes_on(talking: Talking) -> None:
    talk = talking({"sql": "", "output_type": "plot"}, {"sql": "", "reply": "You are welcome."}, COUNT)
    turn = {"question": "How many orders by status?", "sql": BY_STATUS, "answer": "", "clarifications": []}
    state = {"turns": [turn], "given": {"source": None}, "follows": None, "question": turn["question"]}
    talk.graph.update_state(talk.thread, state, as_node="answer")
    outputs = [talk.ask("as a chart"), talk.ask("thanks!"), talk.ask("and in all?")]

    assert [output["error"] for output in outputs] == [None] * 3
    assert (outputs[0]["output_type"], outputs[0]["sql"], outputs[2]["sql"]) == ("plot", BY_STATUS, COUNT["sql"])


def test_a_question_after_an_open_clarifying_question_keeps_the_conversation(talking: Talking) -> None:
    options = [
        {"label": label, "reading": label, "sql": sql} for label, sql in (("all", COUNT["sql"]), ("2024", IN_2024))
    ]
    talk = talking({"sql": BY_STATUS}, {"sql": "", "alternatives": options, "question": "Which?"}, COUNT)
    talk.ask("How many orders by status?")
    assert talk.ask("and in all?")["clarification"]
    talk.ask(clarification_answer="something else")

    assert BY_STATUS in talk.prompts("GeneratedSQL")[-1]


@pytest.mark.parametrize(("question", "reply"), [("why?", "The data do not say why."), ("thanks!", "You are welcome.")])
def test_retrieval_alone_does_not_end_a_follow_up(scripted: MakeAgent, question: str, reply: str) -> None:
    answers = {
        "TableSelection": [{"tables": ["orders"]}, {"tables": [], "reason": "no table fits"}],
        "ColumnSelection": [{"tables": [{"table": "orders", "columns": ["status"]}]}, {"tables": []}],
        "GeneratedSQL": [{"sql": BY_STATUS}, {"sql": "", "reply": reply}],
    }
    talk = Talk(scripted(answers, enable_sql_validation=False, schema_token_budget=100))
    talk.ask("How many orders by status?")
    output = talk.ask(question)

    assert (output["error"], output["answer"]) == (None, reply)
    assert "status" in talk.prompts("GeneratedSQL")[-1].partition("Question:")[0]


def test_what_is_kept_of_an_answer_is_bounded() -> None:
    long = "x" * 5000
    turn = Turn(
        question="q", sql="SELECT 1", answer="a", clarifications=[], columns=[long] * 500, assumptions=[long] * 500,
        form={"answer": [long], "follow_ups": ["q"]}, replies=[{"question": long, "answer": long}] * 50,
    )  # fmt: skip
    (kept,) = remembered([], turn)

    assert len(json.dumps(kept)) < 20_000
    assert kept["form"] == {} and len(kept["replies"]) < 10
    short: Turn = {**turn, "form": {"answer": ["{n} orders"], "follow_ups": ["q"]}}
    assert remembered([], short)[-1]["form"] == {"answer": ["{n} orders"]}
