"""Reports on the sample shop and a spreadsheet, from the replies of a strong model that saw the prompts alone."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.messages import language_in
from datasphinx.agent.report.export import ReportResponse
from datasphinx.agent.report.graph import build_report
from datasphinx.agent.sample.spreadsheets import STORES
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings

pytestmark = [pytest.mark.integration, pytest.mark.heavy]

FIXTURE = Path(__file__).parents[2] / "fixtures" / "reports" / "replies.jsonl"
REPORTS = [json.loads(line) for line in FIXTURE.read_text(encoding="utf-8").splitlines()]
"""A request with the `replies` about the report by schema, and the `answers` to each of its questions."""
_QUESTION = re.compile(r"^Question: (.*)$", re.M)


def model_of(recorded: dict[str, Any]) -> ScriptedModel:
    """Return the model that gives the replies of a report, whatever the order of its questions."""
    given: dict[str, Iterator[Any]] = {question: iter(replies) for question, replies in recorded["answers"].items()}

    def answer(messages: Any) -> Any:
        asked = _QUESTION.search(str(messages[-1].content))
        assert asked
        return next(given[asked[1]])

    count = sum(map(len, recorded["answers"].values()))
    return ScriptedModel({**recorded["replies"], "GeneratedSQL": [answer] * count, "AnalystStep": [answer] * count})


def figures(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the text of each figure of a report, and where it comes from."""
    for text in [report["summary"], *(section["text"] for section in report["sections"]), *report["limits"]]:
        for figure in text["figures"]:
            yield text["text"][figure["start"] : figure["end"]], figure


@pytest.mark.parametrize("recorded", REPORTS, ids=lambda recorded: recorded["id"])
def test_every_figure_of_a_recorded_report_is_one_of_rows(
    recorded: dict[str, Any], cache_dir: Path, tmp_path: Path
) -> None:
    services = Services(load_settings(cache_dir=cache_dir, data_dir=tmp_path), model=model_of(recorded))
    data = {"files": [services.registry.add_file(STORES)]} if recorded["file"] else {"source": "sample"}

    output = build_report(services).invoke({"question": recorded["request"], "clarify": "never", **data})

    report = output["report"]
    rows = {part["id"]: part["result"]["rows"] for part in report["parts"] if part["result"]}
    assert output["status"] == "ok"
    assert {part["id"]: part["error"] for part in report["parts"]} == dict.fromkeys(rows)
    written = [call["schema"] for step in output["audit"]["steps"] for call in step["calls"]]
    assert written.count("WrittenReport") == 1, "no text was refused"
    assert report["summary"]["figures"] and all(section["text"]["figures"] for section in report["sections"])
    for shown, figure in figures(report):
        assert shown and figure["rows"] and max(figure["rows"]) < len(rows[figure["part"]])
    assert ("q6b" in rows) == (recorded["id"] == "stores-1"), "a second table of an answer is a part as well"
    html = ReportResponse(report, None, output["audit"], language_in(output)).html
    ids = {each: html.count(f'id="{each}"') for each in set(re.findall(r'href="#([^"]+)"', html))}
    assert ids and set(ids.values()) == {1}
