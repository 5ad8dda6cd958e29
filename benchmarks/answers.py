"""Answers to questions of analysts, with replies in place of a model that somebody wrote from the prompts alone.

    python -m benchmarks.answers --prompts FOLDER
    python -m benchmarks.answers --replies FILE... --table FILE
    python -m benchmarks.answers --replies FILE... --effort high [--prompts FOLDER] [--texts FILE --table FILE]

The first command writes the prompts of `tests/fixtures/answers/questions.jsonl`, or of the file that `--questions`
names, in files of 25 questions; lines that a prompt has in common with the first one of its database are written once.
The second command reads lines `{"id", "reply"}`, where `reply` has the fields of `GeneratedSQL`, runs each question
through the graph with its reply, writes what a user sees and what it cost to a Markdown file, and prints the figures.
Questions without a reply are left out of the figures, and so are those whose database is absent: the SQLite files of
`--databases`, or the PostgreSQL server of `TEST_POSTGRES_URL`, where the schemas `tests/fixtures/answers/*.sql` are
created and dropped. At high effort, a model that sees the rows writes the texts about several of them: the third
command writes its prompts, or reads lines `{"id", "text"}`.
"""

import argparse
import json
import re
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from langchain_core.outputs import ChatResult
from sqlalchemy import create_engine
from sqlalchemy.exc import OperationalError

from benchmarks.common import Line, own_database, read_lines
from benchmarks.domains import AS_OF, DOMAINS
from benchmarks.embedded import CREATE
from benchmarks.spider import DEV
from datasphinx.agent.evals.run import evaluation_settings
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.formats import response_format
from datasphinx.agent.llm.schemas import CheckedText, GeneratedSQL, NarratedAnswer, SQLValidation
from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.schema.describe import estimate_tokens
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.names import SAMPLE
from datasphinx.agent.types import Effort
from tests.support.servers import POSTGRES_URL

FOLDER = Path(__file__).resolve().parents[1] / "tests/fixtures/answers"
TODAY = date(2026, 1, 5)
"""The date in the prompts: a few days after the end of the data of the sample shop and of both PostgreSQL schemas."""
TODAYS = dict.fromkeys(DOMAINS, AS_OF)
"""The dates in those about other databases."""
BATCH = 25
SHOWN_ROWS = 8


class Model(ScriptedModel):
    """Gives `reply` for every statement, `text` for rows, confirms all, and keeps the schema that was asked for."""

    reply: Any = None
    text: str = ""
    json_schema: Any = None

    def __init__(self) -> None:
        """Queue the answers, which repeat."""
        answers: dict[str, list[Scripted]] = {
            GeneratedSQL.__name__: [lambda _: self.reply],
            SQLValidation.__name__: [{"is_valid": True}],
            NarratedAnswer.__name__: [lambda _: {"answer": self.text}],
            CheckedText.__name__: [{"unsupported": []}],
        }
        super().__init__(answers, repeat_last=True)

    def _generate(self, *arguments: Any, **options: Any) -> ChatResult:
        asked = response_format(options).get("json_schema", {})
        if asked.get("name") in (GeneratedSQL.__name__, NarratedAnswer.__name__):
            self.json_schema = asked["schema"]
        return super()._generate(*arguments, **options)


@contextmanager
def postgres(name: str) -> Iterator[str]:
    """Yield the URL of a new database with the schema and rows of `name`.

    Raises:
        OperationalError: no server answers.
    """
    with own_database(POSTGRES_URL, f"answers_{name}") as url:
        engine = create_engine(url)
        with engine.begin() as connection:
            script = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
            connection.execution_options(no_parameters=True).exec_driver_sql(script)
        engine.dispose()
        yield url


