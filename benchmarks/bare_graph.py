"""The least that a question can cost: a graph of two nodes with a call each, over LangServe, and nothing else.

`python -m benchmarks.service --bare` measures it as it measures the server. It answers in the form of a reply.
`python -m benchmarks.concurrency` compares both.
"""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langserve import add_routes
from openai import DefaultHttpxClient
from pydantic import SecretStr
from typing_extensions import TypedDict


class Asked(TypedDict, total=False):
    """A question and what the model says to it."""

    question: str
    sql: str
    validation: str


def two_calls(url: str) -> Any:
    """Return the compiled graph, whose model is at `url`."""
    client = DefaultHttpxClient(trust_env=False)
    chat = ChatOpenAI(model="slow", base_url=url, api_key=SecretStr("none"), http_client=client, http_socket_options=())
    builder = StateGraph(Asked)
    builder.add_node("generate", lambda state: {"sql": chat.invoke(state["question"]).text})
    builder.add_node("validate", lambda state: {"validation": chat.invoke(state["sql"]).text})
    builder.add_edge(START, "generate")
    builder.add_edge("generate", "validate")
    builder.add_edge("validate", END)
    return builder.compile()


def app(url: str) -> FastAPI:
    """Return the server, whose model is at `url`."""
    graph = two_calls(url)

    def answer(asked: Asked) -> dict[str, Any]:
        graph.invoke(asked)
        order = int(re.findall(r"\d+", asked["question"])[0])
        return {
            "tables": [{"rows": [[order]]}],
            "thread_id": None,
            "status": "ok",
            "error": None,
            "audit": {"llm_calls": 2},
        }

    async def answered(asked: Asked) -> dict[str, Any]:
        return await asyncio.to_thread(answer, asked)

    made = FastAPI(lifespan=_lifespan)
    add_routes(made, RunnableLambda(answer, afunc=answered).with_types(input_type=Asked), path="/agent")
    return made


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(256))
    yield


if __name__ == "__main__":
    uvicorn.run(app(os.environ["DATASPHINX_LLM_BASE_URL"]), port=int(sys.argv[1]), log_level="warning")
