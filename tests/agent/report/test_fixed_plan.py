"""A model that only writes statements has a fixed plan, with the periods and values of the request, and plain texts."""

from collections.abc import Callable
from typing import Any

import pytest

from datasphinx.agent.types import EmbeddedOptions
from tests.agent.report.conftest import MakeReport

pytestmark = pytest.mark.integration


@pytest.fixture
def questions(report: MakeReport) -> Callable[[str], dict[str, str]]:
    """Writes a report with such a model, and returns its questions with their purposes."""

    def ask(request: str) -> dict[str, str]:
        made = report(
            {"text": ["FROM orders SELECT COUNT(*)"] * 20}, embedded=EmbeddedOptions(adapter=False, candidates=1)
        )
        output = made.ask(request)
        written: dict[str, Any] = output["report"]
        assert output["status"] == "ok"
        assert {call.schema_name for call in made.model.calls} == {"text"}
        assert "10,127" in written["sections"][0]["text"]["text"]
        assert any("fixed plan" in limit["text"] for limit in written["limits"])
        return {part["question"]: part["purpose"] for part in written["parts"]}

    return ask


def test_an_overview_has_total_course_breakdowns_extremes_and_change(questions: Callable[..., Any]) -> None:
    asked = questions("Give me an overview of orders")
    assert asked["Number of orders"] == "total"
    assert asked["Number of orders by month"] == "course over time"
    assert asked["Number of orders by status"] == "breakdown"
    assert asked["Which status has the highest number of orders?"] == "extremes"
    assert asked["Number of orders by year"] == "change"
    assert 2 <= list(asked.values()).count("breakdown") <= 3


@pytest.mark.heavy
def test_periods_and_stored_values_of_the_request_are_part_of_each_question(questions: Callable[..., Any]) -> None:
    asked = questions("Overview of orders in Germany in 2025")
    assert all("for 2025, Germany" in question for question in asked)
    assert "change" not in asked.values()
    quarter = questions("Overview of orders in the second quarter of 2025")
    assert all(question.count("2025") == 1 for question in quarter)


@pytest.mark.heavy
def test_a_metric_or_column_that_the_request_names_is_the_measure(questions: Callable[..., Any]) -> None:
    asked = questions("Give me an overview of sales in 2025")
    assert asked["Net sales for 2025"] == "total"
    assert asked["Net sales for 2025 by orders channel"] == "breakdown", "by the dimensions of the metric"
    assert "Sum of refund amount in returns" in questions("Overview of the refund amount of returns")
