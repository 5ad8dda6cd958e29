"""What the people of a team do with a server: coroutines that raise where an answer is not what it should be.

The number that each is given makes its question, or its file, one of its own.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from benchmarks import service
from tests.agent.server.asking import QUESTION, ROWS
from tests.agent.tools.conftest import RETURNS
from tests.support.best_customer import ASKS, BEST

ORDERS = 1000
_BY_STATUS = "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY status"
_BY_ACCOUNT = {"group_by": ["账号"], "aggregations": [{"as": "returns", "agg": "sum", "col": "退货数量"}]}
_WEB = Path(__file__).parents[1] / "agent/web"
_STATIC = sorted(path.relative_to(_WEB).as_posix() for path in _WEB.rglob("*.js"))


def answer(schema: str, prompt: str) -> dict[str, Any]:
    """Return what the model says."""
    if schema == "GeneratedSQL" and BEST in prompt:
        return ASKS
    if schema == "AnalystStep":
        if '"r1"' in prompt:
            return {"tool": "finish", "arguments": {"answer": "{2.账号} has {2.returns}, {1.账号} {1.returns}."}}
        dataset_id = "ds_" + prompt.split("ds_", 1)[1][:16]
        return {"tool": "run_query", "arguments": {"dataset_id": dataset_id, "query": _BY_ACCOUNT}}
    if schema == "GeneratedSQL" and "orders by status" in prompt.rpartition("How many")[2]:
        return {"sql": _BY_STATUS, "assumptions": [], "off_topic": False}
    return service.answer(schema, prompt)


class Person:
    """Somebody who asks the server with a key."""

    def __init__(self, http: httpx.AsyncClient, port: int, key: str, patience_s: float) -> None:
        """Take a client, the server's port for connections that are broken off, and when that is done."""
        self._http, self._port, self._patience_s = http, port, patience_s
        self._headers = {"X-API-Key": key}
        self.requests = 0

    async def send(self, method: str, path: str, expected: int = 200, **given: Any) -> httpx.Response:
        """Return the response, which has this status."""
        self.requests += 1
        given.setdefault("headers", self._headers)
        response = await self._http.request(method, path, **given)
        assert response.status_code == expected, (method, path, response.status_code, response.text[:500])
        return response

    async def asked(self, graph: str = "agent", status: str = "ok", **given: Any) -> dict[str, Any]:
        """Return the output of one question."""
        response = await self.send("POST", f"/{graph}/invoke", json={"input": given})
        output: dict[str, Any] = response.json()["output"]
        assert output["status"] == status, output
        return output

    async def order(self, number: int, **given: Any) -> dict[str, Any]:
        """Ask for an order, and return the output, which has that one."""
        order = number % ORDERS + 1
        output = await self.asked(question=f"What is the status of order {order}?", **given)
        assert output["tables"][0]["rows"][0][0] == order, output
        return output

    async def leave(self, path: str, body: bytes, kind: str, announced: int, until: bytes = b"") -> None:
        """Send a request and break the connection off: when `until` was heard, else when patience is over."""
        self.requests += 1
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        own = [f"X-API-Key: {self._headers['X-API-Key']}", f"Content-Type: {kind}", f"Content-Length: {announced}"]
        writer.write("\r\n".join([f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *own, "", ""]).encode() + body)
        try:
            await writer.drain()
            if until:
                await reader.readuntil(until)
            else:
                await asyncio.sleep(self._patience_s)
        finally:
            writer.transport.abort()


async def question(person: Person, number: int) -> None:
    """One question."""
    await person.order(number)


async def streamed(person: Person, number: int) -> None:
    """One question, heard step by step."""
    order = number % ORDERS + 1
    response = await person.send("POST", "/agent/events", json={"question": f"What is the status of order {order}?"})
    output = json.loads(response.text.rpartition("event: output\ndata: ")[2])
    assert output["tables"][0]["rows"][0][0] == order, output


async def conversation(person: Person, number: int) -> None:
    """A question, two follow-ups, a look at the thread, and feedback."""
    thread = (await person.order(number))["thread_id"]
    for _ in range(2):
        assert (await person.asked(thread_id=thread, question="as a table"))["thread_id"] == thread
    kept = (await person.send("GET", f"/threads/{thread}")).json()
    # The model of this test writes a statement for each follow-up.
    assert len(kept["turns"]) == 3, kept
    assert len((await person.send("GET", f"/threads/{thread}/history")).json()["runs"]) == 3
    await person.send("POST", f"/threads/{thread}/feedback", json={"accepted": True})


async def question_back(person: Person, number: int) -> None:
    """A question that is asked back, and answered."""
    asked = await person.asked(question=BEST, status="clarification")
    await person.asked(thread_id=asked["thread_id"], clarification_answer=str(number % 2 + 1))


