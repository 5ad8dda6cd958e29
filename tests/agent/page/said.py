"""What the model says in the tests of the page, by the schema that it is asked for."""

import json
import threading
from collections.abc import Callable
from typing import Any

from tests.conftest import NO_AMBIGUITY, VALID
from tests.support.best_customer import review_of
from tests.support.fake_openai import first_dataset

QUESTION = "Which customers are the best? Show a bar chart."
_NAMED = "FROM orders AS o JOIN customers AS c ON c.customer_id = o.customer_id GROUP BY c.name"
BY_ORDERS = f"SELECT c.name, COUNT(*) AS orders {_NAMED} ORDER BY orders DESC, c.name LIMIT 5"
BY_AMOUNT = f"SELECT c.name, ROUND(SUM(o.total_amount), 2) AS spent {_NAMED} ORDER BY spent DESC LIMIT 5"
FEWER = BY_AMOUNT.replace("LIMIT 5", "LIMIT 3")
ASKS = {
    "sql": "",
    "ambiguity_type": "AmbQuestion",
    "question": "What makes a customer the best?",
    "alternatives": [
        {"label": "by orders", "reading": "those with the most orders", "sql": BY_ORDERS},
        {"label": "by amount", "reading": "those who spent the most", "sql": BY_AMOUNT},
    ],
}
ASKS_AGAIN = {
    **ASKS,
    "ambiguity_type": "AmbOutput",
    "question": "How many customers do you want to see?",
    "alternatives": [{"label": "three", "reading": "the first three"}, {"label": "ten", "reading": "the first ten"}],
}
REPORTED = ("Who spent the most?", "How many ships are there?")
"""The questions of a report; the second one has no answer."""
WRITTEN = {
    "title": "Customers",
    "summary": "{q1:1.name} spent most, {q1:1.spent}.",
    "sections": [{"title": "The best", "text": "{q1:2.name} follows.", "questions": ["q1"]}],
}
RETURNS = "Which accounts have the most returns? As a bar chart."
_SPEC = {
    "group_by": ["账号"],
    "aggregations": [{"as": "returns", "agg": "sum", "col": "退货数量"}],
    "sort": [{"by": "returns", "desc": True}],
    "limit": 3,
}
_BARS = {"chart_type": "bar", "x": "账号", "y": "returns", "title": "Returns by account"}
_END = "{1.账号} has the most returns, {1.returns}; {2.账号} follows with {2.returns} and {3.账号} with {3.returns}."


class Model:
    """Answers requests for a fake server: first with `reviews`, as alternatives or in reviews, then with `sql`."""

    def __init__(
        self, sql: str = FEWER, reviews: tuple[dict[str, Any], ...] = (ASKS, ASKS_AGAIN), **fields: Any
    ) -> None:
        self.calls = 0
        self.sql, self.reviews = sql, list(reviews)
        self.fields = fields
        """Further fields of a statement, such as `answer`, or those in its place, such as `reply`."""
        self.verdict: dict[str, Any] = VALID
        self.wait: threading.Event | None = None
        """Where there is one, a statement is written when it is set."""
        self.asked = threading.Event()
        """Set when a statement has been asked for."""

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        schema = request.get("response_format", {}).get("json_schema", {}).get("name")
        if not schema and "tools" not in request:
            return {"word": "ready"}
        may_ask = "alternatives" in str(request["messages"])
        answers: dict[str | None, Callable[[], dict[str, Any]]] = {
            "AmbiguityReview": lambda: review_of(self.reviews.pop(0)) if self.reviews else NO_AMBIGUITY,
            "SQLValidation": lambda: self.verdict,
            "GeneratedSQL": lambda: self.reviews.pop(0) if self.reviews and may_ask else self._statement(request),
            "ReportPlan": lambda: {"questions": [{"question": question} for question in REPORTED]},
            "ReportReview": lambda: {"questions": []},
            "WrittenReport": lambda: WRITTEN,
            "NarratedAnswer": lambda: {"answer": "These are the rows.", "output_type": "dataframe"},
        }
        return answers[schema]() if schema in answers else self._call(request)

    def release(self) -> None:
        """Write what waits to be written: a test that ends leaves no request behind."""
        if self.wait:
            self.wait.set()

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let the analyst compute, then draw, then end."""
        self.calls += 1
        arguments: dict[str, Any] = {"answer": _END}
        if self.calls == 1:
            arguments = _query(request)
        elif self.calls == 2:
            arguments = {"result_id": "r1", "plot": _BARS}
        return {"tool": ["run_query", "plot", "finish"][self.calls - 1], "arguments": json.dumps(arguments)}

    def _statement(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.set()
        if f"Question: {REPORTED[1]}" in str(request["messages"]):
            return {"sql": "SELECT ship FROM no_such_table"}
        if self.wait:
            self.wait.wait()
        return {"sql": self.sql, "assumptions": ["cancelled orders count too"], "off_topic": False, **self.fields}


def _query(request: dict[str, Any]) -> dict[str, Any]:
    return {"dataset_id": first_dataset(request), "query": _SPEC}
