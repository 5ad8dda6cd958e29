"""Other projects and datasphinx, with one fake model and one database: `python -m benchmarks.peers`.

Each project is installed with pinned versions into a virtual environment of its own in `build/peers`; one that cannot
be installed is left out. The model writes the reference statement of each question, and takes the steps that the
prompts of the project ask for. Measured are 30 questions about the sample shop, whole processes with one of them, and
the first question about a database of 200 tables with 15 columns that was never read.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import read_lines
from benchmarks.first_question import QUESTION, create_tables
from datasphinx.agent.sample.shop import shop_path
from tests.conftest import VALID
from tests.support.fake_openai import FakeOpenAI, Reply
from tests.support.server_process import ROOT

PACKAGES = {
    "datasphinx": (),
    "vanna": ("vanna[openai]==2.0.2",),
    "langchain": ("langchain==1.4.0", "langchain-community==0.4.2", "langchain-openai==1.7.3"),
    "llamaindex": ("llama-index-core==0.14.25", "llama-index-llms-openai-like==0.8.1"),
    "pandasai": ("pandasai==3.0.0", "pandasai-litellm==0.0.1"),
}
"""What is installed for each system."""

_SYNTHESIS = re.compile(r"synthesize a response", re.IGNORECASE)
_ROUNDS, _STARTS, _QUESTIONS = 3, 3, 30
_INSTALL_S = 900
_TABLES, _COLUMNS, _ROWS = 200, 15, 300
_FINAL = "The rows answer the question."


class Question(NamedTuple):
    """A question, its reference statement and the tables in it."""

    question: str
    sql: str
    tables: tuple[str, ...]


class Figures(NamedTuple):
    """What is measured of a system; each is better if it is smaller."""

    calls: float
    prompt_tokens: float
    cpu_ms: float
    cold_s: float
    cold_cpu_s: float
    large_tokens: float
    large_s: float


_LABELS = (
    "model calls", "prompt tokens", "CPU ms per question, p50", "cold start, s", "cold start, CPU s",
    "prompt tokens, 200 tables", "first question about 200 tables, s",
)  # fmt: skip


def main() -> None:
    """Print a table: per system each figure, and in parentheses its ratio to that of datasphinx."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--environments", type=Path, default=ROOT / "build" / "peers", help="Their parent folder.")
    given = parser.parse_args()
    print("| |", " | ".join(_LABELS), "|")
    print("|---" * (len(_LABELS) + 1) + "|")
    own: Figures | None = None
    with tempfile.TemporaryDirectory() as folder:
        shop, large = shop_path(Path(folder)), Path(folder, "large.sqlite")
        create_tables(large, _TABLES, _COLUMNS, _ROWS)
        for system in sorted(given.systems, key=list(PACKAGES).index):
            interpreter = _interpreter(system, given.environments)
            figures = interpreter and measured(system, interpreter, shop, large, Path(folder))
            if not figures:
                continue
            own = own or figures
            ratios = [each / first for each, first in zip(figures, own, strict=True)]
            cells = [f"{each:,.4g} ({ratio:.2f})" for each, ratio in zip(figures, ratios, strict=True)]
            print(f"| {system} |", " | ".join(cells), "|", flush=True)


def _interpreter(system: str, environments: Path) -> Path | None:
    """Return the interpreter of the environment of `system`, created if it is missing; None if that fails."""
    if system == "datasphinx":
        return Path(sys.executable)
    folder = environments / system
    installed = folder / "installed.txt"
    packages = "\n".join(PACKAGES[system])
    if not installed.exists() or installed.read_text() != packages:
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [
                str(folder / "bin/python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *PACKAGES[system],
            ],
        ):
            done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
            if done.returncode:
                print(f"{system} cannot be installed: {done.stderr.strip()[-300:]}", file=sys.stderr)
                return None
        installed.write_text(packages)
    return folder / "bin/python"


def measured(system: str, interpreter: Path, shop: Path, large: Path, folder: Path) -> Figures | None:
    """Return the figures of `system`; None if one of its processes fails."""
    shop_questions, large_questions = list(_shop_questions(shop)), [_large_question()]
    with FakeOpenAI(default=reply_of([*shop_questions, *large_questions])) as model:
        run = _Runs(system, interpreter, model, folder)
        try:
            # The first start reads the schema, and caches it where the system does so.
            starts = [run.ask(shop, shop_questions[:1], "cache") for _ in range(_STARTS + 1)]
            warm = run.ask(shop, shop_questions, "cache", rounds=_ROUNDS)
            first = [run.ask(large, large_questions, f"large{start}") for start in range(_STARTS)]
        except subprocess.CalledProcessError as error:
            print(f"{system} failed: {str(error.stderr)[-600:]}", file=sys.stderr)
            return None
    return Figures(
        warm.calls,
        warm.prompt_tokens,
        warm.cpu_ms,
        statistics.median(start.cold_s for start in starts[1:]),
        statistics.median(start.cold_cpu_s for start in starts[1:]),
        statistics.median(each.first_tokens for each in first),
        statistics.median(each.first_s for each in first),
    )


class _Measured(NamedTuple):
    """The figures of one process."""

    cold_s: float
    cold_cpu_s: float
    first_s: float
    first_tokens: float
    calls: float = 0
    prompt_tokens: float = 0
    cpu_ms: float = 0


