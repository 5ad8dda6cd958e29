"""Requests to describe the data are answered in words by both graphs, with computed figures and without a model."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent.analyst import build_analyst
from agent.answers.description import description_statement, names_described
from agent.graph import build_graph
from agent.llm.scripted import ScriptedModel
from agent.schema.catalog import Catalog, Column, Table
from agent.services import Services
from agent.settings import load_settings
from tests.databases import make_database, url

pytestmark = pytest.mark.integration
NAMES = ["orders", "order_items", "customers", "hr.staff", "订单"]
DESCRIBED: dict[str, list[str]] = {
    "Describe the data": [],
    "describe this dataset, please": [],
    "Give me a short overview of the data": [],
    "What are the main characteristics of this file?": [],
    "Can you summarize the data in words?": [],
    "Describe what is in the spreadsheet.": [],
    "Describe the orders table": ["orders"],
    "describe order_items": ["order_items"],
    "Describe the table staff": ["hr.staff"],
    "Опиши данные": [],
    "Опишите, пожалуйста, этот набор данных": [],
    "Дай краткий обзор данных": [],
    "Расскажи, что есть в этом файле": [],
    "Опиши таблицу orders": ["orders"],
    "描述一下数据特征": [],
    "请描述这份数据的基本情况": [],
    "数据有哪些特征？": [],
    "概括一下这个表格": [],
    "介绍一下orders表": ["orders"],
    "描述订单表": ["订单"],
}
NOT_DESCRIBED = [
    "Describe the orders by month",
    "Describe the sales trend",
    "Summarize revenue per region",
    "Explain why the orders differ",
    "Describe the best customer",
    "How many rows are in the table?",
    "Show the data",
    "What tables are there?",
    "Опиши продажи по месяцам",
    "Покажи данные",
    "描述一下各月销售额",
    "描述订单趋势",
    "数据有多少行？",
]


@pytest.mark.parametrize(
    "question",
    ["Which tables exist?", "Show me all tables", "Какие есть таблицы?", "有哪些表？", "Welche Tabellen gibt es?"],
)
def test_a_question_for_the_tables_lists_them(question: str) -> None:
    catalog = Catalog("sqlite", {name: Table(name, (Column("id", "int"),)) for name in ("orders", "customers")})
    description = description_statement(question, catalog)
    assert description and description[1] == ["orders", "customers"]


def test_a_table_may_be_called_tables() -> None:
    catalog = Catalog("sqlite", {name: Table(name, (Column("id", "int"),)) for name in ("tables", "guests")})
    assert description_statement("Show me all tables", catalog) is None


def test_requests_for_a_description_are_told_from_other_questions() -> None:
    assert {question: names_described(question, NAMES) for question in DESCRIBED} == DESCRIBED
    assert [question for question in NOT_DESCRIBED if names_described(question, NAMES) is not None] == []


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Beschreibe die Daten", []),
        ("Gib mir einen kurzen Überblick über die Tabelle orders", ["orders"]),
        ("Beschreibe die Bestellungen nach Monat", None),
        ("Wie viele Zeilen hat die Tabelle orders?", None),
    ],
)
def test_descriptions_in_german(question: str, names: list[str] | None) -> None:
    assert names_described(question, ["orders", "customers"]) == names


@pytest.fixture
def ask(cache_dir: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Asks a graph over a model that has no answer."""

    def ask(question: str, **given: Any) -> dict[str, Any]:
        settings = load_settings(cache_dir=cache_dir, data_dir=tmp_path / "data", enable_sql_validation=True)
        services = Services(settings, model=ScriptedModel())
        graph = build_analyst(services) if given.get("files") else build_graph(services)
        output = dict(graph.invoke({"question": question, **given}))
        assert (output["error"], output["output_type"], output["audit"]["llm_calls"]) == (None, "string", 0)
        assert output["value"] == output["answer"]
        return output

    return ask


@pytest.fixture
def sales(tmp_path: Path) -> str:
    path = tmp_path / "sales.csv"
    lines = ["region,sold on,units,paid"]
    lines += [
        f"{'north' if day % 3 else 'south'},2024-{month:02}-{day:02},{day},true"
        for month in (1, 2, 5)
        for day in range(1, 11)
    ]
    lines += ["north,2024-06-01,5000,false", "north,2024-06-02,,false"]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


