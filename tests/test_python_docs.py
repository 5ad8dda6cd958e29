"""The programs of docs/python.md and docs/graph.md that ask the sample shop, one after the other."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from datasphinx.agent.sql.layout import in_lines
from tests.support.fake_openai import FakeOpenAI
from tests.support.generated_docs import ROOT

CONVERSATION, ACCESSOR, CONCURRENT, ERRORS = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.DOTALL
)
GRAPHS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/graph.md").read_text(encoding="utf-8"), re.DOTALL)
CUSTOMERS = {"sql": "SELECT COUNT(*) AS customers FROM customers"}
IN_2025 = "FROM orders WHERE ordered_on >= '2025-01-01' AND ordered_on < '2026-01-01'"
ORDERS = {"sql": f"SELECT COUNT(*) AS orders {IN_2025}"}
BY_MONTH = {"sql": f"SELECT STRFTIME('%Y-%m', ordered_on) AS month, COUNT(*) AS orders {IN_2025} GROUP BY month"}
REGIONS = {"sql": "SELECT name FROM regions"}


@pytest.mark.heavy
@pytest.mark.process
def test_the_programs_answer(cache_dir: Path) -> None:
    statements = (CUSTOMERS, ORDERS, BY_MONTH, CUSTOMERS, CUSTOMERS, REGIONS, REGIONS, *[CUSTOMERS] * 3)
    with FakeOpenAI(statements) as server:
        environment = os.environ | {
            "DATASPHINX_LLM_BASE_URL": server.base_url,
            "DATASPHINX_LLM_MODEL": "fake",
            "DATASPHINX_CACHE_DIR": str(cache_dir),
        }
        program = "".join((CONVERSATION, CONCURRENT, ERRORS, *GRAPHS))
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    lines = done.stdout.splitlines() or [done.stderr] * 20
    number, orders, *between, several, error, graph, own, edited = lines
    table, followed = between[:14], "\n".join(between[14:])
    assert number == f"1184 | {CUSTOMERS['sql']}"
    assert re.fullmatch(r"Orders: [\d,]+", orders)
    assert table[2].startswith("| January 2025 |") and table[13].startswith("| December 2025 |")
    assert followed == in_lines(BY_MONTH["sql"], "sqlite")
    assert several == "[1184, 1184]"
    assert re.fullmatch(r"number \d+ x \[name \(string\)\]", error)
    assert graph == f"1184 {CUSTOMERS['sql']} None"
    assert own == "1184 How many customers are there?"
    assert edited == "SELECT COUNT(*) AS regions FROM regions"


def test_the_accessor_is_imported_as_the_tests_do() -> None:
    assert ACCESSOR.startswith("import datasphinx.pandas\n")
