"""What models answer to the questions of server tests, and how these are sent and read."""

import io
import json
from collections.abc import Iterator
from typing import Any

import httpx
from openai import OpenAI

from tests.agent.analysis.conftest import BY_ACCOUNT
from tests.agent.server.keys import ACME
from tests.agent.server.serving import COUNT, Served
from tests.support.best_customer import ASKS, BEST, BY_AMOUNT

QUESTION = "How many returns has each account?"
ROWS = [["alpha", 30], ["beta", 70]]


def text_of(messages: list[Any]) -> str:
    return "\n".join(message.content for message in messages)


def query_or_finish(messages: list[Any]) -> dict[str, Any]:
    """What a model says that asks for the rows and, when it has them, ends."""
    prompt = text_of(messages)
    if '"r1"' in prompt:
        return {"tool": "finish", "arguments": {"answer": "{2.账号} has {2.returns}, {1.账号} {1.returns}."}}
    dataset_id = "ds_" + prompt.split("ds_", 1)[1][:16]
    return {"tool": "run_query", "arguments": {"dataset_id": dataset_id, "query": BY_ACCOUNT}}


HOW_MANY = "How many orders were placed?"
SHOES = "Which names of shoes are there?"
BY_STATUS = {**COUNT, "sql": "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"}
BY_MONTH = {
    **COUNT,
    "sql": "SELECT STRFTIME('%Y-%m', ordered_on) AS month, COUNT(*) AS orders FROM orders"
    " WHERE ordered_on >= '2025-01-01' AND ordered_on < '2026-01-01' GROUP BY month ORDER BY month",
}
TOP_TWO = {**COUNT, "sql": BY_AMOUNT.replace("LIMIT 3", "LIMIT 2")}


def statement_for(messages: list[Any]) -> dict[str, Any]:
    """What the model writes for the question of a prompt."""
    prompt = str(messages)
    if "only the top two" in prompt and f"Its query: {BY_AMOUNT}" in prompt:
        return TOP_TWO
    if BEST in prompt:
        return ASKS
    if SHOES in prompt:
        return {**COUNT, "sql": "SELECT name, pairs FROM shoes"}
    if "by month" in prompt:
        return BY_MONTH
    chart = {"output_type": "plot"} if "chart" in prompt.rpartition("Question: ")[2] else {}
    return {**BY_STATUS, **chart} if "by status" in prompt else COUNT


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Read server-sent events as their specification says; comments are left out."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def upload(server: Served, name: str, content: bytes, **fields: Any) -> httpx.Response:
    return server.http.post("/files", files={"file": (name, io.BytesIO(content))}, data=fields)


def kept(server: Served) -> list[str]:
    folder = server.services.settings.data_dir
    return [
        path.name for path in folder.rglob("*") if path.is_file() and path.parent.name in {"files", "datasets", "work"}
    ]


def connect(server: Served, key: str = ACME) -> OpenAI:
    return OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)


TOOL: Any = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
