"""How well it is asked when the model finds every reading without a mistake: what the results alone let through.

    python -m benchmarks.asking auto|always

The scripted model lists exactly the readings of `tests/fixtures/clarification/questions.jsonl`, each with its
statement, and writes the statement of a clear question: with `auto` while it writes the statement, with `always` in a
review. So what is not asked makes no difference.
"""

import json
import sys
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import BaseMessage

from benchmarks.clarification import figures_of, source_of
from benchmarks.common import read_lines
from datasphinx.agent.evals.run import evaluation_settings
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import Clarify

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS = ROOT / "tests/fixtures/clarification/questions.jsonl"
DATABASES = ROOT.parent / "shared/benchmarks/spider_dev/databases"
QUESTION = "Which of these do you mean?"
NOTHING = {"summary": "", "no_ambiguity": True}


def main(when: Clarify) -> None:
    """Print the figures as JSON."""
    records = {record["question"]: record for record in read_lines(QUESTIONS)}

    def of(messages: list[BaseMessage]) -> dict[str, Any]:
        prompt = str(messages[-1].content)
        return next(record for question, record in records.items() if f"Question: {question}" in prompt)

    def readings_of(record: dict[str, Any]) -> list[dict[str, str]]:
        return [{"label": each["reading"], **each} for each in record["readings"]]

    def review(messages: list[BaseMessage]) -> dict[str, Any]:
        record = of(messages)
        if not record["type"]:
            return NOTHING
        asked = {"question": QUESTION, "ambiguity_type": record["type"], "options": readings_of(record)}
        return {**NOTHING, "no_ambiguity": False, **asked}

    def write(messages: list[BaseMessage]) -> dict[str, Any]:
        record = of(messages)
        if record["type"] and when == "auto":
            alternatives = readings_of(record)
            return {"sql": "", "question": QUESTION, "ambiguity_type": record["type"], "alternatives": alternatives}
        return {"sql": record["readings"][0]["sql"] if record["type"] else record["sql"]}

    model = ScriptedModel({"AmbiguityReview": [review], "GeneratedSQL": [write]}, repeat_last=True)
    settings = evaluation_settings(load_settings()).model_copy(update={"enable_sql_validation": False})
    graph = build_graph(Services(settings, model=model))

    def outcome(record: dict[str, Any]) -> dict[str, Any]:
        source = source_of(record["db_id"], DATABASES)
        output = graph.invoke({"question": record["question"], "source": source, "clarify": when})
        return {
            "id": record["id"],
            "ambiguous": record["type"] is not None,
            "differ": record.get("differs", False),
            "offered": record["type"] is not None,
            "asked": output["clarification"] is not None,
            "error": (output["error"] or {}).get("code"),
        }

    figures = figures_of([outcome(record) for record in records.values()])
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main(cast(Clarify, sys.argv[1]))