async def files(person: Person, number: int) -> None:
    """A file, two questions on it, and its end."""
    content = f"{RETURNS}beta,2024-03-31,0,{number},1,low\n".encode()
    made = await person.send("POST", "/files", 201, files={"file": (f"returns_{number}.csv", content)})
    (dataset,) = made.json()["datasets"]
    ids = {each["dataset_id"] for each in (await person.send("GET", "/datasets")).json()["datasets"]}
    assert dataset["dataset_id"] in ids
    for _ in range(2):
        output = await person.asked("analyst", question=QUESTION, datasets=[dataset["dataset_id"]])
        assert output["value"]["rows"] == ROWS, output
    await _replayed(person, output)
    await person.send("DELETE", f"/datasets/{dataset['dataset_id']}", 204)


async def two_files(person: Person, number: int) -> None:
    """A question on two files together, of which one is removed after the other."""
    ids = []
    for part in range(2):
        content = f"{RETURNS}beta,2024-04-30,0,{number},{part},low\n".encode()
        made = await person.send("POST", "/files", 201, files={"file": (f"part_{part}.csv", content)})
        ids.append(made.json()["datasets"][0]["dataset_id"])
    await person.asked("analyst", question=QUESTION, datasets=ids)
    for dataset_id in ids:
        await person.send("DELETE", f"/datasets/{dataset_id}", 204)


async def replayed(person: Person, number: int) -> None:
    """A question, what is on its record, and the same once more."""
    await _replayed(person, await person.order(number))


async def _replayed(person: Person, output: dict[str, Any]) -> None:
    trace = output["audit"]["trace_id"]
    assert (await person.send("GET", f"/traces/{trace}")).json()["events"]
    replay = (await person.send("POST", f"/traces/{trace}/replay")).json()
    assert replay["same"], replay["differences"]


async def chart(person: Person, number: int) -> None:
    """A chart, drawn."""
    output = await person.asked(question="How many orders by status?", output_type="plot")
    picture = await person.send("GET", f"/charts/{output['charts'][0]['id']}.png")
    assert picture.content.startswith(b"\x89PNG")


async def page(person: Person, number: int) -> None:
    """The page as a browser loads it."""
    await person.send("GET", "/", headers={})
    await person.send("GET", f"/static/{_STATIC[number % len(_STATIC)]}", headers={})
    for address in ("/sources", "/datasets", "/boards"):
        await person.send("GET", address)


async def watching(person: Person, number: int) -> None:
    """What a monitor asks."""
    await person.send("GET", "/healthz", headers={})
    assert "datasphinx_questions_total" in (await person.send("GET", "/metrics")).text
    assert (await person.send("GET", "/readyz")).json()["status"] == "ready"


async def gone(person: Person, number: int) -> None:
    """Clients that leave: in the middle of a stream, of an answer, and of what they send."""
    asked = f"What is the status of order {number % ORDERS + 1}?"
    streamed, invoked = (json.dumps(each).encode() for each in ({"question": asked}, {"input": {"question": asked}}))
    await person.leave("/agent/events", streamed, "application/json", len(streamed), until=b"event: step")
    await person.leave("/agent/invoke", invoked, "application/json", len(invoked))
    await person.leave("/agent/invoke", invoked[:10], "application/json", len(invoked))
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n' + RETURNS.encode()
    await person.leave("/files", form, "multipart/form-data; boundary=x", 3_000_000)


async def refused(person: Person, number: int) -> None:
    """Wrong keys, bodies and ids."""
    await person.send("POST", "/agent/invoke", 401, json={}, headers={"X-API-Key": f"dsk_wrong_{number}"})
    await person.send("POST", "/agent/invoke", 422, json={"input": {"question": ""}})
    await person.send("POST", "/agent/invoke", 422, content=b"{" + str(number).encode())
    await person.send("GET", f"/threads/{number:032x}", 404)
    await person.send("GET", f"/nowhere/{number}", 404)
    await person.send("POST", "/files", 422, files={"file": (f"a_{number}.csv", b"only,a,header\n")})
    unknown = await person.asked(question="How many?", thread_id=f"{number:032x}", status="error")
    assert unknown["error"]["code"] == "thread_unknown"


Action = Callable[[Person, int], Awaitable[None]]

AN_HOUR: dict[Action, int] = {
    question: 400, streamed: 150, conversation: 100, question_back: 60, files: 40, two_files: 10, replayed: 60,
    chart: 40, page: 100, watching: 120, gone: 40, refused: 40,
}  # fmt: skip
"""How often each is done in an hour by a team of about fifty."""
