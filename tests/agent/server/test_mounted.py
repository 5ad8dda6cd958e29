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


def test_the_limits_and_errors_of_a_mounted_application_are_those_of_its_routes(cache_dir: Path) -> None:
    settings = load_settings(cache_dir=cache_dir, max_request_bytes=1000, max_upload_bytes=100_000)
    site = FastAPI()
    site.mount("/data", create_app(Services(settings, model=ScriptedModel({}), any_source=False)))
    content = b"a,b\n" + b"1,2\n" * 1000
    with running(site) as base, httpx.Client(base_url=f"{base}/data", timeout=30, verify=False) as http:
        uploaded = http.post("/files", files={"file": ("numbers.csv", content)})
        refused = http.post("/agent/invoke", json={"input": {"question": "?" * 1000}})
        unknown = http.get("/v1/models/unknown")
    assert (uploaded.status_code, refused.status_code) == (201, 413), uploaded.text
    assert unknown.json()["error"]["type"] == "invalid_request_error"
