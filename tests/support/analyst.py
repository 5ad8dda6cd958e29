"""A stand-in for the analyst, and responses as it gives them."""

from typing import Any

import pandas
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from datasphinx.agent.charts.echarts import chart_of
from datasphinx.agent.datasets.limits import LoadLimits
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.responses import Response, response_of
from datasphinx.agent.settings import Settings
from tests.agent.charts.results import HOSTILE, result

FRAME = pandas.DataFrame({"city": ["Oslo", "Rome"], "sales": [3, 4]})


class TableState(TypedDict, total=False):
    question: str
    files: list[str]
    datasets: list[str]
    output_type: str | None
    clarification_answer: str
    answer: str
    value: Any
    sql: str | None
    error: Any
    failure: Any
    clarification: Any
    audit: Any
    load: Any


class Analyst:
    """A graph with the analyst's input and output, which counts the rows of what it is given."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.settings: Settings | None = None

    def build(self, services: Any, checkpointer: Any) -> Any:
        self.settings = services.settings
        builder = StateGraph(TableState)
        builder.add_node("count", self.count)
        builder.add_edge(START, "count")
        builder.add_edge("count", END)
        return builder.compile(checkpointer=checkpointer)

    @property
    def registry(self) -> Registry:
        assert self.settings
        return Registry(self.settings.data_dir, LoadLimits.of(self.settings))

    def count(self, state: TableState) -> dict[str, Any]:
        self.asked.append({**state})
        datasets = [self.registry.dataset(each) for each in state["datasets"]]
        datasets += [self.registry.create(each) for each in state["files"]]
        rows = sum(dataset.row_count for dataset in datasets)
        error = {"code": "x", "message": "out of steps"} if "fail" in state["question"] else None
        back = {"question": "Which?", "ambiguity_type": "AmbValue", "options": [{"label": "<b>", "reading": ""}]}
        asks = "which" in state["question"] and "clarification_answer" not in state
        return {
            "answer": "Which?" if asks else error["message"] if error else f"{rows} rows",
            "output_type": None if error or asks else "number",
            "value": rows,
            "sql": None,
            "error": error,
            "clarification": back if asks else None,
            "audit": {"trace_id": "t", "steps": []},
        }


ROWS = result({f"{HOSTILE}a": "string", f"{HOSTILE}b": "integer"}, (HOSTILE, 1), (f"{HOSTILE}2", 2))


def response(form: str, count: int = 2) -> Response:
    rows = ROWS["rows"] * (count // 2)
    table = {"name": "result", "columns": ROWS["columns"], "rows": rows}
    values: dict[str, Any] = {"number": 1, "string": HOSTILE, "dataframe": table, "plot": chart_of(ROWS, HOSTILE)}
    return response_of(
        {
            "answer": f"{HOSTILE}\n\n| a |\n|---|\n| {HOSTILE} |",
            "output_type": form,
            "value": values[form],
            "sql": f"SELECT '{HOSTILE}'",
            "tables": [table],
            "audit": {},
        }
    )
