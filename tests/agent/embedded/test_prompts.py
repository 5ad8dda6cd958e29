import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from datasphinx.agent.embedded.prompts import depends_on_date, describe_briefly, statement_messages
from datasphinx.agent.retrieval.linked_values import LinkedValue
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table

CATALOG = Catalog(
    "postgres",
    {
        "singer": Table("singer", (Column("singer_id", "int"), Column("full name", "text"), Column("country", "text")),
                        primary_key=("singer_id",)),
        "arts.song": Table(
            "song", (Column("song_id", "int"), Column("singer_id", "int"), Column("title", "text")), schema="arts",
            foreign_keys=(ForeignKey(("singer_id",), "singer", ("singer_id",)),),
        ),
    },
)  # fmt: skip
SELECTION = CATALOG.selection()
LINKS = [LinkedValue("singer", "full name", "Ann O'Neil"), LinkedValue("arts.song", "title", "Two\nlines")]


def user_part(question: str, **given: object) -> str:
    values = given.pop("values", [])
    system, user = statement_messages(CATALOG, SELECTION, question, values, **given)  # type: ignore[arg-type]
    assert isinstance(system, SystemMessage) and isinstance(user, HumanMessage)
    assert system.content == "SQL"
    return str(user.content)


def test_a_plain_question_stands_after_the_schema() -> None:
    assert user_part(" How many\n singers? ") == f"{describe_briefly(CATALOG, SELECTION)}\n\nHow many singers?"


def test_a_value_of_a_number_is_a_number() -> None:
    links = [LinkedValue("singer", "singer_id", "7"), LinkedValue("singer", "country", "7")]
    assert user_part("How many singers?", values=links).endswith("values: singer.singer_id = 7, singer.country = '7'")


def test_context_stands_in_a_fixed_order_one_line_each() -> None:
    text = user_part(
        "Which songs came out this year?",
        values=LINKS,
        today="2026-11-21",
    )

    assert text.splitlines()[-3:] == [
        "Which songs came out this year?",
        "values: singer.\"full name\" = 'Ann O''Neil', arts.song.title = 'Two lines'",
        "today: 2026-11-21",
    ]


def test_a_table_that_is_gone_is_left_out() -> None:
    assert "gone" not in user_part("songs?", values=[LinkedValue("gone", "name", "x")])


@pytest.mark.parametrize(
    "question",
    [
        "How many orders were placed this year?", "sales of last month", "What did we sell in the last 3 months?",
        "orders so far", "Who is currently employed?", "Сколько заказов в этом году?", "выручка за прошлый месяц",
        "Что продали сегодня?", "今年的订单", "上个月的销售额", "最近30天的客户", "过去三个月",
    ],
)  # fmt: skip
def test_the_date_is_shown_where_the_question_depends_on_date(question: str) -> None:
    assert depends_on_date(question)
    assert user_part(question, today="2026-11-21").endswith("\ntoday: 2026-11-21")
    assert "today: 2" not in user_part(question)


@pytest.mark.parametrize(
    "question",
    [
        "How many orders were placed in 2025?", "the average by year", "Who has the last name Smith?",
        "Сколько заказов в 2025 году?", "Кто знает последний заказ?", "2010年之前的订单", "每年的销售额", "",
    ],
)  # fmt: skip
def test_other_questions_have_no_date(question: str) -> None:
    assert "today: 2" not in user_part(question, today="2026-11-21")
