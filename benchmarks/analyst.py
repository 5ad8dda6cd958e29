"""Correct, wrong and unanswered spreadsheet questions, with recorded answers of a reader in place of a model.

    python -m benchmarks.analyst QUESTIONS --answers FILE [--pending FILE] [--show]
    python -m benchmarks.analyst QUESTIONS --embedded [--show]

QUESTIONS is a file of JSON lines `{"id", "files", "question", "expected"}`; the files are in its folder. `expected` has
one of these keys:

- `rows`: the rows of the main table, in any order (in this order if `ordered` is true). A row may have more columns;
  numbers agree to 0.001 %, or to two decimals.
- `text`: figures and words that the answer contains.
- `error`: the code of the error, for questions that the files cannot answer.

`--answers` has lines `{"id", "steps"}`: the planning steps of the question, `{"tool", "arguments"}`, in order. With
`--pending`, the prompt of the first planning call without a recorded answer is written for each question, as a line
`{"id", "messages", "tools"}`; a reader answers it by appending to `steps`. `--embedded` asks the embedded model.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import convert_to_openai_messages

from benchmarks.common import Line, read_lines, write_lines
from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.errors import ModelUnreachable
from datasphinx.agent.llm.schemas import AnalystStep
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.messages import Message
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings

TODAY = date(2026, 11, 1)
"""The date in the prompts, so that they are the same on every day."""


class Reader:
    """An analyst whose planning calls get the recorded steps of the current question."""

    def __init__(self) -> None:
        self.steps: list[Line] = []
        self.pending: list[BaseMessage] | None = None
        self.model = ScriptedModel({AnalystStep.__name__: [self._next]}, repeat_last=True)
        settings = Settings(llm_base_url="http://127.0.0.1:9/v1", llm_profile="standard", record=False)
        self.services = Services(settings, model=self.model, today=lambda: TODAY)
        self.graph = build_analyst(self.services)

    def _next(self, messages: list[BaseMessage]) -> Any:
        if self.steps:
            return self.steps.pop(0)
        self.pending = messages
        return ModelUnreachable("reader", Message("script_exhausted", name=AnalystStep.__name__))

    def ask(self, question: str, files: list[str], steps: Sequence[Line] = ()) -> Line:
        """Return the output for `question`; `pending` is set to the prompt of a planning call without a step."""
        self.steps, self.pending = list(steps), None
        return self.graph.invoke({"question": question, "files": files, "clarify": "never"})


def grade(expected: Line, output: Line) -> str:
    """Return "correct", "wrong" or "unanswered"."""
    error = (output["error"] or {}).get("code")
    if "error" in expected:
        return "correct" if error == expected["error"] else "wrong" if error is None else "unanswered"
    if error:
        return "unanswered"
    if "text" in expected:
        return "correct" if all(_mentions(output["answer"], part) for part in expected["text"]) else "wrong"
    tables = [table["rows"] for table in output["tables"]] or [[[output["value"]]]]
    is_ordered = bool(expected.get("ordered"))
    return "correct" if any(_rows_match(expected["rows"], rows, is_ordered) for rows in tables) else "wrong"


def _mentions(answer: str, part: str) -> bool:
    plain = str.maketrans("", "", ",\u00a0\u202f ")
    return part.translate(plain).casefold() in answer.translate(plain).casefold()


def _rows_match(expected: list[list[Any]], rows: list[list[Any]], is_ordered: bool) -> bool:
    if len(expected) != len(rows):
        return False
    if is_ordered:
        return all(map(_row_matches, expected, rows))
    left = list(rows)
    for row in expected:
        match = next((other for other in left if _row_matches(row, other)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _row_matches(expected: list[Any], row: list[Any]) -> bool:
    left = list(row)
    for value in expected:
        match = next((index for index, other in enumerate(left) if _equal(value, other)), None)
        if match is None:
            return False
        del left[match]
    return True


def _equal(expected: Any, value: Any) -> bool:
    if isinstance(expected, int | float) and isinstance(value, int | float) and not isinstance(value, bool):
        return math.isclose(expected, value, rel_tol=1e-5, abs_tol=0.0051)
    if expected is None or value is None:
        return expected is value
    return str(expected).strip().casefold() == str(value).strip().casefold()


def replay(questions: Sequence[Line], folder: Path, steps: dict[str, list[Line]]) -> Iterator[Line]:
    """Yield the output, the grade ("pending" without a further step) and the pending prompt of each question."""
    reader = Reader()
    for question in questions:
        files = [str(folder / name) for name in question["files"]]
        output = reader.ask(question["question"], files, steps.get(question["id"], ()))
        outcome = {"question": question, "output": output, "grade": grade(question["expected"], output)}
        if reader.pending:
            messages = convert_to_openai_messages(reader.pending)
            prompt = {"id": question["id"], "messages": messages, "tools": reader.model.calls[-1].tools}
            outcome = {**outcome, "grade": "pending", "pending": prompt}
        yield outcome


def ask_embedded(questions: Sequence[Line], folder: Path) -> Iterator[Line]:
    """Yield the output and the grade of each question, answered by the embedded model."""
    graph = build_analyst(Services(Settings(llm_base_url=None, llm_api_key=None, record=False), today=lambda: TODAY))
    for question in questions:
        files = [str(folder / name) for name in question["files"]]
        output = graph.invoke({"question": question["question"], "files": files, "clarify": "never"})
        yield {"question": question, "output": output, "grade": grade(question["expected"], output)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the number of questions per grade."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.analyst")
    parser.add_argument("questions", type=Path, help="file of questions")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="recorded steps of a reader")
    parser.add_argument("--pending", type=Path, metavar="FILE", help="write the prompts without a recorded step here")
    parser.add_argument("--embedded", action="store_true", help="ask the embedded model")
    parser.add_argument("--show", action="store_true", help="print each answer that is not correct")
    options = parser.parse_args(arguments)
    questions, folder = read_lines(options.questions), options.questions.parent
    recorded = {line["id"]: line["steps"] for line in read_lines(options.answers)} if options.answers else {}
    outcomes = list(ask_embedded(questions, folder) if options.embedded else replay(questions, folder, recorded))
    if options.pending:
        write_lines(options.pending, [outcome["pending"] for outcome in outcomes if "pending" in outcome])
    for outcome in outcomes if options.show else ():
        if outcome["grade"] != "correct":
            shown = {name: outcome["output"][name] for name in ("answer", "value", "tables", "error")}
            line = {"id": outcome["question"]["id"], "grade": outcome["grade"], **shown}
            sys.stdout.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
    sys.stdout.write(json.dumps(Counter(outcome["grade"] for outcome in outcomes)) + "\n")


if __name__ == "__main__":
    main()
