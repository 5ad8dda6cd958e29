import json
import os
import subprocess
import sys
import types
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI

from datasphinx.agent.embedded import server as local
from datasphinx.agent.embedded.server import embedded_endpoint
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.errors import DriverMissing, Unavailable


class FakeServer:
    started: list[object] = []

    def __init__(self, parameters):
        self.started.append(parameters)
        self.listening_address = f"http://127.0.0.1:{40_000 + len(self.started)}"


@pytest.fixture
def library(monkeypatch, tmp_path):
    def parameters():
        part = types.SimpleNamespace
        return part(model=part(), sampling=part(), cpuparams=part(), cpuparams_batch=part(), slot_save_path="")

    adapter = tmp_path / "adapter.gguf"
    adapter.write_bytes(b"GGUF")
    monkeypatch.setitem(TIERS, "base", replace(TIERS["base"], adapter=adapter))
    FakeServer.started = []
    fake = types.SimpleNamespace(Server=FakeServer, CommonParams=parameters, CommonAdapterLoraInfo=lambda *given: given)
    monkeypatch.setitem(sys.modules, "xllamacpp", fake)
    monkeypatch.setattr(local, "_servers", {})
    monkeypatch.setattr(local, "suitable_threads", lambda: 2)
    monkeypatch.setattr(local, "embedded_weights", lambda cache_dir, weights: cache_dir / "models/weights.gguf")
    return fake


def test_one_server_for_the_process_and_all_threads(library, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        servers = list(pool.map(lambda number: embedded_endpoint(tmp_path / str(number)), range(16)))
    assert {server.url for server in servers} == {"http://127.0.0.1:40001"}
    assert len(FakeServer.started) == 1


def test_server_is_private_and_deterministic(library, tmp_path):
    embedded_endpoint(tmp_path)
    (parameters,) = FakeServer.started
    assert parameters.model.path == str(tmp_path / "models" / "weights.gguf")
    assert (parameters.hostnames, parameters.port) == (["127.0.0.1"], 0)
    assert (parameters.cors_origins, parameters.endpoint_slots, parameters.ui) == ("", False, False)
    assert parameters.api_keys == [embedded_endpoint(tmp_path).key]
    assert len(embedded_endpoint(tmp_path).key) > 40
    assert parameters.sampling.temp == 0
    assert parameters.n_ctx == local.CONTEXT_TOKENS


def test_the_adapter_is_loaded_unless_the_base_model_is_asked_for(library, tmp_path):
    servers = [embedded_endpoint(tmp_path), embedded_endpoint(tmp_path, adapter=False), embedded_endpoint(tmp_path)]
    trained, base = FakeServer.started
    assert servers[0] is servers[2]
    assert servers[0].url != servers[1].url
    assert trained.lora_adapters == [(str(tmp_path / "adapter.gguf"), 1.0)]
    assert not hasattr(base, "lora_adapters")


def test_a_package_without_the_adapter_says_so_before_anything_is_fetched(library, tmp_path, monkeypatch):
    monkeypatch.setitem(TIERS, "base", replace(TIERS["base"], adapter=tmp_path / "nowhere.gguf"))
    with monkeypatch.context() as patched:
        patched.setattr(local, "embedded_weights", lambda *_, **__: pytest.fail("fetched"))
        with pytest.raises(Unavailable, match=r"nowhere\.gguf is missing"):
            embedded_endpoint(tmp_path)
    assert embedded_endpoint(tmp_path, adapter=False)


def test_each_tier_has_a_server_of_its_own(library, tmp_path, monkeypatch):
    fetched = []
    monkeypatch.setattr(local, "embedded_weights", lambda cache, weights: fetched.append(weights) or cache)
    urls = {embedded_endpoint(tmp_path, name).url for name in TIERS}
    assert len(urls) == len(TIERS)
    assert [parameters.model_alias for parameters in FakeServer.started] == [{tier.model} for tier in TIERS.values()]
    assert fetched == [tier.weights for tier in TIERS.values()]


def test_missing_library_is_said_before_anything_is_fetched(library, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(local, "embedded_weights", lambda *_, **__: pytest.fail("fetched"))
    with pytest.raises(DriverMissing) as caught:
        embedded_endpoint(tmp_path)
    assert (caught.value.package, caught.value.extra) == ("xllamacpp", "local")


def test_start_that_fails_can_be_tried_again(library, tmp_path, monkeypatch):
    def refuses(_parameters):
        raise RuntimeError("Failed to init server")

    monkeypatch.setattr(library, "Server", refuses)
    with pytest.raises(Unavailable, match=r"Failed to init server.*weights\.gguf"):
        embedded_endpoint(tmp_path)
    monkeypatch.setattr(library, "Server", FakeServer)
    assert embedded_endpoint(tmp_path).url


@pytest.mark.heavy
@pytest.mark.process
def test_module_does_not_import_the_library():
    code = "import sys, datasphinx.agent.embedded.server; sys.exit('xllamacpp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("siblings", "quota", "expected"),
    [
        (["0", "1", "2", "3"], "max 100000", 4),
        (["0,4", "1,5", "0,4", "1,5"], "max 100000", 2),
        (["0", "1", "2", "3"], "150000 100000", 1),
        (["0", "1", "2", "3"], "20000 100000", 1),
        ([str(cpu) for cpu in range(64)], "max 100000", 8),
        (None, None, 4),
        (None, "", 4),
    ],
)
def test_threads_are_real_cores_within_the_quota(monkeypatch, tmp_path, siblings, quota, expected):
    monkeypatch.setattr(local, "_TOPOLOGY", str(tmp_path / "{}"))
    monkeypatch.setattr(local, "_CGROUP_QUOTA", tmp_path / "cpu.max")
    cpus = set(range(len(siblings) if siblings else 4))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: cpus, raising=False)
    for cpu, text in enumerate(siblings or []):
        (tmp_path / str(cpu)).write_text(text)
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota)
    assert local.max_threads() == expected


