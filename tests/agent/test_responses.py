import re
import sys
from pathlib import Path

import pytest

from datasphinx.agent.errors import DriverMissing
from datasphinx.agent.messages import render
from datasphinx.agent.responses import DataFrameResponse, StringResponse, response_of
from tests.agent.charts.results import HOSTILE
from tests.support.analyst import ROWS, response
from tests.support.generated_docs import ROOT

pytestmark = pytest.mark.integration

FORMS = ["number", "string", "dataframe", "plot"]


@pytest.mark.parametrize("form", FORMS)
def test_no_text_reaches_a_notebook_unescaped(form: str) -> None:
    page = response(form)._repr_html_()

    assert HOSTILE not in page
    assert "&lt;img src=x" in page
    assert "<details><summary>SQL</summary><pre>SELECT &#x27;&lt;img" in page
    assert page.count("<img") == (1 if form == "plot" else 0)


def test_a_response_looks_like_the_page() -> None:
    page = response("dataframe")._repr_html_()
    css = (ROOT / "agent/web/page.css").read_text(encoding="utf-8")
    colours = set(re.findall(r"light-dark\((#\w+),(#\w+)\)", page))

    assert '<td class="number">1</td>' in page and page.count("<style>") == 1
    assert colours and colours <= set(re.findall(r"light-dark\((#\w+), (#\w+)\)", css))


def test_a_response_shows_what_it_takes_for_granted_and_has_a_short_repr() -> None:
    definition = {"name": "net sales", "definition": HOSTILE, "place": "shop.yaml"}
    told = render("assumed", "en", assumptions="cancelled ones count")
    answer = f"{HOSTILE}\n" * 20 + f"\n{told}\n\nRead more."
    audit = {"assumptions": ["cancelled ones count"]}
    output = {"answer": answer, "output_type": "number", "value": 1, "sql": "SELECT 1", "audit": audit}
    made = response_of(
        {**output, "checked": True, "filters": ["2025"], "definitions": [definition], "follow_ups": ["By month?"]}
    )

    page = made._repr_html_()
    assert re.findall(r"<(?:b|span)>(.*?)</(?:b|span)>", page) == [
        "Checked by the model",
        "cancelled ones count",
        "net sales = &lt;img src=x onerror=alert(1)&gt;",
        "2025",
    ]
    assert "<li>By month?</li>" in page and HOSTILE not in page
    assert told not in page and "<p>Read more.</p>" in page and told in str(made)
    assert repr(made).startswith("<NumberResponse: <img") and len(repr(made)) < 120


def test_table_is_shown_as_one_and_cut() -> None:
    page = response("dataframe", 70)._repr_html_()

    assert page.count("<tr>") == 51
    assert "<p>+ 20</p>" in page
    assert "|---|" not in page


def test_chart_without_the_extra_shows_the_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    chart = response("plot")

    assert "<table>" in chart._repr_html_()
    with pytest.raises(DriverMissing):
        chart.save(tmp_path / "a.png")  # type: ignore[attr-defined]
    assert not (tmp_path / "a.png").exists()


def test_table_without_pandas_is_still_there_in_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = response("dataframe")

    assert isinstance(table, DataFrameResponse)
    assert table.plain["rows"] == ROWS["rows"]
    with pytest.raises(DriverMissing) as caught:
        _ = table.value
    assert caught.value.extra == "pandas"


def test_cell_without_a_value_is_a_text_without_one() -> None:
    empty = response_of({"answer": "–", "output_type": "string", "value": None, "audit": {}})

    assert isinstance(empty, StringResponse)
    assert empty.value is None
    assert (empty.sql, empty.tables, empty.clarification) == (None, [], None)
