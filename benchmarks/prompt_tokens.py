"""How many tokens the prompts about a question have: `python -m benchmarks.prompt_tokens [BENCHMARKS]`.

Questions pass through the whole graph with a model that says NO AMBIGUITY, writes the reference statement and finds it
valid. Tokens are those of `estimate_tokens`. The shared part is the beginning that all calls of a question have in
common, and the cached part the beginning that a call has in common with an earlier one on the same database.
"""

import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from os.path import commonprefix
from pathlib import Path
from typing import Any

from benchmarks.common import read_lines
from datasphinx.agent.evals.demo import SHOP
from datasphinx.agent.evals.run import evaluation_settings
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedCall, ScriptedModel
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.schema.describe import estimate_tokens
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings

_EVERY = 5
"""Of Spider's questions, every fifth is asked."""
_NO_AMBIGUITY = {"summary": "", "no_ambiguity": True}
_VALID = {"is_valid": True}
_TASKS = {"AmbiguityReview": "review", "GeneratedSQL": "generate", "SQLValidation": "validate"}


def main(benchmarks: Path) -> None:
    """Print one line of JSON per database, and one for all databases of Spider."""
    with tempfile.TemporaryDirectory() as folder:
        _print("sample shop", [calls_of(shop_url(Path(folder)), [(each.question, each.sql) for each in SHOP])])
        questions = benchmarks / "spider_dev" / "questions.jsonl"
        if questions.is_file():
            by_database = defaultdict(list)
            for record in read_lines(questions)[::_EVERY]:
                by_database[record["db_id"]].append((record["question"], record["sql"]))
            spider = {
                name: calls_of(f"sqlite:///{questions.parent / 'databases' / name}.sqlite", asked)
                for name, asked in sorted(by_database.items())
            }
            for name, calls in spider.items():
                _print(name, [calls])
            _print("all of Spider", spider.values())


def calls_of(url: str, asked: Iterable[tuple[str, str]]) -> list[list[ScriptedCall]]:
    """Return the calls of the model for each pair of question and statement on the database at `url`."""
    with tempfile.TemporaryDirectory() as folder:
        given = {"clarify": "always", "enable_sql_validation": True}
        settings = evaluation_settings(load_settings(source=url, cache_dir=folder, **given))
        calls = []
        for question, sql in asked:
            answers: dict[str, Any] = {
                "AmbiguityReview": [_NO_AMBIGUITY],
                "GeneratedSQL": [{"sql": sql}],
                "SQLValidation": [_VALID],
            }
            model = ScriptedModel(answers, repeat_last=True)
            services = Services(settings, model=model)
            build_graph(services).invoke({"question": question})
            services.close()
            calls.append([call for call in model.calls if call.schema_name in _TASKS])
    return calls


def _print(name: str, databases: Iterable[list[list[ScriptedCall]]]) -> None:
    tokens, shared, cached = defaultdict(list), list[int](), list[float]()
    for questions in databases:
        earlier: list[str] = []
        for calls in questions:
            prompts = [call.prompt for call in calls]
            shared.append(estimate_tokens(commonprefix(prompts)))
            for call, prompt in zip(calls, prompts, strict=True):
                tokens[_TASKS[call.schema_name]].append(estimate_tokens(prompt))
                beginning = max((len(commonprefix([prompt, other])) for other in earlier), default=0)
                cached.append(beginning / len(prompt))
                earlier.append(prompt)
    figures = {
        "questions": len(shared),
        **{task: round(statistics.mean(counts)) for task, counts in sorted(tokens.items())},
        "shared": round(statistics.mean(shared)),
        "cached_share": round(statistics.mean(cached), 3),
    }
    sys.stdout.write(f"{name}: {json.dumps(figures)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("../shared/benchmarks"))
