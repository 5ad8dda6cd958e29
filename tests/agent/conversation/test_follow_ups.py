"""Follow-ups on a thread: what source they ask, and whether the last rows can answer them.

A chat model reads them in the call that writes the statement; for a model that only writes statements, rules do.
"""

from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.record.store import open_store
from datasphinx.agent.replay import replay
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.walk import COUNT, HOW_MANY, calls
from tests.conftest import MakeAgent
from tests.support.best_customer import ASKS, BEST, Talk, Talking
from tests.support.databases import make_database, url

pytestmark = [pytest.mark.integration, pytest.mark.stored_record]
BY_STATUS = {"sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"}
STATUSES = "How many orders by status?"
COMPACT = "FROM orders SELECT status, COUNT(*) GROUP BY status ORDER BY status"
ONE = EmbeddedOptions(adapter=False, candidates=1)


@pytest.fixture
def talking(scripted: MakeAgent) -> Talking:
    """A maker of threads with a chat model, which gives these answers."""

    def make(*statements: Any, **overrides: Any) -> Talk:
        given = {"enable_sql_validation": False, "clarify": "never"} | overrides
        return Talk(scripted({"GeneratedSQL": statements}, **given))

    return make


@pytest.fixture
def writing(scripted: MakeAgent) -> Talking:
    """A maker of threads with a model that only writes these compact statements."""

    def make(*statements: str, **overrides: Any) -> Talk:
        return Talk(scripted({"text": statements}, embedded=ONE, clarify="never", **overrides))

    return make


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Another shop, with two orders."""
    return url(
        make_database(
            tmp_path,
            "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, status TEXT)",
            "INSERT INTO orders VALUES (1, 'new'), (2, 'new')",
        )
    )


def rows(output: dict[str, Any]) -> list[list[Any]]:
    return output["tables"][0]["rows"]


def test_a_source_that_comes_with_a_follow_up_is_the_one_that_is_asked(talking: Talking, other: str) -> None:
    talk = talking(COUNT, COUNT)
    assert talk.ask(HOW_MANY)["value"] > 2

    assert talk.ask("and in the other shop?", source=other)["value"] == 2


def test_an_answer_goes_to_the_source_of_its_question(scripted: MakeAgent, other: str) -> None:
    talk = Talk(scripted({"GeneratedSQL": [ASKS, COUNT]}))
    talk.ask(BEST)
    output = talk.ask(clarification_answer="by amount", source=other)

    assert output["error"] is None or output["error"]["code"] != "internal_error"


def test_forms_follow_each_other_and_are_replayed(writing: Talking) -> None:
    talk = writing(COMPACT)
    talk.ask(STATUSES)
    outputs = [talk.ask(text) for text in ("as a chart", "as a table")]
    settings = talk.agent.services.settings

    assert calls(talk.agent) == {"text": 1}
    assert [output["output_type"] for output in outputs] == ["plot", "dataframe"]
    for output in outputs:
        done = replay(open_store(settings), output["audit"]["trace_id"], settings)
        assert done.differences == []


def test_a_form_that_a_chat_model_reads_is_replayed_for_a_statement_in_lines(talking: Talking) -> None:
    sql = "SELECT status, COUNT(*) AS orders FROM orders WHERE status <> 'cancelled' GROUP BY status ORDER BY orders"
    talk = talking({"sql": sql}, {"sql": "", "output_type": "plot"})
    talk.ask(STATUSES)
    output = talk.ask("and that as a chart, please")
    settings = talk.agent.services.settings

    assert "\n" in output["sql"] and output["output_type"] == "plot"
    assert replay(open_store(settings), output["audit"]["trace_id"], settings).differences == []


def test_a_table_that_is_asked_for_has_no_chart(talking: Talking) -> None:
    chart = {"type": "bar", "x": "status", "y": ["orders"]}
    answer = ["{max.orders:status} has most orders."]
    talk = talking({**BY_STATUS, "chart": chart, "answer": answer}, {"sql": "", "output_type": "dataframe"})
    assert talk.ask(STATUSES)["charts"]

    output = talk.ask("as a table")
    assert (output["output_type"], output["charts"]) == ("dataframe", [])
    assert "has most orders" in output["answer"]


def test_other_formats_leave_the_chart(talking: Talking) -> None:
    chart = {"type": "bar", "x": "status", "y": ["orders"]}
    formats = {"formats": ["orders: decimal 1"], "output_type": "dataframe"}
    talk = talking({**BY_STATUS, "output_type": "dataframe", "chart": chart}, {"sql": "", **formats})
    assert talk.ask(STATUSES)["charts"]

    assert talk.ask("with one decimal place")["charts"]


def test_a_chart_of_one_figure_is_a_clear_error(writing: Talking) -> None:
    talk = writing("FROM orders SELECT COUNT(*)")
    talk.ask(HOW_MANY)

    assert talk.ask("as a chart")["error"]["code"] == "invalid_output_type"
    assert talk.ask("as a table")["error"] is None


@pytest.mark.parametrize(
    ("question", "kind"),
    [("as a pie chart", "pie"), ("as a line chart", "line"), ("as a chart", "bar"), ("换成饼图", "pie"),
     ("в виде круговой диаграммы", "pie")],
)  # fmt: skip
def test_the_kind_of_chart_that_is_named(writing: Talking, question: str, kind: str) -> None:
    talk = writing(COMPACT)
    talk.ask(STATUSES)

    assert talk.ask(question)["charts"][0]["type"] == kind


@pytest.mark.parametrize("standalone", ["x" * 50_000, "???", "How many orders were there in 2019?"])
def test_what_the_user_cannot_have_asked_is_read_with_the_question_before(talking: Talking, standalone: str) -> None:
    talk = talking(COUNT, {**COUNT, "standalone": standalone})
    talk.ask(HOW_MANY)

    assert talk.ask("and in 2024?")["error"] is None
    assert talk.state()["turns"][-1]["question"] == f"{HOW_MANY} → and in 2024?"


@pytest.mark.parametrize(
    ("question", "standalone", "condition", "is_kept"),
    [
        ("and how many have arrived?", "How many orders are delivered?", "status = 'delivered'", True),
        ("and how many have arrived?", "How many orders are cancelled?", "status = 'delivered'", False),
        (
            "and Walkr Media?",
            "How many orders has Walker Media?",
            "customer_id IN (SELECT customer_id FROM customers WHERE name = 'Walker Media')",
            True,
        ),
        ("and how many last year?", "How many orders in 2024?", "ordered_on LIKE '2024-%'", True),
    ],
)
def test_a_reading_may_name_what_its_statement_compares_with(
    talking: Talking, question: str, standalone: str, condition: str, is_kept: bool
) -> None:
    counted = {"sql": f"SELECT COUNT(*) AS n FROM orders WHERE {condition}", "standalone": standalone}
    talk = talking(COUNT, counted)
    talk.ask(HOW_MANY)
    talk.ask(question)

    kept = standalone if is_kept else f"{HOW_MANY} → {question}"
    assert talk.state()["turns"][-1]["question"] == kept


@pytest.mark.parametrize(
    ("question", "standalone", "condition", "answer"),
    [
        ("and in 2025?", "How many orders were placed in that year?", "ordered_on > '2024-12-31'", "In 2025, {n}."),
        ("and Walker Media?", "How many orders has this customer?", "customer_id = 7", "Walker Media has {n}."),
    ],
)
def test_what_the_user_typed_may_be_in_the_answer_however_it_is_read(
    talking: Talking, question: str, standalone: str, condition: str, answer: str
) -> None:
    sql = f"SELECT COUNT(*) AS n FROM orders WHERE {condition}"
    # The statement has the key of the customer in place of the name, which the model confirms.
    written = {"sql": sql, "standalone": standalone, "answer": [answer]}
    talk = talking(COUNT, written, enable_sql_validation=True)
    talk.ask(HOW_MANY)

    assert talk.ask(question)["answer"].startswith(answer.partition("{")[0])
    assert talk.state()["turns"][-1]["question"] == f"{HOW_MANY} → {question}"


def test_a_source_that_is_gone_leaves_the_question_open(scripted: MakeAgent, tmp_path: Path, other: str) -> None:
    sql = "SELECT status FROM orders"
    options = [{"label": "a", "reading": "a", "sql": sql}, {"label": "b", "reading": "b", "sql": sql + " LIMIT 1"}]
    talk = Talk(scripted({"GeneratedSQL": [{**ASKS, "alternatives": options}]}, enable_sql_validation=False))
    asked = talk.ask("Which orders are the best?", source=other)["clarification"]
    file = Path(other.removeprefix("sqlite:///"))
    file.rename(tmp_path / "gone")
    failed = talk.ask(clarification_answer="b")
    (tmp_path / "gone").rename(file)

    assert asked and failed["error"] and failed["clarification"] == asked
    assert talk.ask(clarification_answer="b")["sql"] == sql + " LIMIT 1"


@pytest.mark.parametrize(
    ("question", "code", "word"),
    [
        ("Сколько всего заказов orders?", "nothing_asked", "Уточняющего"),
        ("orders有多少个订单？", "nothing_asked", "澄清"),
    ],
)
def test_errors_are_in_the_language_of_the_conversation(talking: Talking, question: str, code: str, word: str) -> None:
    talk = talking(COUNT)
    assert talk.ask(question)["error"] is None
    output = talk.ask(clarification_answer="1")

    assert output["error"]["code"] == code and word in output["answer"]
