"""Contents of the log events for runs, steps, charts and outputs: enough for a replay, without row values."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

from datasphinx.agent import state
from datasphinx.agent.core.canonical import result_hashes, value_hash
from datasphinx.agent.core.redact import without_password
from datasphinx.agent.core.text import MAX_QUESTION_CHARS
from datasphinx.agent.core.version import package_version
from datasphinx.agent.record.step import Audit
from datasphinx.agent.settings import Settings
from datasphinx.agent.types import EmbeddedOptions, masked_rows

REPLAYED_SETTINGS = (
    "llm_structured_output",
    "llm_profile",
    "instructions",
    "min_confidence",
    "clarify",
    "max_clarifications",
    "effort",
    "enable_sql_validation",
    "sql_validation_max_retries",
    "max_table_retrievals",
    "max_sql_generations",
    "schema_token_budget",
    "statement_timeout_s",
    "row_limit",
    "max_bytes_billed",
    "worker_memory_mb",
    "allow_writable_account",
    "max_steps",
)
"""Settings that affect the behaviour of a run and are applied to its replay."""

_OTHER_SETTINGS = (
    "llm_base_url",
    "llm_model",
    "llm_temperature",
    "llm_timeout_s",
    "max_llm_calls",
    "max_llm_tokens",
    "max_cost_usd",
    "max_question_s",
)
"""Settings that are logged for information only."""

_INPUTS = (
    "question",
    "output_type",
    "source",
    "files",
    "load",
    "datasets",
    "clarify",
    "feedback",
    "clarification_answer",
    "clarification",
    "enable_sql_validation",
    "effort",
    "sql_only",
    "approve_plan",
    "questions",
)
"""Inputs of the graphs."""

LOGGED_ANSWER = "logged_answer"
"""Key of the output's text without secret values, for the event log; it is removed from the output."""

RUN_SQL = "run_sql"
"""The name of the tool that runs a statement of an MCP client, instead of that of a graph."""

CONVERSATION = tuple(name for name in state.CARRIED_ON if name not in (*_INPUTS, "result", "parts"))
"""Other keys that a run may take over from the thread; rows are not logged."""

_STEP_FACTS = ("failure", "sql_request", "sql_error_info", "used_stop_words")


def run_body(
    graph: str,
    run_input: Mapping[str, Any],
    settings: Settings,
    embedded: EmbeddedOptions | None,
    today: date,
    knowledge: Mapping[str, str],
) -> dict[str, Any]:
    """Return the start of a run of `graph`: its input and its settings, without secrets.

    `knowledge` has the hash of the business knowledge by source.
    """
    inputs = {name: run_input[name] for name in (*_INPUTS, *CONVERSATION) if run_input.get(name) not in (None, [], {})}
    if isinstance(inputs.get("question"), str):
        # A question one character too long is refused like any longer one, so the rest is not logged.
        inputs["question"] = inputs["question"][: MAX_QUESTION_CHARS + 1]
    if isinstance(inputs.get("source"), str):
        inputs["source"] = without_password(inputs["source"])
    setting_values = {name: getattr(settings, name) for name in (*REPLAYED_SETTINGS, *_OTHER_SETTINGS)}
    instructions = {
        name: source.instructions
        for name, source in settings.sources.items()
        if source.instructions and run_input.get("source") in (None, name)
    }
    return {
        "version": package_version(),
        "graph": graph,
        "date": today.isoformat(),
        "input": inputs,
        "settings": {**setting_values, "source": without_password(settings.source)},
        "source_instructions": instructions,
        "knowledge": dict(knowledge),
        "embedded": asdict(embedded) if embedded else None,
    }


def step_body(latency_ms: float, update: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the end of a node's step."""
    facts = {name: update[name] for name in _STEP_FACTS if update.get(name)}
    if "failure" in facts:
        # The log is in English; texts of other languages are not needed.
        facts["failure"] = {name: facts["failure"][name] for name in ("code", "facts")}
    return {"latency_ms": latency_ms, "notes": notes, **facts}


def chart_bodies(output: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the type of each chart and the hash of its option, which is omitted if a table has secret values."""
    for chart in output.get("charts") or ():
        option = None if _shows_secrets(output) else chart["option"]
        yield {"type": chart["type"], "option_hash": value_hash(option)}


def output_body(output: Mapping[str, Any], audit: Audit) -> dict[str, Any]:
    """Return the output of a run: the text of the answer, number and hash of its rows, and its cost.

    Values of secret columns are masked.
    """
    tables = []
    for table in output.get("tables") or ():
        rows = masked_rows(table["rows"], set(table.get("secret") or ()))
        ordered, unordered = result_hashes(table["columns"], rows)
        tables.append(
            {
                "name": table["name"],
                "columns": table["columns"],
                "rows": len(rows),
                "result_hash": ordered,
                "unordered_hash": unordered,
            }
        )
    totals = {name: value for name, value in audit.items() if name not in ("trace_id", "steps", "recorded", "notes")}
    return {
        "answer": output.get(LOGGED_ANSWER, output.get("answer")),
        "output_type": output.get("output_type"),
        "value_hash": value_hash(None if _shows_secrets(output) else output.get("value")),
        "sql": output.get("sql"),
        "tables": tables,
        "clarification": output.get("clarification"),
        "error": output.get("error"),
        **totals,
    }


def _shows_secrets(output: Mapping[str, Any]) -> bool:
    return any(table.get("secret") for table in output.get("tables") or ())
