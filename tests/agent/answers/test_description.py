"""A model that only writes statements is not asked to describe the data: both graphs compute statistics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.support.databases import make_database, url

pytestmark = pytest.mark.integration


@pytest.fixture
def ask(cache_dir: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Asks a graph over a model that has no answer."""

    def ask(question: str, **given: Any) -> dict[str, Any]:
        settings = load_settings(cache_dir=cache_dir, data_dir=tmp_path / "data", llm_profile="plain")
        services = Services(settings, model=ScriptedModel())
        graph = build_analyst(services) if given.get("files") else build_graph(services)
        output = dict(graph.invoke({"question": question, **given}))
        assert (output["error"], output["output_type"], output["audit"]["llm_calls"]) == (None, "dataframe", 0)
        assert output["value"] == output["tables"][0]
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


@pytest.mark.parametrize(
    ("question", "size", "average"),
    [
        ("Describe the data", "sales.csv: rows 32, columns 4", "166.61"),
        ("Beschreibe die Daten", "sales.csv: Zeilen 32, Spalten 4", "166,61"),
        ("опиши данные", "sales.csv: строк — 32, столбцов — 4", "166,61"),
        ("描述一下数据特征", "sales.csv：32行，4列", "166.61"),
    ],
)
def test_a_file_is_described_by_the_statistics_of_its_columns(
    ask: Any, sales: str, question: str, size: str, average: str
) -> None:
    answer = ask(question, files=[sales])["answer"]
    first, table = answer.split("\n\n")
    head, _, *lines = ([cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines())
    rows = {line[0]: dict(zip(head, line, strict=True)) for line in lines}

    assert first == size
    assert list(rows) == ["region", "sold on", "units", "paid"]
    assert (rows["region"]["Distinct count"], rows["region"]["Most frequent"]) == ("2", "north")
    assert (rows["units"]["Value count"], rows["units"]["Outliers"]) == ("31", "1")
    assert rows["units"]["Average"].startswith(average)
    assert (rows["sold on"]["Months"], rows["paid"]["Frequency"]) == ("4", "30")


def test_several_files_are_described_one_after_the_other(ask: Any, sales: str, tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("city\nOslo\nRiga\n", encoding="utf-8")
    answer = ask("Describe the data", files=[sales, str(tmp_path / "cities.csv")])["answer"]

    assert "sales.csv: rows 32" in answer and "cities.csv: rows 2, columns 1" in answer
    assert "sales.csv" not in ask("Describe cities.csv", files=[sales, str(tmp_path / "cities.csv")])["answer"]


def test_a_database_is_described_by_its_tables_and_a_table_by_its_columns(ask: Any, tmp_path: Path) -> None:
    statements = (
        "CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, password TEXT, hired DATE, salary REAL)",
        "INSERT INTO staff VALUES (1, 'Ann', 'hunter2', '2024-01-01', 10), (2, 'Bo', 'hunter3', '2024-01-03', 12)",
        "CREATE TABLE notes (text TEXT)",
    )
    source = url(make_database(tmp_path, *statements))
    database, table = ask("Describe the database", source=source), ask("Describe the staff", source=source)

    assert "| Table name | Row count | Column count | Date column | First date | Last date |" in database["answer"]
    assert "| staff | 2 | 5 | hired |" in database["answer"] and "| notes | 0 | 1 | – |" in database["answer"]
    assert table["answer"].startswith("staff: rows 2, columns 5\n\n| Column name |")
    assert "hunter" not in str(table) and "password" not in table["answer"]
    assert "UNION ALL" in table["sql"]


def test_a_chat_model_describes_data_itself(cache_dir: Path) -> None:
    model = ScriptedModel({"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS orders FROM orders"}]})
    settings = load_settings(cache_dir=cache_dir, enable_sql_validation=False)
    output = build_graph(Services(settings, model=model)).invoke({"question": "Describe the data", "source": "sample"})

    assert output["output_type"] == "number" and len(model.calls) == 1


def test_a_number_or_a_chart_is_left_to_the_model(cache_dir: Path) -> None:
    model = ScriptedModel({"text": [" COUNT(*) AS orders FROM orders"]})
    settings = load_settings(cache_dir=cache_dir, llm_profile="plain")
    output = build_graph(Services(settings, model=model)).invoke(
        {"question": "Describe the orders", "source": "sample", "output_type": "number"}
    )

    assert output["output_type"] == "number" and len(model.calls) == 1
