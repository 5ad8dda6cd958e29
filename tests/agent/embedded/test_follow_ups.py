"""Follow-ups that change only the form, and wordings that lean on earlier questions."""

import pytest

from datasphinx.agent.embedded.follow_ups import is_follow_up
from datasphinx.agent.embedded.format_changes import requested_type


@pytest.mark.parametrize(
    "question, form",
    [
        ("as a chart", "plot"),
        ("And now as a bar chart", "plot"),
        ("show it as a diagram", "plot"),
        ("plot it", "plot"),
        ("show me a chart of it", "plot"),
        ("a pie chart please", "plot"),
        ("as a table", "dataframe"),
        ("in words", "string"),
        ("в виде графика", "plot"),
        ("покажи это в виде таблицы", "dataframe"),
        ("als Balkendiagramm", "plot"),
        ("und jetzt als Tabelle", "dataframe"),
        ("zeige es als Diagramm", "plot"),
        ("画成图表", "plot"),
        ("用柱状图显示", "plot"),
        ("用表格显示", "dataframe"),
    ],
)
def test_another_form(question: str, form: str) -> None:
    assert requested_type(question) == form and is_follow_up(question)


@pytest.mark.parametrize("question",
    ["and in 2024?", "only the top three", "sort by city", "as a chart for 2024", "chart of the orders"],
)  # fmt: skip
def test_a_question_that_asks_for_more(question: str) -> None:
    assert requested_type(question) is None


@pytest.mark.parametrize("question",
    ["And in 2024?", "only those from Oslo", "show two decimals", "rounded to two decimals",
     "округли до двух знаков", "保留两位小数", "only the names",
     "what about last year?", "How many of them are paid?", "by month",
     "und im Jahr 2024?", "nur die aus Oslo", "nach Region sortiert", "Wie viele davon sind bezahlt?",
     "а в 2024 году?", "только за март", "что насчёт них?", "那2024年呢？", "只看北京的", "其中有多少已付款？"],
)  # fmt: skip
def test_leaning(question: str) -> None:
    assert is_follow_up(question)


@pytest.mark.parametrize("question",
    ["How many orders are there?", "List the regions", "Which region had the highest revenue in 2024?",
     "Who sold most?", "List the customers and their orders", "For each region, give the number of its customers",
     "按城市统计每个月的销售总额是多少", "По каждому региону покажи число клиентов и сумму их заказов",
     "Сколько заказов было в марте?", "2024年每个城市的销售额是多少？",
     "Which products that were returned cost over 100?", "Was the revenue higher in 2024 than in 2023?",
     "Wie viele Kunden gibt es?", "Zeige die Bestellungen nach Region", "Was ist der Umsatz?",
     "Welche Kunden haben am meisten ausgegeben?"],
)  # fmt: skip
def test_standing_alone(question: str) -> None:
    assert not is_follow_up(question)
