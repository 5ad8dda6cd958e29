"""The commands that start the containers, run by hand: the image's on this machine, over the database's script."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from tests.agent.sql.engines import POSTGRES_URL
from tests.support.deploy import ROOT, SERVICES, image_environment, last
from tests.support.fake_openai import FakeOpenAI, Reply
from tests.support.server_process import free_port, listens, server_process

pytestmark = [pytest.mark.heavy, pytest.mark.process]

COUNT = {"sql": "SELECT COUNT(*) AS orders FROM orders", "assumptions": [], "off_topic": False}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What the script of the database makes, under other names; gives each name and what it became."""
    server = make_url(POSTGRES_URL)
    own = f"sphinx_deploy_{os.getpid()}"
    names = {name: f"{own}_{name}" for name in ("datasphinx", "reader", "shop")}
    script = tmp_path / "postgres.sh"
    script.write_text(renamed((ROOT / "deploy/postgres.sh").read_text(encoding="utf-8"), names))
    where = {"PGHOST": server.host, "PGPORT": str(server.port or 5432), "PGPASSWORD": server.password or ""}
    passwords = {"DATASPHINX_DB_PASSWORD": "keeps-42", "READER_PASSWORD": "reads-43"}
    environment = {"PATH": os.environ["PATH"], "POSTGRES_USER": server.username or "postgres", **where, **passwords}
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    try:
        engine.connect().close()
    except OperationalError as error:
        pytest.skip(f"no PostgreSQL server answers: {error.orig}")
    try:
        subprocess.run(["sh", script], env=environment, check=True, capture_output=True)
        yield {**names, **passwords}
    finally:
        with engine.connect() as connection:
            for name in ("datasphinx", "shop"):
                connection.execute(text(f"DROP DATABASE IF EXISTS {names[name]} WITH (FORCE)"))
            for name in ("datasphinx", "reader"):
                connection.execute(text(f"DROP ROLE IF EXISTS {names[name]}"))
        engine.dispose()


def renamed(given: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\b(datasphinx|reader|shop)\b", lambda match: names[match[0]], given)


def settings_of_the_services(database: Mapping[str, str], model_url: str) -> dict[str, str]:
    """What the container of the server has in its environment, for the database of this machine."""
    given = {**database, "DATASPHINX_LLM_BASE_URL": model_url}
    server = make_url(POSTGRES_URL)
    environment = {}
    for name, value in SERVICES["app"]["environment"].items():
        filled = re.sub(r"\$\{(\w+)(?::[?-]([^}]*))?\}", lambda match: given.get(match[1], match[2]), value)
        here = re.sub(r"(?<=://)(\w+):(.*?)@postgres/(\w+)", lambda match: _here(match, database, server), filled)
        environment[name] = here
    # On loopback a server needs no keys.
    del environment["DATASPHINX_API_KEYS"]
    return environment


def _here(match: re.Match[str], names: Mapping[str, str], server: Any) -> str:
    user, password, name = match.groups()
    return f"{names[user]}:{password}@{server.host}:{server.port or 5432}/{names[name]}"


@pytest.mark.postgres
def test_the_command_of_the_image_answers_keeps_and_drains(database: dict[str, str], tmp_path: Path) -> None:
    go_on, begun, port = threading.Event(), threading.Event(), free_port()

    def hang(request: dict[str, Any]) -> Reply:
        begun.set()
        return Reply(COUNT, hang=go_on)

    program, *arguments = json.loads(last("CMD"))
    changed = {"0.0.0.0": "127.0.0.1", last("EXPOSE"): str(port)}
    command = [str(Path(sys.executable).with_name(program)), *(changed.get(each, each) for each in arguments)]
    with FakeOpenAI([COUNT, hang]) as model, ThreadPoolExecutor(1) as pool:
        settings = {
            **{name: value.replace("/data", str(tmp_path / "data")) for name, value in image_environment().items()},
            **settings_of_the_services(database, model.base_url),
            "DATASPHINX_ENABLE_SQL_VALIDATION": "false",
            "PATH": os.environ["PATH"],
        }
        with server_process(tmp_path / "server", settings, command, port) as server:
            alive = httpx.get(f"{server.url}/healthz", verify=False)
            first = ask(server.url, question="How many orders are there?")
            asked = pool.submit(ask, server.url, question="How many orders were placed?", thread_id=first["thread_id"])
            assert begun.wait(20)
            server.process.send_signal(signal.SIGTERM)
            while listens(port):
                pass
            go_on.set()
            second = asked.result()
            code = server.process.wait(20)
            log = server.log.read_text(encoding="utf-8")

    assert (alive.status_code, first["value"], second["value"], code) == (200, 6, 6, 0)
    assert first["audit"]["recorded"] and second["thread_id"] == first["thread_id"]
    assert all(json.loads(line)["event"] for line in log.splitlines())
    assert not [secret for secret in ("keeps-42", "reads-43") if secret in log]
    assert not list((tmp_path / "data").glob("*.sqlite")), "threads and record are in the database"


def ask(url: str, **given: Any) -> dict[str, Any]:
    response = httpx.post(f"{url}/agent/invoke", json={"input": given}, timeout=30, verify=False)
    assert response.status_code == 200, response.text
    output: dict[str, Any] = response.json()["output"]
    return output


@pytest.mark.postgres
def test_the_account_of_the_example_may_only_read(database: dict[str, str]) -> None:
    server = make_url(POSTGRES_URL)
    reader = server.set(username=database["reader"], password=database["READER_PASSWORD"], database=database["shop"])
    engine = create_engine(reader)
    try:
        with engine.connect() as connection:
            assert connection.execute(text("SELECT COUNT(*) FROM orders")).scalar() == 6
        for statement in ("DELETE FROM orders", "CREATE TABLE more (x int)", "CREATE TEMP TABLE more (x int)"):
            with engine.connect() as connection, pytest.raises(ProgrammingError, match="permission denied"):
                connection.execute(text(statement))
    finally:
        engine.dispose()
