"""A report on the sample shop, answered by a scripted model: three questions of one statement each."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.report.graph import ReportGraph, build_report
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import EmbeddedOptions

REQUEST = "Give me an overview of orders"
TOTAL, REGIONS, YEARS = "How many orders are there?", "How many orders per region?", "How many orders per year?"
STATEMENTS: dict[str, Any] = {
    TOTAL: "SELECT COUNT(*) AS orders FROM orders",
    REGIONS: "SELECT r.name AS region, COUNT(*) AS orders FROM orders o JOIN customers c ON c.customer_id = "
    "o.customer_id JOIN regions r ON r.region_id = c.region_id GROUP BY r.name ORDER BY orders DESC",
    YEARS: "SELECT strftime('%Y', ordered_on) AS year, COUNT(*) AS orders FROM orders GROUP BY 1 ORDER BY 1",
}
PLAN = {"questions": [{"question": question, "purpose": "size"} for question in (TOTAL, REGIONS, YEARS)]}
WRITTEN = {
    "title": "Orders",
    "summary": "There are {q1:orders#order|orders}; {q2:max.orders:region} has most of them, {q2:max.orders}.",
    "sections": [
        {"title": "By region", "text": "{q2:max.orders:region} leads with {q2:max.orders}.", "questions": ["q2"]},
        {"title": "By year", "text": "The first year was {q3:1.year}, with {q3:1.orders}.", "questions": ["q3", "q1"]},
    ],
}


class ScriptedReport(NamedTuple):
    """The report graph with the scripted model that answers in it."""

    graph: ReportGraph
    model: ScriptedModel
    services: Services

    def ask(self, request: str = REQUEST, **given: Any) -> dict[str, Any]:
        return self.graph.invoke({"question": request, **given})


MakeReport = Callable[..., ScriptedReport]
"""The fixture `report`."""


def statement_for(statements: Mapping[str, Any]) -> Callable[[Any], Any]:
    """Return the answer to a prompt for a statement: that of the question in it, whatever the order of the calls."""

    def answer(messages: Any) -> Any:
        prompt = str(messages[1].content)
        found = next(value for question, value in statements.items() if f"Question: {question}" in prompt)
        found = found() if callable(found) else found
        return {"sql": found} if isinstance(found, str) else found

    return answer


@pytest.fixture
def report(cache_dir: Any) -> MakeReport:
    """A maker of report graphs: answers by schema name, the statements by question, and settings by name."""

    def make(
        answers: Mapping[str, Any] | None = None,
        statements: Mapping[str, Any] = STATEMENTS,
        embedded: EmbeddedOptions | None = None,
        **overrides: Any,
    ) -> ScriptedReport:
        script = {
            "ReportPlan": [PLAN],
            "ReportReview": [{"questions": []}],
            "WrittenReport": [WRITTEN],
            "GeneratedSQL": [statement_for(statements)] * 40,
        }
        model = ScriptedModel({**script, **(answers or {})})
        settings = load_settings(cache_dir=cache_dir, enable_sql_validation=False, **overrides)
        services = Services(settings, model=model, embedded=embedded)
        return ScriptedReport(build_report(services), model, services)

    return make
