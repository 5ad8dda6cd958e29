"""The chart of a stored answer with its settings, and the rows of its tables as files."""

import csv
import io
import json
from typing import Any

import openpyxl
import pytest

from datasphinx.agent.conversation.threads import Threads
from tests.agent.server.serving import ASKED, COUNT, Served

QUESTION = "Which statuses have the most orders? Сколько их"
BY_STATUS = {**COUNT, "sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"}


# The model ranks the statuses by orders, or else counts the orders.
ANSWERS = {"GeneratedSQL": [lambda messages: BY_STATUS if QUESTION in str(messages) else COUNT]}
SETTINGS = {"clarify": "never"}


def path_of(output: dict[str, Any]) -> str:
    return f"/threads/{output['thread_id']}/runs/{output['run_id']}"


def test_a_ranking_has_a_chart_that_is_not_in_the_output(served: Served) -> None:
    output = served.invoke(question=QUESTION)
    found = served.http.get(f"{path_of(output)}/chart").json()

    assert (output["output_type"], output["charts"]) == ("dataframe", [])
    assert (found["chart"]["type"], found["spec"]["y"], found["saved"]) == ("bar", ["orders"], False)
    assert found["chart"]["option"]["series"][0]["data"]
    assert found["columns"] == [{"name": "status", "numeric": False}, {"name": "orders", "numeric": True}]
    assert {"bar", "pie", "line"} <= found["types"].keys()


def test_settings_are_saved_with_the_answer(served: Served) -> None:
    output = served.invoke(question=QUESTION)
    path = f"{path_of(output)}/chart"
    spec = served.http.get(path).json()["types"]["pie"]
    drawn = served.http.put(path, json={"spec": spec}).json()
    bars = {"chart_type": "bar", "x": "status", "y": "orders", "horizontal": True}
    assert served.http.put(path, json={"spec": bars}).json()["chart"]["type"] == "bar"
    served.http.put(path, json={"spec": spec})
    served.invoke(question="and by month?", thread_id=output["thread_id"])
    again = served.http.get(path).json()

    assert (drawn["chart"]["type"], drawn["saved"]) == ("pie", True)
    assert again == drawn
    assert served.http.get(f"/threads/{output['thread_id']}").status_code == 200
    assert len(served.http.get(f"/threads/{output['thread_id']}/history").json()["runs"]) == 2


def test_a_stored_chart_of_a_type_that_is_gone_is_the_default_one(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = json.dumps({"chart_type": "box", "x": "status", "y": ["orders"]})
    monkeypatch.setattr(Threads, "saved_chart", lambda *_: stored)
    found = served.http.get(f"{path_of(served.invoke(question=QUESTION))}/chart")

    assert (found.status_code, found.json()["chart"]["type"]) == (200, "bar")


def test_an_answer_without_rows_for_a_chart(served: Served) -> None:
    output = served.invoke(**ASKED)
    found = served.http.get(f"{path_of(output)}/chart").json()
    assert (found["chart"], found["types"]) == (None, {})


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ({"chart_type": "bar", "x": "region", "y": "orders"}, "plot_spec_invalid"),
        ({"chart_type": "heatmap", "x": "status", "y": "orders"}, "plot_spec_invalid"),
        ({"chart_type": "gauge", "x": "status", "y": "orders"}, "input_invalid"),
        ({"chart_type": "bar", "x": "status", "y": "orders", "formatter": "<b>"}, "input_invalid"),
    ],
)
def test_settings_that_do_not_fit_are_refused_and_not_saved(served: Served, spec: dict[str, Any], code: str) -> None:
    path = f"{path_of(served.invoke(question=QUESTION))}/chart"
    response = served.http.put(path, json={"spec": spec})
    assert (response.status_code, response.json()["code"]) == (422, code)
    assert served.http.get(path).json()["saved"] is False


def test_all_rows_come_as_a_file_named_after_the_question(served: Served) -> None:
    output = served.invoke(question=QUESTION)
    (table,) = output["tables"]
    files = {kind: served.http.get(f"{path_of(output)}/tables/1.{kind}") for kind in ("csv", "xlsx", "parquet")}
    rows = list(csv.reader(io.StringIO(files["csv"].content.decode("utf-8-sig"))))
    sheet = openpyxl.load_workbook(io.BytesIO(files["xlsx"].content)).active

    assert rows == [table["columns"], *([str(cell) for cell in row] for row in table["rows"])]
    assert sheet and [list(row) for row in sheet.iter_rows(values_only=True)] == [table["columns"], *table["rows"]]
    assert files["parquet"].content.startswith(b"PAR1")
    assert files["csv"].headers["content-disposition"] == (
        'attachment; filename="which-statuses-have-the-most-orders.csv"; '
        "filename*=UTF-8''which-statuses-have-the-most-orders-%D1%81%D0%BA%D0%BE%D0%BB%D1%8C%D0%BA%D0%BE-%D0%B8%D1%85.csv"
    )


@pytest.mark.parametrize("path", ["chart", "tables/1.csv"])
def test_an_answer_that_is_not_there(served: Served, path: str) -> None:
    output = served.invoke(question=QUESTION)
    run = "00000000-0000-0000-0000-000000000000"
    for thread, code in ((output["thread_id"], "run_unknown"), ("0" * 32, "thread_unknown")):
        response = served.http.get(f"/threads/{thread}/runs/{run}/{path}")
        assert (response.status_code, response.json()["code"]) == (404, code)


def test_a_table_that_the_answer_does_not_have(served: Served) -> None:
    path = path_of(served.invoke(question=QUESTION))
    response = served.http.get(f"{path}/tables/2.csv")
    assert (response.status_code, response.json()["code"]) == (404, "table_unknown")
    assert served.http.get(f"{path}/tables/0.csv").status_code == 422
    assert served.http.get(f"{path}/tables/1.exe").status_code == 422