def sources(names: Sequence[str], databases: Path, stack: ExitStack) -> dict[str, str]:
    """Return the name or URL of each database that is there; what is absent is told on standard error."""
    found = {}
    for name in names:
        path = databases / f"{name}.sqlite"
        if name == SAMPLE:
            found[name] = SAMPLE
        elif (FOLDER / f"{name}.sql").is_file():
            try:
                found[name] = stack.enter_context(postgres(name))
            except OperationalError as error:
                sys.stderr.write(f"without {name}: no PostgreSQL server answers: {error.orig}\n")
        elif name in CREATE:
            path = Path(stack.enter_context(TemporaryDirectory())) / path.name
            CREATE[name](path)
            found[name] = f"sqlite:///{path}"
        elif path.is_file():
            found[name] = f"sqlite:///{path.absolute()}"
        else:
            sys.stderr.write(f"without {name}: there is no {path}; name the folder with --databases\n")
    return found


def ask(
    questions: Sequence[Line], found: dict[str, str], replies: dict[str, Any], texts: dict[str, str], effort: Effort
) -> Iterator[tuple[Line, Line, Model]]:
    """Yield each question with the output and the calls of its model; without a reply, an empty statement is given."""
    for question in questions:
        model = Model()
        model.text = texts.get(question["id"], "")
        model.reply = replies.get(question["id"], {"sql": "", "reply": "-"})
        settings = evaluation_settings(load_settings(source=found[question["db"]], allow_writable_account=True))
        today = TODAYS.get(question["db"], TODAY)
        services = Services(settings, model=model, today=lambda today=today: today)
        output = build_graph(services).invoke({"question": question["question"], "effort": effort})
        services.close()
        yield question, output, model


