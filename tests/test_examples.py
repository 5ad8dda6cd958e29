"""The programs of `examples/`, each in a process of its own, with a model that gives the expected answers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_openai import FakeOpenAI, first_dataset
from tests.support.generated_docs import ROOT

EXAMPLES = ROOT / "examples"
CUSTOMERS = {"sql": "SELECT COUNT(*) AS customers FROM customers"}
FINISH = {"tool": "finish", "arguments": json.dumps({"answer": "All returns are counted."})}


def _query(request: dict[str, Any]) -> dict[str, Any]:
    query = {"aggregations": [{"as": "returned", "agg": "sum", "col": "退货数量"}]}
    return {"tool": "run_query", "arguments": json.dumps({"dataset_id": first_dataset(request), "query": query})}


ANSWERS: dict[str, list[Any]] = {
    "ask_a_database": [CUSTOMERS],
    "conversation": [
        {"sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status"},
        {"question": "How many orders are there in all?"}, {"sql": "SELECT COUNT(*) AS orders FROM orders"},
    ],
    "graph": [CUSTOMERS],
    "row_rules": [CUSTOMERS],
    "spreadsheet": [_query, FINISH],
}  # fmt: skip


def test_each_example_has_answers_and_a_line_in_the_readme() -> None:
    names = {path.stem for path in EXAMPLES.glob("*.py")}
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert names == set(ANSWERS)
    assert [name for name in names if f"[{name}.py]({name}.py)" not in text] == []


@pytest.mark.heavy
@pytest.mark.process
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "ask_a_database" else pytest.mark.heavy) for name in ANSWERS]
)
def test_example_runs(name: str, cache_dir: Path, tmp_path: Path) -> None:
    with FakeOpenAI(ANSWERS[name]) as server:
        environment = os.environ | {
            "DATASPHINX_LLM_BASE_URL": server.base_url,
            "DATASPHINX_LLM_MODEL": "fake",
            "DATASPHINX_CACHE_DIR": str(cache_dir),
            "DATASPHINX_DATA_DIR": str(tmp_path),
        }
        command = [sys.executable, str(EXAMPLES / f"{name}.py")]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
    assert any(character.isdigit() for character in done.stdout)
