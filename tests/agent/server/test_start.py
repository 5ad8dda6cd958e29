"""What the page shows before the first question: tables of a source, and questions that return rows."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agent.server.keys import ACME, BETA, KEYS
from tests.agent.server.serving import Served, serving
from tests.support.databases import change, make_table, url


def get(server: Served, path: str, key: str = "", **params: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return server.http.get(path, params=params, headers={**headers, "Accept-Language": params.pop("language", "en")})


def names(response: httpx.Response) -> dict[str, list[str]]:
    return {each["name"]: [column["name"] for column in each["columns"]] for each in response.json()["tables"]}


def test_tables_have_types_comments_ranges_and_row_counts(served: Served) -> None:
    shown = {each["name"]: each for each in get(served, "/sources/tables").json()["tables"]}
    columns = {each["name"]: each for each in shown["orders"]["columns"]}
    assert shown["orders"]["rows"] > 10_000
    assert (
        columns["ordered_on"]["type"] == "DATE" and columns["ordered_on"]["minimum"] < columns["ordered_on"]["maximum"]
    )
    assert get(served, "/sources/tables", source="sample").json() == get(served, "/sources/tables").json()


def test_six_questions_are_the_same_each_time_and_in_the_language_of_the_page(served: Served) -> None:
    english = get(served, "/sources/questions").json()["questions"]
    assert len({each["question"] for each in english}) == len(english) == 6
    assert "Net sales by month" in {each["question"] for each in english}
    assert get(served, "/sources/questions").json()["questions"] == english
    russian = get(served, "/sources/questions", language="ru").json()["questions"]
    assert len(russian) == 6 and all(
        "а" <= each["question"].lower()[0] <= "я" for each in russian if each["origin"] == "schema"
    )
    assert served.model.calls == []


def test_other_sources_are_not_found(served: Served) -> None:
    for path in ("/sources/tables", "/sources/questions"):
        for name in ("other", "sqlite:///etc/passwd", ""):
            response = get(served, path, source=name)
            assert (response.status_code, response.json()["code"]) == (404, "source_not_found")


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, Any]:
    """Two tables, one of which is empty, with a secret column and row rules."""
    folder = tmp_path / "shop"
    folder.mkdir()
    sales = [["north", "shoes", f"2025-{month:02d}-03", month * 10, "s3cret"] for month in range(1, 13)]
    sales += [["south", "hats", "2025-05-03", 7, "other"]]
    shop = make_table(
        folder, "region TEXT, kind TEXT, sold_on DATE, amount INTEGER, password TEXT", sales, table="sales"
    )
    change(shop, "CREATE TABLE notes (note TEXT, region TEXT)")
    knowledge = folder / "knowledge"
    knowledge.mkdir()
    (knowledge / "shop.yaml").write_text(
        "metrics:\n  revenue:\n    expression: SUM(sales.amount)\n"
        "  losses:\n    expression: SUM(sales.amount)\n    filters: sales.amount < 0\n"
        "verified:\n  - question: Which kind sells best?\n    author: Ann\n    date: 2026-01-01\n"
        "    sql: SELECT kind, SUM(amount) AS total FROM sales GROUP BY kind ORDER BY total DESC LIMIT 1\n",
        encoding="utf-8",
    )
    return {"url": url(shop), "knowledge": str(knowledge)}


def test_questions_come_from_the_knowledge_and_return_rows(cache_dir: Path, shop: dict[str, Any]) -> None:
    with serving(cache_dir, sources={"shop": shop}) as server:
        questions = get(server, "/sources/questions", source="shop").json()["questions"]
        assert questions[:2] == [
            {"question": "Which kind sells best?", "origin": "verified"},
            {"question": "Revenue by region", "origin": "metric"},
        ]
        # Statements without rows are left out: those about losses and about notes.
        assert not [each for each in questions if "osses" in each["question"] or "notes" in each["question"]]
        assert {"question": "Number of sales by month", "origin": "schema"} in questions
        assert list(names(get(server, "/sources/tables"))) == ["notes", "sales"]
        assert names(get(server, "/sources/tables"))["sales"] == ["region", "kind", "sold_on", "amount"]
        assert "s3cret" not in get(server, "/sources/tables").text


def test_row_rules_hold(cache_dir: Path, tmp_path: Path, shop: dict[str, Any]) -> None:
    rules = {"sales": "region = :region", "notes": "deny"}
    settings = {
        "sources": {"shop": {**shop, "row_rules": rules}, "books": shop},
        "api_keys": KEYS,
        "tenants": {
            "acme": {"sources": ["shop"], "row_parameters": {"region": "nowhere"}},
            "beta": {"sources": ["shop"], "row_parameters": {"region": "south"}},
        },
    }
    with serving(cache_dir, data_dir=tmp_path / "data", **settings) as server:
        assert get(server, "/sources/questions", ACME).json()["questions"] == []
        assert get(server, "/sources/questions", BETA).json()["questions"]
        for key in (ACME, BETA):
            tables = get(server, "/sources/tables", key)
            assert list(names(tables)) == ["sales"] and "120" not in tables.text
            # A count of all rows would tell of those that the rule hides.
            assert tables.json()["tables"][0]["rows"] in (None, 0, 1)
            assert get(server, "/sources/tables", key, source="books").json()["code"] == "source_not_found"
        assert get(server, "/sources/tables").status_code == 401
