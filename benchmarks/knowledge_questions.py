"""Questions that need business knowledge, asked with and without it, with recorded answers of a reader or a model.

    python -m benchmarks.knowledge_questions --export FILE [--answers FILE]
    python -m benchmarks.knowledge_questions --answers FILE [--show]
    python -m benchmarks.knowledge_questions --embedded [--show]

The questions are in `tests/fixtures/knowledge_evaluation`, with the knowledge of two databases: the sample shop, and
`car_1` of Spider, in the folder of `--databases`. A line has `sql`, the reference; `naive_sql`, a plausible reading
without the knowledge; `needs`, the entries without which it cannot be answered; and `guessable`, whether common sense
may find the reference. `needs.json` has, for each entry of a database, texts; a prompt with one of them contains the
entry.

`--export` writes a line `{"key", "id", "condition", "call", "schema", "format", "messages"}` for the first model call
of each question, with and without knowledge, that has no recorded answer; `key` is a hash of schema and messages,
`format` the JSON Schema of the answer. A reader who sees nothing else answers it; `--answers` reads lines with `key`,
`id`, `condition`, `call`, `schema` and `answer`. An answer whose prompt has changed since is used and counted as such.
`--embedded` asks the embedded model.

Answers are compared by the project's execution match. A doubtful statement, such as one that departs from a
definition, is validated by the model, as in the product; without a recorded validation it stays as it is.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from langchain_core.messages import BaseMessage
from langchain_core.messages.utils import convert_to_openai_messages
from pydantic import BaseModel, SecretStr

from benchmarks.common import Line, percentile_95, read_lines, write_lines
from benchmarks.spider import DEV
from datasphinx.agent.core.canonical import value_hash
from datasphinx.agent.errors import ModelUnreachable
from datasphinx.agent.evals.datasets import Question
from datasphinx.agent.evals.run import evaluation_settings, judge
from datasphinx.agent.generation.definitions import Asked, departures
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.schemas import GeneratedSQL, NarratedAnswer, SQLValidation
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.messages import Message
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.schema.describe import estimate_tokens
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, SourceSettings
from datasphinx.agent.state import Input, Output
from datasphinx.agent.types import EmbeddedOptions

FOLDER = Path(__file__).parents[1] / "tests/fixtures" / "knowledge_evaluation"
ANSWERS = FOLDER / "answers.jsonl"
TODAY = date(2025, 12, 31)
"""The date in all prompts: the end of the data of the shop, which its knowledge declares as the reference date."""
Condition = Literal["with", "without"]
CONDITIONS: Sequence[Condition] = ("with", "without")


class Asker:
    """The graph over both databases, with or without their knowledge."""

    def __init__(self, condition: Condition, databases: Path, cache_dir: Path, answers: Sequence[Line] | None) -> None:
        """Answer the model's calls with `answers`, or with the embedded model if they are None."""
        self.condition = condition
        self._by_key = {line["key"]: line["answer"] for line in answers or ()}
        self._by_call = {
            (line["id"], line["schema"], line["call"]): line["answer"]
            for line in answers or ()
            if line["condition"] == condition
        }
        urls = {"shop": shop_url(cache_dir), "car_1": f"sqlite:///{(databases / 'car_1.sqlite').absolute()}"}
        sources = {
            name: SourceSettings(url=SecretStr(url), knowledge=FOLDER / name if condition == "with" else None)
            for name, url in urls.items()
        }
        settings = Settings(cache_dir=cache_dir, sources=sources, record=False, llm_base_url=None, llm_api_key=None)
        if answers is None:
            self.services = Services(evaluation_settings(settings), embedded=EmbeddedOptions(), today=lambda: TODAY)
        else:
            schemas: tuple[type[BaseModel], ...] = (GeneratedSQL, SQLValidation)
            scripted: dict[str, list[Any]] = {schema.__name__: [partial(self._next, schema)] for schema in schemas}
            scripted[NarratedAnswer.__name__] = [{"answer": "", "output_type": "dataframe"}]
            reader = {"llm_base_url": "http://127.0.0.1:9/v1", "llm_profile": "standard"}
            settings = evaluation_settings(settings.model_copy(update=reader))
            self.services = Services(settings, model=ScriptedModel(scripted, repeat_last=True), today=lambda: TODAY)
        self._graph = build_graph(self.services)
        self._id, self._pending = "", cast(Line | None, None)
        self._calls: list[tuple[str, str, Any]] = []
        self._changed = 0

    def _next(self, schema: type[BaseModel], messages: list[BaseMessage]) -> Any:
        texts = convert_to_openai_messages(messages)
        name, key = schema.__name__, value_hash([schema.__name__, texts])
        number = sum(call[0] == name for call in self._calls)
        answer = self._by_key.get(key)
        if answer is None:
            call = {"key": key, "id": self._id, "condition": self.condition, "call": number, "schema": name}
            form = schema.model_json_schema()
            for field in getattr(schema, "alternative_fields", ()):
                del form["properties"][field]
            self._pending = self._pending or {**call, "format": form, "messages": texts}
            answer = self._by_call.get((self._id, name, number))
            self._changed += answer is not None
        self._calls.append((name, "\n".join(str(message.content) for message in messages), answer))
        return ModelUnreachable("reader", Message("script_exhausted", name=name)) if answer is None else answer

    def ask(self, line: Line) -> Line:
        """Return the outcome of a question.

        `prompt` is that of the first call, `findings` whether a departure from a definition led to a validation,
        `corrected` whether that changed the statement, and `pending` the first call without an answer to its prompt.
        `changed` counts the calls whose answer was given to an earlier form of the prompt. `departs` states whether the
        check finds that the reference and the naive statement depart from a definition.
        """
        self._id, self._pending, self._calls, self._changed = line["id"], None, [], 0
        source = self.services.source(line["database"])
        graph_input = Input(question=line["question"], source=line["database"], clarify="never")
        output = cast(Output, self._graph.invoke(graph_input))
        question = Question(line["id"], line["database"], line["question"], line["sql"])
        outcome = judge(question, source, output)
        checks = [(prompt, answer) for name, prompt, answer in self._calls if name == SQLValidation.__name__]
        return {
            "match": outcome.match,
            "sql": outcome.sql,
            "error": outcome.error,
            "prompt": self._calls[0][1] if self._calls else "",
            "pending": self._pending,
            "changed": self._changed,
            "findings": any("the question names the " in prompt for prompt, _ in checks),
            "corrected": any(answer and answer.get("corrected_sql") for _, answer in checks),
            "departs": {
                name: bool(departures(Asked(line["question"]), source, line[name])) for name in ("sql", "naive_sql")
            },
        }

    def close(self) -> None:
        """Close the sources."""
        self.services.close()


