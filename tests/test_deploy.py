"""What servers are started with: the image, the services beside it, the unit."""

import configparser
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from datasphinx.agent.settings import Settings
from tests.support.deploy import COMPOSE, ROOT, SERVICES, image_environment, instructions, last

UNIT = ROOT / "deploy/datasphinx.service"
SECRET = re.compile(r"KEY|PASSWORD|SECRET|TOKEN|_URL", re.IGNORECASE)

every_service = pytest.mark.parametrize("name", SERVICES)


# The image


def test_the_image_is_small_and_of_a_known_python() -> None:
    bases = [given.split()[0] for name, given in instructions() if name == "FROM"]

    assert set(bases) == {"python:3.11-slim-bookworm"}
    assert last("COPY").startswith("--from=build"), "the last stage has no compiler and no source"


def test_the_server_is_not_root_and_owns_only_its_data() -> None:
    made = " ".join(given for name, given in instructions() if name == "RUN")
    user = last("USER").partition(":")[0]

    assert user == "10001" and f"--uid {user}" in made
    assert last("VOLUME") == image_environment()["DATASPHINX_DATA_DIR"] == "/data"
    assert "--owner=datasphinx --group=datasphinx --mode=0700 /data" in made


def test_no_secret_is_in_the_image() -> None:
    names = [given for name, given in instructions() if name in ("ENV", "ARG")]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()

    assert not [name for name in names if SECRET.search(name)]
    assert "*" in ignored and not [each for each in ignored if each.startswith("!") and ".env" in each]


def test_all_that_is_copied_is_there_and_nothing_is_fetched() -> None:
    copied = [given.split()[:-1] for name, given in instructions() if name == "COPY" and "--from" not in given]
    let_through = {
        each[1:] for each in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if each.startswith("!")
    }
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    names = {name for line in copied for name in line}

    assert "ADD" not in dict(instructions())
    assert all((ROOT / name).exists() for name in names)
    assert names == let_through
    assert set(packages["targets"]["wheel"]["only-include"]) <= names


def test_the_extras_of_the_image_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = re.findall(r"--extra ([\w-]+)", str(instructions()))

    assert {"serve", "postgres"} <= set(wanted) <= set(extras)


def test_the_image_has_the_versions_of_the_lock_file() -> None:
    runs = [given for name, given in instructions() if name == "RUN"]

    assert [run.startswith("uv sync --locked ") for run in runs if "sync" in run] == [True, True]
    assert "pip install" not in str(runs)


def test_the_image_says_whether_the_server_is_alive() -> None:
    probe = json.loads(last("HEALTHCHECK").partition("CMD ")[2])

    assert "/healthz" in probe[-1] and f":{last('EXPOSE')}/" in probe[-1]
    assert json.loads(last("CMD"))[-1] == last("EXPOSE")


# The services


@every_service
def test_a_service_has_a_pinned_image_and_no_more_rights_than_it_needs(name: str) -> None:
    service = SERVICES[name]

    assert re.search(r":[\w.${-]+", service["image"]) and not service["image"].endswith(":latest")
    assert not {"privileged", "network_mode", "pid", "cap_add"} & set(service) or name == "proxy"
    assert "no-new-privileges:true" in service["security_opt"]
    assert service.get("cap_drop") == ["ALL"] or name == "postgres", "its image changes users when it starts"
    assert service.get("read_only") or name == "postgres"


@every_service
def test_only_the_proxy_can_be_reached_and_only_from_this_machine(name: str) -> None:
    ports = SERVICES[name].get("ports", [])

    assert bool(ports) == (name == "proxy")
    assert all(port.startswith("127.0.0.1:") for port in ports)


@every_service
def test_secrets_come_from_outside_and_are_asked_for(name: str) -> None:
    given = SERVICES[name].get("environment", {})
    secrets = {
        key: value for key, value in given.items() if re.search(r"PASSWORD|API_KEYS|THREADS|RECORD|SOURCES", key)
    }

    assert all(re.search(r"\$\{\w+:\?", value) for value in secrets.values())
    assert not re.search(r"://\w+:(?!\$\{)[^@/\"]+@", str(given)), "a password stands in a URL"


