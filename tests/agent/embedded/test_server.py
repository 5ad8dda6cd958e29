import json
import os
import subprocess
import sys
import types
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI

from agent.embedded import server as local
from agent.embedded.server import EMBEDDED_MODEL_NAME, embedded_endpoint
from agent.errors import DriverMissing, EmbeddedModelUnavailable
from tests.heavy import sample


class FakeServer:
    started: list[object] = []

    def __init__(self, parameters):
        self.started.append(parameters)
        self.listening_address = f"http://127.0.0.1:{40_000 + len(self.started)}"


@pytest.fixture
def library(monkeypatch, tmp_path):
    def parameters():
        part = types.SimpleNamespace
        return part(model=part(), sampling=part(), cpuparams=part(), cpuparams_batch=part())

    adapter = tmp_path / "adapter.gguf"
    adapter.write_bytes(b"GGUF")
    monkeypatch.setattr(local, "ADAPTER", adapter)
    FakeServer.started = []
    fake = types.SimpleNamespace(Server=FakeServer, CommonParams=parameters, CommonAdapterLoraInfo=lambda *given: given)
    monkeypatch.setitem(sys.modules, "xllamacpp", fake)
    monkeypatch.setattr(local, "_servers", {})
    monkeypatch.setattr(local, "embedded_weights", lambda cache_dir: cache_dir / "models" / "weights.gguf")
    return fake


def test_one_server_for_the_process_and_all_threads(library, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        urls = set(pool.map(lambda number: embedded_endpoint(tmp_path / str(number)), range(16)))
    assert urls == {"http://127.0.0.1:40001/v1"}
    assert len(FakeServer.started) == 1


def test_server_is_private_and_deterministic(library, tmp_path):
    embedded_endpoint(tmp_path)
    (parameters,) = FakeServer.started
    assert parameters.model.path == str(tmp_path / "models" / "weights.gguf")
    assert (parameters.hostnames, parameters.port) == (["127.0.0.1"], 0)
    assert (parameters.cors_origins, parameters.endpoint_slots, parameters.ui) == ("", False, False)
    assert parameters.sampling.temp == 0
    assert parameters.n_ctx == local.CONTEXT_TOKENS


def test_the_adapter_is_loaded_unless_the_base_model_is_asked_for(library, tmp_path):
    urls = [embedded_endpoint(tmp_path), embedded_endpoint(tmp_path, adapter=False), embedded_endpoint(tmp_path)]
    trained, base = FakeServer.started
    assert urls[0] == urls[2] != urls[1]
    assert trained.lora_adapters == [(str(tmp_path / "adapter.gguf"), 1.0)]
    assert not hasattr(base, "lora_adapters")


def test_a_package_without_the_adapter_says_so_before_anything_is_fetched(library, tmp_path, monkeypatch):
    monkeypatch.setattr(local, "ADAPTER", tmp_path / "nowhere.gguf")
    with monkeypatch.context() as patched:
        patched.setattr(local, "embedded_weights", lambda cache_dir: pytest.fail("fetched"))
        with pytest.raises(EmbeddedModelUnavailable, match=r"nowhere\.gguf is missing"):
            embedded_endpoint(tmp_path)
    assert embedded_endpoint(tmp_path, adapter=False)


def test_missing_library_is_said_before_anything_is_fetched(library, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(local, "embedded_weights", lambda cache_dir: pytest.fail("fetched"))
    with pytest.raises(DriverMissing) as caught:
        embedded_endpoint(tmp_path)
    assert (caught.value.package, caught.value.extra) == ("xllamacpp", "local")


def test_start_that_fails_can_be_tried_again(library, tmp_path, monkeypatch):
    def refuses(_parameters):
        raise RuntimeError("Failed to init server")

    monkeypatch.setattr(library, "Server", refuses)
    with pytest.raises(EmbeddedModelUnavailable, match=r"Failed to init server.*weights\.gguf"):
        embedded_endpoint(tmp_path)
    monkeypatch.setattr(library, "Server", FakeServer)
    assert embedded_endpoint(tmp_path).endswith("/v1")


def test_module_does_not_import_the_library():
    code = "import sys, agent.embedded.server; sys.exit('xllamacpp' in sys.modules)"
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
    assert local._threads() == expected


def test_cpus_are_counted_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert local._physical_cores() == 1


def model(endpoint: str, **options: object) -> ChatOpenAI:
    return ChatOpenAI(
        model=EMBEDDED_MODEL_NAME, base_url=endpoint, api_key="none", timeout=60, max_tokens=100, **options
    )


@pytest.mark.embedded
def test_answers_are_the_same_again(base_endpoint):
    answers = {model(base_endpoint).invoke("Name three colours.").content for _ in range(2)}
    assert len(answers) == 1


@pytest.mark.embedded
def test_json_schema_is_kept(base_endpoint):
    schema = {"type": "object", "properties": {"pick": {"enum": ["left", "right"]}}, "required": ["pick"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "pick", "schema": schema, "strict": True}}
    answer = model(base_endpoint).invoke("Pick a side.", response_format=wanted)
    assert json.loads(answer.content)["pick"] in ("left", "right")
    assert answer.usage_metadata["input_tokens"] > 0


@pytest.mark.embedded
def test_grammar_is_kept(base_endpoint):
    answer = model(base_endpoint).invoke("Say something.", extra_body={"grammar": 'root ::= "größe" | "so"'})
    assert answer.content in ("größe", "so")


@pytest.mark.embedded
def test_prompts_of_others_cannot_be_read(base_endpoint):
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(base_endpoint.removesuffix("/v1") + "/slots")
    assert caught.value.code == 501
    caught.value.close()
    request = urllib.request.Request(f"{base_endpoint}/models", headers={"Origin": "http://elsewhere.example"})
    with urllib.request.urlopen(request) as response:
        assert not response.headers["Access-Control-Allow-Origin"]
        assert EMBEDDED_MODEL_NAME in response.read().decode()


@pytest.mark.embedded
@pytest.mark.parametrize("repeat", range(sample(3, 1)))
def test_process_ends_with_its_own_exit_code_and_says_nothing(base_endpoint, user_cache, repeat):
    program = f"""
import sys
from pathlib import Path
from agent.embedded.server import embedded_endpoint
embedded_endpoint(Path({str(user_cache)!r}), adapter=False)
sys.exit(3)
"""
    root = Path(local.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, cwd=root, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")
