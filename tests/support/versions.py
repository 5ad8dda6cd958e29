"""The product in new environments with other versions of its packages: `python -m tests.support.versions [NAME ...]`.

- `lock`: those of uv.lock, which the container image installs. Answers a question by command and over HTTP.
- `lowest`, `newest`: the lowest and the newest that pyproject.toml allows for direct dependencies. Also runs tests.

uv installs from its cache; a package that is not in it is downloaded. Exit code 1 if one of them fails.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import NO_AMBIGUITY, VALID
from tests.support.eventually import eventually
from tests.support.fake_openai import FakeOpenAI, Reply
from tests.support.server_process import ROOT, server_process

QUESTION = "How many customers are there?"
ANSWERS = {
    "GeneratedSQL": {"sql": "SELECT COUNT(*) AS customers FROM customers", "assumptions": [], "off_topic": False},
    "SQLValidation": VALID,
    "AmbiguityReview": NO_AMBIGUITY,
}
IMAGE = ("serve", "mcp", "oidc", "postgres", "mysql", "duckdb", "analyst", "charts", "knowledge", "semantic")
"""The extras of the container image."""
ENVIRONMENTS = ("lock", "lowest", "newest")
TESTED = (
    "tests/agent/sql/guard", "tests/agent/sql/test_every_engine.py", "tests/agent/sql/test_secret_outputs.py",
    "tests/agent/sql/test_row_rules.py", "tests/agent/sql/test_workers.py", "tests/agent/test_graph_routes.py",
    "tests/agent/test_chat.py", "tests/agent/server/test_health.py", "tests/agent/server/test_threads.py",
    "tests/agent/server/test_files.py", "tests/agent/server/mcp", "tests/agent/llm", "tests/agent/conversation",
    "tests/agent/record", "tests/agent/charts",
)  # fmt: skip
"""The tests that depend most on the packages."""


def main(names: list[str]) -> None:
    """Test the environments with these names, by default all."""
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or ENVIRONMENTS:
            started = time.monotonic()
            try:
                check(name, Path(folder) / name)
            except (AssertionError, subprocess.CalledProcessError, httpx.HTTPError) as error:
                failed.append(name)
                print(f"{name}: {error}", file=sys.stderr)
            print(
                f"{name}: {'failed' if name in failed else 'passed'} in {time.monotonic() - started:.0f} s", flush=True
            )
    raise SystemExit(1 if failed else 0)


def check(name: str, folder: Path) -> None:
    """Install, ask, and run the tests."""
    binaries = install(name, folder / "environment")
    ask(binaries, folder)
    if name != "lock":
        # Old versions of packages use what the newest ones of others deprecate.
        warnings = ["-W", "default"] if name == "lowest" else []
        arguments = [
            "-n",
            "auto",
            "--maxprocesses",
            "4",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not (heavy or embedded)",
        ]
        run(str(binaries / "python"), "-m", "pytest", *arguments, *warnings, *TESTED)


def install(name: str, environment: Path) -> Path:
    """Install the product into `environment` and return the folder of its programs."""
    binaries = environment / "bin"
    uv = str(Path(sys.executable).with_name("uv"))
    run(uv, "venv", "--quiet", "--python", sys.executable, str(environment))
    if name == "lock":
        extras = [f"--extra={extra}" for extra in IMAGE]
        run(
            uv,
            "sync",
            "--quiet",
            "--compile-bytecode",
            "--locked",
            "--no-editable",
            *extras,
            UV_PROJECT_ENVIRONMENT=str(environment),
        )
        return binaries
    resolution = "lowest-direct" if name == "lowest" else "highest"
    options = ["--quiet", "--compile-bytecode", "--python", str(binaries / "python"), "--resolution", resolution]
    run(uv, "pip", "install", *options, ".[all,dev]")
    return binaries


def ask(binaries: Path, folder: Path) -> None:
    """Ask a question by command and over HTTP; the model is a server that knows its statement."""

    def reply(request: dict[str, Any]) -> Reply:
        name = request.get("response_format", {}).get("json_schema", {}).get("name")
        return Reply(ANSWERS[name]) if name in ANSWERS else Reply(status=500)

    with FakeOpenAI(default=reply) as model:
        settings = {
            "DATASPHINX_LLM_BASE_URL": model.base_url,
            "DATASPHINX_LLM_MODEL": "fake",
            "DATASPHINX_LLM_PROFILE": "standard",
            "DATASPHINX_DATA_DIR": str(folder / "data"),
            "DATASPHINX_CACHE_DIR": str(folder / "cache"),
            # Not the packages of the source tree.
            "PYTHONPATH": "",
        }
        command = str(binaries / "datasphinx")
        run(command, "ask", QUESTION, cwd=folder, **settings)
        with server_process(folder, settings, (command, "serve", "--port", "0")) as server:
            eventually(lambda: httpx.get(f"{server.url}/readyz", timeout=60).status_code == 200, within_s=120)
            response = httpx.post(f"{server.url}/agent/invoke", json={"input": {"question": QUESTION}}, timeout=60)
            assert response.status_code == 200 and response.json()["output"]["value"], response.text


def run(*command: str, cwd: Path = ROOT, **variables: str) -> None:
    """Run `command`, with these variables.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    subprocess.run(command, cwd=cwd, env=os.environ | variables, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