EXPECTED = {
    "Describe the data": """sales.csv – rows: 32, columns: 4 (region, sold on, units and paid).

- region: 2 different texts, most often north (23 rows)
- sold on: dates from 2024-01-01 to 2024-06-02, 2 of 6 months without rows
- units: numbers from 1 to 5,000, average 166.61, median 6
- paid: true in 30 of 32 rows

Outliers, more than 1.5 interquartile ranges outside of the quartiles: units (1).

Missing values: units 1 (3.1%).""",
    "опиши данные": """sales.csv: строк — 32, столбцов — 4 (region, sold on, units и paid).

- region: разных текстов — 2, чаще всего north (строк — 23)
- sold on: даты с 2024-01-01 по 2024-06-02, месяцев без строк — 2 из 6
- units: числа от 1 до 5\u00a0000, среднее 166,61, медиана 6
- paid: значений «истина» — 30 из 32

Выбросы дальше 1,5 межквартильного размаха от квартилей: units (1).

Пропущенные значения: units — 1 (3,1%).""",
    "描述一下数据特征": """sales.csv有32行、4列：region、sold on、units、paid。

- region：2个不同的文本，最常见的是north（23行）
- sold on：日期从2024-01-01到2024-06-02，6个月中有2个月没有数据
- units：数值从1到5,000，平均166.61，中位数6
- paid：32行中有30行为真

离群值（超出四分位数1.5倍四分位距以外）：units (1)。

缺失值：units 1个（3.1%）。""",
}


@pytest.mark.parametrize("question", EXPECTED)
def test_a_file_is_described_in_the_language_of_the_question(ask: Any, sales: str, question: str) -> None:
    assert ask(question, files=[sales])["answer"] == EXPECTED[question]


def test_several_files_are_described_one_after_the_other(ask: Any, sales: str, tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("city\nOslo\nRiga\n", encoding="utf-8")
    answer = ask("Describe the data", files=[sales, str(tmp_path / "cities.csv")])["answer"]

    assert "sales.csv – rows: 32" in answer and "cities.csv – rows: 2, columns: 1 (city)." in answer
    assert "sales.csv" not in ask("Describe cities.csv", files=[sales, str(tmp_path / "cities.csv")])["answer"]


def test_a_database_is_described_by_its_tables_and_a_table_by_its_columns(ask: Any, tmp_path: Path) -> None:
    statements = (
        "CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, password TEXT, hired DATE, salary REAL)",
        "INSERT INTO staff VALUES (1, 'Ann', 'hunter2', '2024-01-01', 10), (2, 'Bo', 'hunter3', '2024-01-03', 12)",
        "CREATE TABLE notes (text TEXT)",
    )
    source = url(make_database(tmp_path, *statements))
    database, table = ask("Describe the database", source=source), ask("Describe the staff", source=source)

    assert "- staff: rows 2, columns 5, hired from 2024-01-01 to 2024-01-03" in database["answer"]
    assert "- notes: rows 0, columns 1" in database["answer"]
    assert table["answer"].startswith(
        "staff – rows: 2, columns: 5 (id, name, hired and salary). Columns not described: 1"
    )
    assert "- hired: dates from 2024-01-01 to 2024-01-03, 1 of 3 days without rows" in table["answer"]
    assert "hunter" not in str(table) and "No values are missing." in table["answer"]
    assert "UNION ALL" in table["sql"]


def test_every_figure_of_a_description_follows_from_its_table(ask: Any) -> None:
    output = ask("Describe the orders", source="sample")
    table = output["tables"][0]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    cells = [cell for row in rows for cell in row.values() if isinstance(cell, int | float)]
    missing = [row["row_count"] - row["value_count"] for row in rows]
    shares = [100 * count / row["row_count"] for row, count in zip(rows, missing, strict=True)]
    computed = {round(figure, digits) for figure in [*cells, *missing, *shares] for digits in (0, 1, 2)} | {1.5}
    text = re.sub(r"\d{4}-\d\d-\d\d", "", output["answer"])
    figures = {float(figure.replace(",", "")) for figure in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}

    assert len(figures) > 10 and figures - computed <= {36.0}, "36 months lie between the first date and the last"


def test_a_number_or_a_chart_is_left_to_the_model(cache_dir: Path) -> None:
    model = ScriptedModel({"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS orders FROM orders"}]})
    settings = load_settings(cache_dir=cache_dir, enable_sql_validation=False)
    output = build_graph(Services(settings, model=model)).invoke(
        {"question": "Describe the orders", "source": "sample", "output_type": "number"}
    )

    assert output["output_type"] == "number" and len(model.calls) == 1
