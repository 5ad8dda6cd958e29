"""Which questions ask for a chart, and which chart they name."""

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from datasphinx.agent.answers.stored_chart import selected_by_default
from datasphinx.agent.embedded.chart_words import asked_form
from datasphinx.agent.graph import build_graph
from tests.conftest import ScriptedAgent

CHARTS = """
Plot the orders by status
Show a chart of orders by status
histogram of prices
scatter of price vs quantity
stacked bars by region and product
draw a line of monthly revenue
Draw a line chart for sales
draw sales per region
Plot sales by month
Plot monthly revenue.
Can you plot revenue over time?
Please graph the number of users per day
Graph it
chart revenue versus cost
Could you chart the average price by city?
Sales by region as a bar chart
sales per month, bar graph
revenue by month chart
Show me a pie chart of customers by country
Show the sales graph for 2024
Show me a graph
Give me a scatter plot of price and weight
scatterplot of height against weight
a heat map of orders by weekday and hour
Box plot of salaries by department
Visualize the orders by city
visualise this
I want a diagram of revenue by product line
Create a visualization of churn by month
How many orders were there per month? Show it as a chart.
What is the revenue by region, in a graph?
How did sales develop in 2024? Plot it.
Make a stacked bar chart of sales by month and region
Now as bars
Sales by month as a line
Compare the regions in a chart
plot area by year
Plot prices of houses by district
Show revenue per city on a diagram
Which products sold best? Please draw a bar chart.
Show me the trend line of signups
Sales by month, not as a table, as a chart
Draw me a graph that shows the revenue per quarter
Generate a plot of temperature over time
I need a plot of the daily visits
Build charts of sales by region
Построй график продаж по месяцам
Построй график заказов по статусам
Покажи диаграмму заказов по статусам
Нарисуй продажи по регионам
Нарисуй линию продаж по месяцам
гистограмма цен
Гистограмма зарплат сотрудников
Покажи на графике выручку за 2024 год
Выручка по месяцам в виде графика
Визуализируй количество клиентов по городам
Сделай круговую диаграмму расходов
Изобрази динамику продаж
Сколько заказов было в каждом месяце? Построй график.
Хочу график выручки по кварталам
Отобразите продажи графически
Тепловая карта заказов по дням недели и часам
График продаж по месяцам
линейный график цен
Покажи мне столбчатый график по отделам
Построй кривую спроса
Нарисуйте, пожалуйста, выручку по филиалам
画一个销售趋势图
画出各月销售额
画图显示各状态的订单
请画成图表
用柱状图显示各地区销售额
用折线图展示趋势
各月销售额的折线图
绘制各部门工资的箱线图
帮我画一下每个月的订单数
把各月销售额画出来
把销售额画成饼图
价格的直方图
给我一张各城市客户数的饼图
生成销售额走势图
可视化各产品的利润
按地区统计订单数并画图
做个图看看各月的退货量
以图表形式展示各季度收入
散点图：价格与销量
每个品类的销售占比，饼图
画条曲线看看销量
请用热力图展示各时段订单数
画近三年的销售额
出一张各渠道收入的对比图
各月销售趋势图
""".strip().splitlines()

OTHERS = """
How many plots of land are there?
Which plot of land has the highest price?
Plot of land with the largest area
plot of land
graph databases
Graph databases by number of stars
Which graph database is the most popular?
List the plots by owner
How many plots are larger than two acres?
Show the plot size of each parcel
What is the average plot size by district?
Show the plot number and owner of every parcel
Find the burial plots in section B
What is the plot of the movie Inception?
How many nodes does each knowledge graph have?
Show all graphs with more than ten nodes
Which chart has the most songs?
How many weeks was each song in the charts?
Show the chart position of every song
Show the chart of accounts
List the accounts of the chart of accounts by type
Top 10 songs that reached number one of the charts
How many matches ended in a draw?
List the draw dates of the lottery
Draw a random sample of five customers
Draw a conclusion
Draw up a list of customers
How many customers are there?
Which line has the most stations?
Revenue by product line
What is the trend of sales?
Sales by month
Show sales by month without a chart
Show sales by month, no graph please
Don't draw a chart, just list the sales by month
Show the sales by bar code
How many bars are in Rome?
Which pie sells best?
List the columns of each table
Sales by area
Show the pie of the day
Which employees drew a salary in May?
Draw a table of sales by month
Какой график работы у Иванова?
Покажи график работы сотрудников
Сколько сотрудников работает по сменному графику?
Покажи график отпусков на 2024 год
График платежей по кредиту 15
У кого гибкий график?
Какие поставки пришли не по графику?
Сколько сотрудников работает по графику 5/2?
Выручка по месяцам
Построй прогноз продаж
Построй список клиентов
Покажи продажи без графика
Покажи продажи, не рисуй диаграмму
Сколько линий метро в Москве?
Графовые базы данных
Сколько столбцов в таблице?
有多少本图书？
图书馆有多少座
每个地图有多少标记
图片最多的商品是哪个
图数据库有哪些
列出所有油画的价格
这位画家有多少幅画作
画家最多的城市
国画一共有多少幅
动画一共有多少部
这幅画出自谁的手
壁画成本最高的项目
销售趋势如何
各月销售额
不要图表，列出各月销售额
不用画图，直接告诉我总额
各地区土地面积
谁绘制的地图最多
用户画像中年龄最大的用户
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
        "ящик с усами": {"type": "box"},
        "линейный график": {"type": "line"},
        "диаграмма с накоплением": {"stacked": True},
        "堆叠柱状图": {"type": "bar", "stacked": True},
        "饼图": {"type": "pie"},
        "销售趋势图": {"type": "line"},
        "散点图": {"type": "scatter"},
        "热力图": {"type": "heatmap"},
        "箱线图": {"type": "box"},
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
def ask(scripted: Callable[..., ScriptedAgent]) -> Callable[..., dict[str, Any]]:
    """Asks questions of one conversation with a model that only writes statements, and returns the state."""
    agent = scripted({"text": [" status, COUNT(*) AS orders FROM orders GROUP BY 1 ORDER BY 2"]}, llm_profile="plain")
    graph, thread = build_graph(agent.services, checkpointer=InMemorySaver()), {"configurable": {"thread_id": "1"}}

    def ask(question: str) -> dict[str, Any]:
        graph.invoke({"question": question}, thread)
        return dict(graph.get_state(thread).values)

    return ask


def test_a_chart_keeps_its_type_until_another_one_is_named(ask: Callable[..., dict[str, Any]]) -> None:
    outputs = [ask(text) for text in ("Draw a pie chart of orders by status", "only the top three", "as a bar chart")]

    assert [(output["output_type"], output["value"]["type"]) for output in outputs] == [
        ("plot", "pie"), ("plot", "pie"), ("plot", "bar"),
    ]  # fmt: skip


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