def run(
    lines: Sequence[Line], databases: Path, cache_dir: Path, answers: Sequence[Line] | None
) -> list[dict[Condition, Line]]:
    """Return the outcomes of each question with and without knowledge. See `Asker.ask`."""
    outcomes: list[dict[Condition, Line]] = [{} for _ in lines]
    for condition in CONDITIONS:
        asker = Asker(condition, databases, cache_dir, answers)
        for line, outcome in zip(lines, outcomes, strict=True):
            outcome[condition] = asker.ask(line)
        asker.close()
    return outcomes


def missing_needs(line: Line, prompt: str, texts: Mapping[str, Mapping[str, Sequence[str]]]) -> list[str]:
    """Return the entries that a question needs and its prompt does not contain."""
    return [need for need in line["needs"] if not any(text in prompt for text in texts[line["database"]][need])]


def figures_of(lines: Sequence[Line], outcomes: Sequence[dict[Condition, Line]]) -> Line:
    """Return the execution match by database and guessability, and what the prompts contain.

    `tokens` are those that knowledge adds to the first prompt of a question, `complete` is the share of questions whose
    prompt has all entries that they need.
    """
    texts = json.loads((FOLDER / "needs.json").read_text(encoding="utf-8"))
    pairs = list(zip(lines, outcomes, strict=True))
    groups = {
        "all": pairs,
        **{name: [pair for pair in pairs if pair[0]["database"] == name] for name in texts},
        "guessable": [pair for pair in pairs if pair[0]["guessable"]],
        "not guessable": [pair for pair in pairs if not pair[0]["guessable"]],
    }
    missed = {line["id"]: missing_needs(line, outcome["with"]["prompt"], texts) for line, outcome in pairs}
    tokens = sorted(
        estimate_tokens(outcome["with"]["prompt"]) - estimate_tokens(outcome["without"]["prompt"])
        for _, outcome in pairs
    )
    with_knowledge = [outcome["with"] for outcome in outcomes]
    return {
        "match": {
            name: {"n": len(group), **{each: sum(pair[1][each]["match"] for pair in group) for each in CONDITIONS}}
            for name, group in groups.items()
        },
        "tokens": {"median": statistics.median(tokens), "p95": percentile_95(tokens)},
        "complete": 1 - sum(map(bool, missed.values())) / len(lines),
        "missed": {name: needs for name, needs in missed.items() if needs},
        "findings": sum(each["findings"] for each in with_knowledge),
        "findings_of_matching": sum(each["findings"] and each["match"] for each in with_knowledge),
        "corrected": sum(each["corrected"] for each in with_knowledge),
        "departing": {name: sum(each["departs"][name] for each in with_knowledge) for name in ("sql", "naive_sql")},
        "unanswered": sum(outcome[each]["pending"] is not None for outcome in outcomes for each in CONDITIONS),
        "changed_prompts": sum(outcome[each]["changed"] for outcome in outcomes for each in CONDITIONS),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Export the calls without an answer, or print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.knowledge_questions")
    parser.add_argument("--databases", type=Path, default=DEV / "databases", help="folder of car_1.sqlite")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="recorded answers of a reader")
    parser.add_argument("--export", type=Path, metavar="FILE", help="write the calls without an answer here")
    parser.add_argument("--embedded", action="store_true", help="ask the embedded model")
    parser.add_argument("--show", action="store_true", help="print each statement that does not match")
    options = parser.parse_args(arguments)
    lines = read_lines(FOLDER / "questions.jsonl")
    answers = None if options.embedded else read_lines(options.answers) if options.answers else []
    outcomes = run(lines, options.databases, Settings().cache_dir, answers)
    if options.export:
        calls = [outcome[each]["pending"] for each in CONDITIONS for outcome in outcomes if outcome[each]["pending"]]
        write_lines(options.export, calls)
    for line, outcome in zip(lines, outcomes, strict=True) if options.show else ():
        for condition in CONDITIONS:
            if not outcome[condition]["match"]:
                shown = {name: outcome[condition][name] for name in ("sql", "error")}
                sys.stdout.write(json.dumps({"id": line["id"], "condition": condition, **shown}) + "\n")
    figures = figures_of(lines, outcomes)
    # The prompts of the embedded model are not those of a chat model.
    figures = {"match": figures["match"]} if options.embedded else figures
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