class _Runs:
    """Runs processes of one system."""

    def __init__(self, system: str, interpreter: Path, model: FakeOpenAI, folder: Path) -> None:
        self._command = [str(interpreter), str(Path(__file__).with_name("peer_process.py")), system]
        self._model, self._folder = model, folder / system

    def ask(self, database: Path, questions: list[Question], cache: str, rounds: int = 0) -> _Measured:
        """Return the figures of one process: its start, its first question and, with `rounds`, all questions.

        Raises:
            subprocess.CalledProcessError: the process failed, or left a question unanswered.
        """
        self._folder.mkdir(exist_ok=True)
        path = self._folder / "questions.json"
        path.write_text(json.dumps([question._asdict() for question in questions]))
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ} | {
            "PEER_FOLDER": str(self._folder),
            "DATASPHINX_CACHE_DIR": str(self._folder / cache),
            "DATASPHINX_DATA_DIR": str(self._folder / f"{cache}_data"),
            "ANONYMIZED_TELEMETRY": "false",
            "LANGSMITH_TRACING": "false",
            **({"PYTHONPATH": str(ROOT)} if self._command[-1] == "datasphinx" else {}),
        }
        command = [*self._command, str(database), self._model.base_url, str(path), str(rounds)]
        self._model.requests.clear()
        started = time.perf_counter()
        with _process(command, environment, self._folder) as process:
            assert process.stdin
            assert process.stdout
            first = _json_line(process.stdout)
            cold_s = time.perf_counter() - started
            tokens = prompt_tokens(self._model.requests)
            self._model.requests.clear()
            process.stdin.write("\n")
            process.stdin.flush()
            warm = _json_line(process.stdout) if rounds else {}
        if not first.get("is_answered") or warm.get("unanswered", rounds):
            errors = (self._folder / "errors.txt").read_text(errors="replace")
            raise subprocess.CalledProcessError(1, command, stderr=errors or f"not answered: {first} {warm}")
        asked = len(questions) * rounds or 1
        calls, mean_tokens = len(self._model.requests) / asked, prompt_tokens(self._model.requests) / asked
        return _Measured(cold_s, first["cpu_s"], first["first_s"], tokens, calls, mean_tokens, warm.get("cpu_ms", 0))


@contextmanager
def _process(command: list[str], environment: dict[str, str], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    with (folder / "errors.txt").open("w+") as errors:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _json_line(lines: Iterable[str]) -> dict[str, Any]:
    """Return the next line that is a JSON object; {} at the end."""
    return next((json.loads(line) for line in lines if line.startswith("{")), {})


def prompt_tokens(requests: Iterable[Mapping[str, Any]]) -> float:
    """Return the tokens of messages, tools and schemas, estimated as a quarter of the characters."""
    kept = ("messages", "tools", "response_format")
    return (
        sum(len(json.dumps(request[key], ensure_ascii=False)) for request in requests for key in kept & request.keys())
        / 4
    )


def _shop_questions(shop: Path) -> Iterator[Question]:
    """Yield questions whose statements PandasAI's engine, DuckDB, understands as well."""
    records = read_lines(ROOT / "tests/fixtures/shop_questions.jsonl")
    for record in [each for each in records if not re.search("STRFTIME|JULIANDAY", each["sql"])][:_QUESTIONS]:
        tables = re.findall(r"\b(?:FROM|JOIN) (\w+)", record["sql"])
        yield Question(record["question"], record["sql"], tuple(dict.fromkeys(tables)))


def _large_question() -> Question:
    return Question(QUESTION, "SELECT COUNT(*) AS orders FROM record_17 WHERE field_17_1 = 'value 42'", ("record_17",))


def reply_of(questions: list[Question]) -> Any:
    """Return the function of the fake model: the next step of the system that a request names as its model."""
    of_text = sorted(questions, key=lambda question: -len(question.question))

    def reply(request: dict[str, Any]) -> Reply:
        messages = request["messages"]
        text = "\n".join(_text_of(message) for message in messages if message["role"] != "tool")
        asked = max(of_text, key=lambda question: text.rfind(question.question))
        calls = [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]
        return _STEPS[request["model"]](request, text, asked, calls)

    return reply


def _text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _datasphinx(request: dict[str, Any], text: str, asked: Question, calls: list[str]) -> Reply:
    name = request.get("response_format", {}).get("json_schema", {}).get("name")
    return Reply(VALID if name == "SQLValidation" else {"sql": asked.sql, "assumptions": [], "off_topic": False})


def _vanna(request: dict[str, Any], text: str, asked: Question, calls: list[str]) -> Reply:
    return Reply(_FINAL) if "run_sql" in calls else _call("run_sql", sql=asked.sql)


def _langchain(request: dict[str, Any], text: str, asked: Question, calls: list[str]) -> Reply:
    steps = [
        ("sql_db_list_tables", {"tool_input": ""}),
        ("sql_db_schema", {"table_names": ", ".join(asked.tables)}),
        ("sql_db_query_checker", {"query": asked.sql}),
        ("sql_db_query", {"query": asked.sql}),
    ]
    if not request.get("tools"):
        # The checker, which asks the model from within a tool.
        return Reply(asked.sql)
    return next((_call(name, **arguments) for name, arguments in steps if name not in calls), Reply(_FINAL))


def _llamaindex(request: dict[str, Any], text: str, asked: Question, calls: list[str]) -> Reply:
    return Reply(_FINAL if _SYNTHESIS.search(text) else asked.sql)


def _pandasai(request: dict[str, Any], text: str, asked: Question, calls: list[str]) -> Reply:
    code = f'rows = execute_sql_query("""{asked.sql}""")\nresult = {{"type": "dataframe", "value": rows}}'
    return Reply(f"```python\n{code}\n```")


_STEPS = {
    "datasphinx": _datasphinx,
    "vanna": _vanna,
    "langchain": _langchain,
    "llamaindex": _llamaindex,
    "pandasai": _pandasai,
}


def _call(name: str, **arguments: str) -> Reply:
    """Return a reply with one tool call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    completion = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice]}
    return Reply(body=json.dumps({**completion, "usage": usage}))


if __name__ == "__main__":
    main()
