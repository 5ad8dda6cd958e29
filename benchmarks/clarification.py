"""Precision and recall of clarifying questions, with recorded answers of the generation call in place of a model.

    python -m benchmarks.clarification QUESTIONS... --write-prompts FILE
    python -m benchmarks.clarification QUESTIONS... --answers FILE

QUESTIONS are files of JSON lines `{"id", "db", "question", "ambiguous"}`; `db` is the name of a SQLite file in the
folder of `--databases`, or "sample" for the sample shop. A line may have `readings`, each with `sql`, and the position
`intended` of one of them. The first command writes one line `{"id", "messages"}` for each question: the prompt of its
generation call, which somebody else answers. The second command reads lines `{"id", "answer"}` with these answers (an
object, or its text), runs each question through the graph with `clarify` "auto", and prints the figures.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import convert_to_openai_messages

from benchmarks.common import Line, read_lines, write_lines
from benchmarks.spider import DEV
from datasphinx.agent.clarify.review import distinct_readings
from datasphinx.agent.evals.run import evaluation_settings
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.schemas import GeneratedSQL, ReadingOption
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.names import SAMPLE

TODAY = date(2026, 11, 1)
"""The date in the prompts, so that they are the same on every day."""
NOTHING = {"sql": "SELECT 1"}
"""The answer while prompts are written."""


def source_of(database: str, databases: Path) -> str:
    """Return the name or URL of the database of a question.

    Raises:
        SystemExit: there is no such database.
    """
    path = databases / f"{database}.sqlite"
    if database != SAMPLE and not path.is_file():
        raise SystemExit(f"there is no database {path}: name its folder with --databases")
    return SAMPLE if database == SAMPLE else f"sqlite:///{path.absolute()}"


class Reader:
    """A graph whose generation calls get the recorded answer of the current question."""

    def __init__(self) -> None:
        self.answer: Any = NOTHING
        self.prompts: list[list[BaseMessage]] = []
        unlimited = {"schema_token_budget": 10**9, "enable_sql_validation": False}
        settings = evaluation_settings(load_settings()).model_copy(update=unlimited)
        model = ScriptedModel({GeneratedSQL.__name__: [self._next]}, repeat_last=True)
        self.services = Services(settings, model=model, today=lambda: TODAY)
        self.graph = build_graph(self.services)

    def _next(self, messages: list[BaseMessage]) -> Any:
        self.prompts.append(messages)
        return self.answer

    def ask(self, question: str, source: str, answer: Any = NOTHING) -> dict[str, Any]:
        """Return the output for `question`, with `answer` as that of each generation call."""
        self.answer, self.prompts = answer, []
        return self.graph.invoke({"question": question, "source": source, "clarify": "auto"})


def write_prompts(questions: Sequence[Line], databases: Path, path: Path) -> None:
    """Write the prompt of the first generation call of each question to `path`."""
    reader, lines = Reader(), []
    for question in questions:
        output = reader.ask(question["question"], source_of(question["db"], databases))
        if reader.prompts:
            lines.append({"id": question["id"], "messages": convert_to_openai_messages(reader.prompts[0])})
        else:
            sys.stderr.write(f"{question['id']} has no generation call: {output['error']['code']}\n")
    write_lines(path, lines)


def differ(question: Line, source: str, services: Services) -> bool:
    """Return whether two readings of a question have different results."""
    options = [
        ReadingOption(label=str(number), reading="", sql=reading["sql"])
        for number, reading in enumerate(question.get("readings") or ())
    ]
    return len(distinct_readings(options, services.source(source), ())) > 1


def replay(questions: Sequence[Line], databases: Path, answers: dict[str, Any]) -> Iterator[Line]:
    """Yield for each question whether it is ambiguous, whether its readings differ, and whether the user was asked.

    `offered` is whether the answer had alternatives, `error` the code of a question that failed.
    """
    reader = Reader()
    for question in questions:
        source, answer = source_of(question["db"], databases), answers[question["id"]]
        output = reader.ask(question["question"], source, answer)
        fields = json.loads(answer) if isinstance(answer, str) and answer.startswith("{") else answer
        yield {
            "id": question["id"],
            "ambiguous": question["ambiguous"],
            "differ": question["ambiguous"] and differ(question, source, reader.services),
            "offered": isinstance(fields, dict) and bool(fields.get("alternatives")),
            "asked": output["clarification"] is not None,
            "error": (output["error"] or {}).get("code"),
        }


def figures_of(outcomes: Sequence[Line]) -> Line:
    """Return precision, recall and over-asking with the counts behind them, and the ids of the wrong decisions.

    Recall is the share of the ambiguous questions that were asked about, `recall_of_differing` the same among those
    whose readings differ in result; over-asking is the share of the clear ones.
    """
    asked = [each for each in outcomes if each["asked"]]
    ambiguous = [each for each in outcomes if each["ambiguous"]]
    clear = [each for each in outcomes if not each["ambiguous"]]
    differing = [each for each in ambiguous if each["differ"]]
    return {
        "ambiguous": len(ambiguous),
        "differing": len(differing),
        "clear": len(clear),
        "asked_of_ambiguous": _count(ambiguous, "asked"),
        "asked_of_clear": _count(clear, "asked"),
        "offered_of_ambiguous": _count(ambiguous, "offered"),
        "offered_of_clear": _count(clear, "offered"),
        "precision": _share(_count(asked, "ambiguous"), len(asked)),
        "recall": _share(_count(ambiguous, "asked"), len(ambiguous)),
        "recall_of_differing": _share(_count(differing, "asked"), len(differing)),
        "over_asking": _share(_count(clear, "asked"), len(clear)),
        "missed": [each["id"] for each in differing if not each["asked"]],
        "asked_of_clear_ids": [each["id"] for each in clear if each["asked"]],
        "errors": {each["id"]: each["error"] for each in outcomes if each["error"]},
    }


def _count(outcomes: Sequence[Line], name: str) -> int:
    return sum(bool(each[name]) for each in outcomes)


def _share(count: int, total: int) -> float | None:
    return round(count / total, 3) if total else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the prompts, or print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clarification")
    parser.add_argument("questions", nargs="+", type=Path, help="files of questions")
    parser.add_argument("--databases", type=Path, default=DEV / "databases", help="folder of the SQLite files")
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--write-prompts", type=Path, metavar="FILE", help="write the prompts to this file")
    mode.add_argument("--answers", type=Path, metavar="FILE", help="replay the answers in this file")
    options = parser.parse_args(arguments)
    questions = read_lines(*options.questions)
    for question in questions:
        source_of(question["db"], options.databases)
    if options.write_prompts:
        write_prompts(questions, options.databases, options.write_prompts)
        return
    answers = {line["id"]: line["answer"] for line in read_lines(options.answers)}
    missing = [question["id"] for question in questions if question["id"] not in answers]
    if missing:
        raise SystemExit(f"{options.answers} has no answer for {', '.join(missing)}")
    figures = figures_of(list(replay(questions, options.databases, answers)))
    sys.stdout.write(json.dumps(figures, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
