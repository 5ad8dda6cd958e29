"""Many questions at once, each of which asks for a number of its own, so that an answer that is another's shows."""

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import httpx

from tests.conftest import NO_AMBIGUITY, VALID
from tests.support.eventually import eventually
from tests.support.fake_openai import Reply
from tests.support.server_process import ServerProcess, post
from tests.support.slow_model import Answer, SlowModel

CLOSES = {"Connection": "close"}


class Said(NamedTuple):
    """What came of a question: a status or the code of an error, the number that was found, and the thread."""

    how: str
    number: int | None
    thread_id: str | None


def number_in(prompt: str) -> int:
    """Return the number that is asked for."""
    return int(re.findall(r"number (\d+)", prompt)[-1])


def right_reply(schema: str, prompt: str, table: str, column: str) -> Reply:
    """Return the reply of a model that answers rightly and closes its connection."""
    sql = f"SELECT {column} FROM {table} WHERE {column} = {number_in(prompt)}"
    answers = {"SQLValidation": VALID, "AmbiguityReview": NO_AMBIGUITY}
    return Reply(answers.get(schema, {"sql": sql, "assumptions": [], "off_topic": False}), headers=CLOSES)


def asking_back(schema: str, prompt: str, table: str, column: str) -> Reply:
    """Return the reply of a model that asks which of two numbers is meant, and takes the one that was named."""
    if schema != "AmbiguityReview":
        return right_reply(schema, prompt, table, column)
    number = number_in(prompt)
    options = [
        {"label": each, "reading": each, "sql": f"SELECT {column} FROM {table} WHERE {column} = {found}"}
        for each, found in (("that one", number), ("the next", number + 1))
    ]
    asked = {"no_ambiguity": False, "ambiguity_type": "AmbQuestion", "question": "Which?", "options": options}
    return Reply({"summary": "a number", **asked}, headers=CLOSES)


class HoldingModel(SlowModel):
    """Answers at once what is asked about even numbers; what is asked about odd ones waits for `let_go`."""

    def __init__(self, answer: Answer, port: int) -> None:
        super().__init__(answer, 0, port)
        self.let_go = asyncio.Event()

    async def wait(self, prompt: str) -> None:
        if number_in(prompt) % 2:
            await self.let_go.wait()


async def say(port: int, **given: Any) -> Said:
    """Return what came of one input: a problem is an error too, and so is that nothing came."""
    status, body = await post(port, "/agent/invoke", {"input": given})
    answer = json.loads(body) if status else {"code": "not_answered"}
    if status != 200:
        return Said(answer["code"], None, None)
    output = answer["output"]
    rows = output["tables"][0]["rows"] if output["tables"] else []
    how = output["error"]["code"] if output["error"] else output["status"]
    return Said(how, rows[0][0] if rows else None, output["thread_id"])


async def ask_for(port: int, numbers: Iterable[int], **given: Any) -> list[Said]:
    """Ask for each of `numbers`, all at once."""
    asked = (say(port, question=f"What is the amount of number {number}?", **given) for number in numbers)
    return await asyncio.gather(*asked)


async def go_on(port: int, asked: Sequence[Said], answer: str) -> list[Said]:
    """Answer each question back on its thread, all at once."""
    return await asyncio.gather(*(say(port, thread_id=each.thread_id, clarification_answer=answer) for each in asked))


def check_own(numbers: Iterable[int], said: Sequence[Said]) -> set[str]:
    """Return how the questions ended, after a look that each answer is its own, on a thread of its own."""
    assert not [each for number, each in zip(numbers, said, strict=True) if each.how == "ok" and each.number != number]
    threads = [each.thread_id for each in said if each.thread_id]
    assert len(set(threads)) == len(threads)
    return {each.how for each in said}


def at_rest(server: ServerProcess, connections: int) -> None:
    """Wait until nothing runs on the server, and it has no more than so many connections."""
    metrics = f"{server.url}/metrics"
    eventually(lambda: 'datasphinx_running{graph="agent"} 0.0' in httpx.get(metrics, verify=False).text)
    eventually(lambda: len(server.connections()) <= connections, seen=server.connections)
