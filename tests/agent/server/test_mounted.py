"""The application under a path of another one, which does not run its lifespan."""

import asyncio
import re
from pathlib import Path

import httpx
import httpx2
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.server.asking import statement_for
from tests.agent.server.mcp.clients import MODES, content
from tests.agent.server.serving import ASKED, running
from tests.conftest import VALID


def test_a_mounted_application_serves_mcp_clients_and_links_its_charts(cache_dir: Path) -> None:
    model = ScriptedModel({"GeneratedSQL": [statement_for], "SQLValidation": [VALID]}, repeat_last=True)
    site = FastAPI()
    site.mount("/data", create_app(Services(load_settings(cache_dir=cache_dir), model=model, any_source=False)))

    async def ask(base: str, mode: str) -> list[list[object]]:
        async with httpx2.AsyncClient(timeout=30, verify=False) as http:
            transport = streamable_http_client(f"{base}/data/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:  # type: ignore[arg-type]
                rows: list[list[object]] = content(await client.call_tool("datasphinx_ask", dict(ASKED)))["rows"]
                return rows

    with running(site) as base, httpx.Client(timeout=30, verify=False) as http:
        for mode in MODES:
            assert asyncio.run(ask(base, mode)) == [[10127]]
        question = {"role": "user", "content": "Show the orders by status as a bar chart"}
        body = {"model": "datasphinx", "messages": [question]}
        answer = http.post(f"{base}/data/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
        (link,) = re.findall(r"\((http\S+\.png)\)", answer)
        assert link.startswith(f"{base}/data/charts/")
        assert http.get(link).headers["content-type"] == "image/png"