def write_prompts(
    questions: Sequence[Line], found: dict[str, str], replies: dict[str, Any], effort: Effort, folder: Path
) -> None:
    """Write the prompts of the first calls to `folder`, or with replies those about rows, in files of 25 questions."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(questions), BATCH):
        batch = ask(questions[start : start + BATCH], found, replies, {}, effort)
        firsts: dict[str, tuple[str, list[str]]] = {}
        parts: list[str] = []
        for question, output, model in batch:
            calls = [call for call in model.calls if not replies or call.schema_name == NarratedAnswer.__name__]
            if not calls:
                sys.stderr.write(f"{question['id']} has no such call: {output['answer']}\n")
                continue
            if not parts:
                parts.append(f"Schema of the reply: {json.dumps(model.json_schema, ensure_ascii=False)}")
            lines = calls[0].prompt.splitlines()
            first_id, first = firsts.setdefault(question["db"], (question["id"], lines))
            same = 0 if first is lines else sum(takewhile(bool, map(str.__eq__, first, lines)))
            head = [f"[the first {same} lines are those of {first_id}]"] if same else []
            parts.append("\n".join([f"===== {question['id']}", *head, *lines[same:]]))
        (folder / f"prompts-{start // BATCH + 1}.txt").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def typed_parts(sentence: str) -> list[str]:
    """Return the parts of a sentence outside of references.

    >>> typed_parts("{max.c:k} rose by {?x|{a}|b}.")
    ['', ' rose by ', '.']
    """
    parts, depth = [""], 0
    for letter in sentence:
        depth += (letter == "{") - (letter == "}")
        if letter == "}" and not depth:
            parts.append("")
        elif letter not in "{}" and not depth:
            parts[-1] += letter
    return parts


def is_shown(sentence: str, answer: str) -> bool:
    """Return whether `answer` has the typed parts of `sentence` in order."""
    parts = (re.escape(part.strip()) for part in typed_parts(sentence))
    return bool(sentence) and bool(re.search(".*".join(parts), answer, re.DOTALL))


def outcome_of(question: Line, output: Line, model: Model) -> Line:
    """Return what a user sees of a question, and what it cost."""
    reply, table = model.reply, next(iter(output.get("tables") or ()), None)
    validations = [call.prompt for call in model.calls if call.schema_name == SQLValidation.__name__]
    sentences = [
        model.text,
        *(reply.get("answer") or ())[:1],
        reply.get("empty_answer") or "",
        reply.get("reply") or "",
    ]
    return {
        "id": question["id"],
        "question": question["question"],
        "sql": output.get("sql"),
        "columns": table["columns"] if table else [],
        "rows": table["rows"][:SHOWN_ROWS] if table else [],
        "answer": output["answer"],
        "value": output.get("value") if isinstance(output.get("value"), int | float | str) else None,
        "chart": [chart["option"] for chart in output.get("charts") or ()],
        "follow_ups": output.get("follow_ups") or [],
        "notes": output["audit"]["notes"],
        "status": output["status"],
        "error": (output.get("error") or {}).get("code"),
        "calls": len(model.calls),
        "validations": len(validations),
        "doubts": [prompt.rpartition("Question: ")[2] for prompt in validations],
        "prompt_tokens": sum(estimate_tokens(call.prompt) for call in model.calls),
        "accepted": any(is_shown(sentence, output["answer"]) for sentence in sentences),
        "proposed": sentences[0] if sentences else "",
    }


def figures_of(outcomes: Sequence[Line]) -> Line:
    """Return the counts and means of all outcomes, and the ids of those with a finding."""
    ids = {
        "not_accepted": [each["id"] for each in outcomes if not each["accepted"]],
        "validated": [each["id"] for each in outcomes if each["validations"]],
        "unsure": [each["id"] for each in outcomes if each["status"] == "unsure"],
        "errors": [f"{each['id']}: {each['error']}" for each in outcomes if each["error"]],
    }
    return {
        "questions": len(outcomes),
        "accepted_share": round(1 - len(ids["not_accepted"]) / len(outcomes), 3),
        "calls": round(statistics.mean(each["calls"] for each in outcomes), 3),
        "prompt_tokens_per_call": round(
            sum(each["prompt_tokens"] for each in outcomes) / sum(each["calls"] for each in outcomes)
        ),
        "validations": sum(each["validations"] for each in outcomes),
        **ids,
    }


def as_text(outcome: Line) -> str:
    """Return an outcome as a part of the Markdown file."""
    rows = [" | ".join(map(str, row)) for row in (outcome["columns"], *outcome["rows"]) if row]
    others = {name: outcome[name] for name in ("value", "chart", "follow_ups", "notes", "status", "error", "calls")}
    others |= {name: outcome[name] for name in ("validations", "doubts", "prompt_tokens", "accepted", "proposed")}
    lines = [f"- {name}: {json.dumps(value, ensure_ascii=False, default=str)}" for name, value in others.items()]
    table = "\n".join(rows)
    return (
        f"## {outcome['id']}: {outcome['question']}\n\n{outcome['answer']}\n\n"
        f"```sql\n{outcome['sql']}\n```\n\n```text\n{table}\n```\n\n" + "\n".join(lines) + "\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the prompts, or the table of the answers and the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers")
    parser.add_argument("--prompts", type=Path, metavar="FOLDER", help="write the prompts to this folder")
    parser.add_argument("--replies", type=Path, nargs="+", metavar="FILE", help="read the replies from these files")
    parser.add_argument(
        "--texts", type=Path, nargs="+", metavar="FILE", help="read the texts about rows from these files"
    )
    parser.add_argument("--effort", choices=get_args(Effort), default="medium")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the answers to this file")
    parser.add_argument("--databases", type=Path, default=DEV / "databases", help="folder of the SQLite files")
    parser.add_argument("--questions", type=Path, default=FOLDER / "questions.jsonl", metavar="FILE")
    options = parser.parse_args(arguments)
    if not (options.prompts or options.replies):
        parser.error("name a folder for the prompts, or files with replies")
    texts = {line["id"]: line["text"] for line in read_lines(*options.texts or ())}
    replies = {line["id"]: line["reply"] for line in read_lines(*options.replies or ())}
    lines = [{**each, "db": each.get("db") or each["db_id"]} for each in read_lines(options.questions)]
    questions = [each for each in lines if not replies or each["id"] in replies]
    with ExitStack() as stack:
        found = sources([*dict.fromkeys(each["db"] for each in questions)], options.databases, stack)
        questions = [each for each in questions if each["db"] in found]
        if options.prompts:
            write_prompts(questions, found, replies, options.effort, options.prompts)
            return
        outcomes = [outcome_of(*each) for each in ask(questions, found, replies, texts, options.effort)]
    if options.table:
        options.table.write_text("\n".join(map(as_text, outcomes)), encoding="utf-8")
    if outcomes:
        sys.stdout.write(json.dumps(figures_of(outcomes), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