@pytest.mark.parametrize(
    ("cores", "running", "expected"),
    [
        # The thread that asks runs too.
        (2, [1, 1, 1, 1, 1], 2),
        (2, [2, 2, 3, 2, 2], 1),
        (2, [4, 1, 5, 3, 2], 2),
        (8, [3, 3, 3, 3, 3], 1),
        (1, [1, 1, 1, 1, 1], 1),
    ],
)
def test_one_thread_while_other_processes_use_the_cores(monkeypatch, tmp_path, cores, running, expected):
    samples = iter(running)

    class Load:
        def read_text(self):
            return f"0.50 0.40 0.30 {next(samples)}/200 1234"

    monkeypatch.setattr(local, "_LOAD", Load())
    monkeypatch.setattr(local, "_SAMPLE_INTERVAL_S", 0)
    monkeypatch.setattr(local, "max_threads", lambda: cores)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert local.suitable_threads() == expected


def test_the_load_of_the_last_minute_counts_where_there_is_no_other(monkeypatch, tmp_path):
    monkeypatch.setattr(local, "_LOAD", tmp_path / "none")
    monkeypatch.setattr(local, "max_threads", lambda: 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for load, expected in ((0.0, 2), (1.3, 1)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert local.suitable_threads() == expected


def test_each_number_of_threads_has_a_server(library, tmp_path):
    one, two = embedded_endpoint(tmp_path, threads=1), embedded_endpoint(tmp_path, threads=2)
    assert [parameters.cpuparams.n_threads for parameters in FakeServer.started] == [1, 2]
    assert one.url != two.url
    assert one.key != two.key


def test_states_are_saved_in_a_private_folder(library, tmp_path):
    embedded_endpoint(tmp_path)
    (parameters,) = FakeServer.started
    assert parameters.slot_save_path == f"{tmp_path / 'prompts'}{os.sep}"
    assert (tmp_path / "prompts").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_used_is_left_out(library, tmp_path):
    (tmp_path / "prompts").write_text("a file")
    assert embedded_endpoint(tmp_path).prefixes.folder is None
    assert FakeServer.started[0].slot_save_path == ""


def test_cpus_are_counted_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert local._physical_cores() == 1


def model(endpoint: local.Endpoint, **options: object) -> ChatOpenAI:
    return ChatOpenAI(
        model=TIERS["base"].model, base_url=endpoint.url, api_key=endpoint.key, timeout=60, max_tokens=100, **options
    )


@pytest.mark.heavy
@pytest.mark.embedded
def test_answers_are_the_same_again(endpoint):
    answers = {model(endpoint).invoke("Name three colours.").content for _ in range(2)}
    assert len(answers) == 1


@pytest.mark.embedded
def test_json_schema_is_kept(endpoint):
    schema = {"type": "object", "properties": {"pick": {"enum": ["left", "right"]}}, "required": ["pick"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "pick", "schema": schema, "strict": True}}
    answer = model(endpoint).invoke("Pick a side.", response_format=wanted)
    assert json.loads(answer.content)["pick"] in ("left", "right")
    assert answer.usage_metadata["input_tokens"] > 0


@pytest.mark.embedded
def test_grammar_is_kept(endpoint):
    answer = model(endpoint).invoke("Say something.", extra_body={"grammar": 'root ::= "größe" | "so"'})
    assert answer.content in ("größe", "so")


@pytest.mark.embedded
@pytest.mark.parametrize(("path", "body"), [("/slots", None), ("/slots/0?action=save", b'{"filename": "stolen"}')])
def test_prompts_of_others_cannot_be_read(endpoint, path, body):
    for key, code in (("", 401), (endpoint.key, 501)) if body is None else (("", 401),):
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(endpoint.url + path, body, headers))
        assert caught.value.code == code
        caught.value.close()


@pytest.mark.embedded
def test_pages_of_other_sites_cannot_read_answers(endpoint):
    headers = {"Origin": "http://elsewhere.example", "Authorization": f"Bearer {endpoint.key}"}
    request = urllib.request.Request(f"{endpoint.url}/v1/models", headers=headers)
    with urllib.request.urlopen(request) as response:
        assert not response.headers["Access-Control-Allow-Origin"]
        assert TIERS["base"].model in response.read().decode()


@pytest.mark.heavy
@pytest.mark.embedded
@pytest.mark.parametrize("repeat", range(3))
def test_process_ends_with_its_own_exit_code_and_says_nothing(endpoint, user_cache, repeat):
    program = f"""
import sys
from pathlib import Path
from datasphinx.agent.embedded.server import embedded_endpoint
embedded_endpoint(Path({str(user_cache)!r}), adapter=False)
sys.exit(3)
"""
    root = Path(local.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, cwd=root, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")
