"""Which questions ask for a chart, and which chart they name."""

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.answers.stored_chart import selected_by_default
from datasphinx.agent.embedded.chart_words import asked_form
from datasphinx.agent.graph import build_graph
from datasphinx.agent.types import EmbeddedOptions
from tests.conftest import MakeAgent

CHARTS = """
Plot the orders by status
Show a chart of orders by status
histogram of prices
scatter of price vs quantity
stacked bars by region and product
Can you plot revenue over time?
Sales by region as a bar chart
Show me a graph
a heat map of orders by weekday and hour
visualise this
How many orders were there per month? Show it as a chart.
What is the revenue by region, in a graph?
How did sales develop in 2024? Plot it.
Sales by month as a line
Sales by month, not as a table, as a chart
I need a plot of the daily visits
Построй график продаж по месяцам
Покажи диаграмму заказов по статусам
Нарисуй продажи по регионам
Покажи на графике выручку за 2024 год
Визуализируй количество клиентов по городам
Тепловая карта заказов по дням недели и часам
画一个销售趋势图
画图显示各状态的订单
用柱状图显示各地区销售额
绘制各部门工资的箱线图
按地区统计订单数并画图
以图表形式展示各季度收入
每个品类的销售占比，饼图
""".strip().splitlines()

OTHERS = """
How many plots of land are there?
graph databases
What is the plot of the movie Inception?
Which chart has the most songs?
Show the chart of accounts
How many matches ended in a draw?
List the draw dates of the lottery
How many customers are there?
Which line has the most stations?
Show sales by month without a chart
Don't draw a chart, just list the sales by month
How many bars are in Rome?
List the columns of each table
Sales by area
Draw a table of sales by month
Какой график работы у Иванова?
Построй список клиентов
Покажи продажи без графика
有多少本图书？
图数据库有哪些
画家最多的城市
不要图表，列出各月销售额
""".strip().splitlines()


def test_questions_that_ask_for_a_chart() -> None:
    assert [question for question in CHARTS if asked_form(question).output_type != "plot"] == []


def test_questions_that_do_not() -> None:
    assert [question for question in OTHERS if asked_form(question).output_type == "plot"] == []


def test_of_several_forms_the_last_counts() -> None:
    none, plot = (None, {"chart": None}), ("plot", {})
    cases = {
        "A chart of sales by month. As a table.": none,
        "Sales by month as a table. Now as a chart": plot,
        "Покажи график продаж. Теперь таблицей": none,
        "画图显示销售额，改成表格": none,
        "List the sales by month": (None, {}),
        "Sales by month, no chart please": none,
        "Кто потратил больше всех? Без диаграммы.": none,
        "谁消费最多？不要图表": none,
        "Sales by month without a table": (None, {}),
    }
    assert {question: asked_form(question) for question in cases} == cases


def test_types_that_are_named() -> None:
    cases = {
        "a stacked bar chart": {"type": "bar", "stacked": True},
        "a pie chart, not a line chart": {"type": "pie"},
        "a donut chart": {"type": "pie"},
        "столбчатая диаграмма": {"type": "bar"},
        "круговая диаграмма": {"type": "pie"},
        "гистограмма": {"type": "histogram"},
        "диаграмма рассеяния": {"type": "scatter"},
        "тепловая карта": {"type": "heatmap"},
        "линейный график": {"type": "line"},
        "диаграмма с накоплением": {"stacked": True},
        "堆叠柱状图": {"type": "bar", "stacked": True},
        "饼图": {"type": "pie"},
        "销售趋势图": {"type": "line"},
        "散点图": {"type": "scatter"},
        "热力图": {"type": "heatmap"},
        "面积图": {"type": "area"},
        "直方图": {"type": "histogram"},
        "横向柱状图": {"type": "bar", "horizontal": True},
        "a horizontal bar chart": {"type": "bar", "horizontal": True},
        "draw a chart of sales": None,
    }
    assert {text: asked_form(text).form.get("chart") for text in cases} == cases


def test_long_questions_take_no_time() -> None:
    """Repeated words must not make the patterns backtrack."""
    for word in ("plot ", "a ", "show me the ", "график ", "画", "图", "draw a line of "):
        asked_form(word * 2000)


@pytest.fixture
def ask(scripted: MakeAgent) -> Callable[..., dict[str, Any]]:
    """Asks questions of one conversation with a model that only writes statements, and returns the state."""
    statement = "FROM orders SELECT status, COUNT(*) GROUP BY status ORDER BY COUNT(*)"
    agent = scripted({"text": [statement]}, embedded=EmbeddedOptions(adapter=False, candidates=1))
    graph, thread = build_graph(agent.services, checkpointer=InMemorySaver()), {"configurable": {"thread_id": "1"}}

    def ask(question: str) -> dict[str, Any]:
        graph.invoke({"question": question}, thread)
        return dict(graph.get_state(thread).values)

    return ask


def test_a_follow_up_names_another_type_of_chart(ask: Callable[..., dict[str, Any]]) -> None:
    outputs = [ask(text) for text in ("Draw a pie chart of orders by status", "as a bar chart")]

    assert [output["value"]["type"] for output in outputs] == ["pie", "bar"]


@pytest.mark.parametrize(
    ("question", "kind"), [("Orders by status", "bar"), ("Orders by status, no chart please", None)]
)
def test_a_ranking_is_drawn_unless_the_question_wants_no_chart(
    ask: Callable[..., dict[str, Any]], question: str, kind: str | None
) -> None:
    output = ask(question)
    selection = selected_by_default(output, output["result"], [0])

    assert output["output_type"] == "dataframe"
    assert (selection and selection.spec.chart_type) == kind