def test_the_files_that_services_are_given_are_there() -> None:
    mounted = [each for service in SERVICES.values() for each in service.get("volumes", ())]
    files = [each.split(":")[0] for each in mounted if each.startswith("./")]
    named = {each.split(":")[0] for each in mounted if not each.startswith((".", "$"))}

    assert files and all((ROOT / file).is_file() for file in files)
    assert named == set(COMPOSE["volumes"])


def test_two_servers_share_what_they_keep() -> None:
    app = SERVICES["app"]
    known = {f"DATASPHINX_{name.upper()}" for name in Settings.model_fields}

    assert app["deploy"]["replicas"] == 2
    assert set(app["environment"]) <= known
    assert {"DATASPHINX_THREADS_URL", "DATASPHINX_RECORD_URL", "DATASPHINX_API_KEYS"} <= set(app["environment"])
    assert "data:/data" in app["volumes"]
    assert COMPOSE["networks"]["back"] == {"internal": True}
    assert SERVICES["postgres"]["networks"] == ["back"]


def test_the_proxy_asks_the_servers_in_turn() -> None:
    proxy = (ROOT / "deploy/Caddyfile").read_text(encoding="utf-8")

    assert f"dynamic a app {last('EXPOSE')}" in proxy and "lb_policy round_robin" in proxy
    assert SERVICES["proxy"]["ports"] == ["127.0.0.1:8080:8080"] and "\n:8080 {" in proxy
    assert proxy.count("{") == proxy.count("}")


def test_the_proxy_keeps_the_sessions_of_a_key_in_one_server() -> None:
    proxy = (ROOT / "deploy/Caddyfile").read_text(encoding="utf-8")
    sessions = proxy.partition("reverse_proxy /mcp {")[2].partition("\n\t}\n")[0]

    # The request that opens a session has no id yet, so the id cannot choose the server.
    assert "lb_policy header Authorization {" in sessions and "fallback header X-API-Key" in sessions
    assert "import servers" in sessions and "\n(servers) {" in proxy


def test_the_proxy_keeps_the_runs_on_a_thread_in_one_server() -> None:
    proxy = (ROOT / "deploy/Caddyfile").read_text(encoding="utf-8")
    pattern = proxy.partition("path_regexp thread ")[2].partition("\n")[0]
    runs = proxy.partition("reverse_proxy @thread {")[2].partition("\n\t}\n")[0]

    assert "lb_policy header X-Thread-Id" in runs and "import servers" in runs
    assert "request_header @thread X-Thread-Id {re.thread.1}" in proxy
    thread = "01234567-89ab-cdef-0123-456789abcdef"
    for path in ("runs", f"runs/{thread}/join", "commands", "stream/events"):
        found = re.search(pattern, f"/threads/{thread}/{path}")
        assert found and found[1] == thread
    # Threads of other routes, without dashes, have no runs that are followed.
    assert not re.search(pattern, f"/threads/{thread.replace('-', '')}/history")


# The unit


def unit() -> Mapping[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    return parser["Service"]


def test_the_unit_runs_the_server_as_nobody_else_and_drains_it() -> None:
    service = unit()

    assert service["ExecStart"].split()[1:4] == ["serve", "--host", "127.0.0.1"]
    assert (service["DynamicUser"], service["NoNewPrivileges"], service["ProtectSystem"]) == ("yes", "yes", "strict")
    assert service["CapabilityBoundingSet"] == ""
    assert (service["KillMode"], service["StateDirectory"], service["StateDirectoryMode"]) == (
        "mixed", "datasphinx", "0700")  # fmt: skip
    assert not re.search(r"(KEY|PASSWORD|TOKEN)\w*=", UNIT.read_text(encoding="utf-8"))


def test_systemd_knows_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if not analyze:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/datasphinx/bin/datasphinx", sys.executable))
    checked = subprocess.run([analyze, "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    exposed = subprocess.run(
        [analyze, "security", "--offline=yes", "--threshold=20", copy], capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stderr.strip()) == (0, "")
    assert exposed.returncode == 0, exposed.stdout
