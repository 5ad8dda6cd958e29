"""No response names a directory of the server, whatever goes wrong: every error that can hold a path, over HTTP."""

import io
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from datasphinx.agent.core.failure import client_failure, error_info
from datasphinx.agent.core.redact import without_paths
from datasphinx.agent.embedded.tiers import TIERS
from datasphinx.agent.errors import DatasphinxError
from datasphinx.agent.messages import LANGUAGES
from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, load_settings
from tests.agent.server.serving import ASKED, Served, running
from tests.agent.server.serving import serving as serving_kept_alive
from tests.support.databases import make_table, url
from tests.support.generated_docs import ROOT

pytestmark = pytest.mark.heavy

CLOSED = {"Connection": "close"}
PLACES = ("private store", "private cache", "private bases")
"""Directories of the server, with spaces in their names."""


@contextmanager
def serving(*given: Any, **settings: Any) -> Iterator[Served]:
    """A server that is sent each request over its own connection: one that answers 500 closes its connection."""
    with serving_kept_alive(*given, **settings) as server:
        server.http.headers.update(CLOSED)
        yield server


class Machine:
    """The directories of a server in the making."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data, self.cache, self.bases = (folder / name for name in PLACES)
        self.bases.mkdir()
        # Several people use it.
        self.settings: dict[str, Any] = {"data_dir": self.data, "edit_sources": False}

    def base(self, name: str, content: bytes | None = None) -> str:
        """A database with a table, or with `content` in place of what a database has; its URL."""
        path = self.bases / name
        if content is None:
            make_table(self.bases, "thing TEXT", [["here"]]).rename(path)
        else:
            path.write_bytes(content)
        return f"{'duckdb' if name.endswith('.duckdb') else 'sqlite'}:///{path}"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def leaks(text: str, machine: Machine) -> list[str]:
    """Every name of a directory of the server in a response."""
    directories = [str(machine.folder), *PLACES, str(ROOT), sys.prefix, tempfile.gettempdir(), "site-packages"]
    read = text.replace("\\/", "/")
    return [f"{each}: {read[max(0, read.index(each) - 100) :][:300]}" for each in directories if each in read]


def ask(http: httpx.Client, graph: str, **given: Any) -> list[httpx.Response]:
    """Every way to ask a question."""
    asked = {**ASKED, **given}
    wrapped = {"invoke": asked, "stream": asked, "stream_events": asked}
    answers = [http.post(f"/{graph}/{name}", json={"input": body}) for name, body in wrapped.items()]
    answers.append(http.post(f"/{graph}/batch", json={"inputs": [asked]}))
    return [*answers, http.post(f"/{graph}/events", json=asked)]


def looked_at(http: httpx.Client, answers: list[httpx.Response]) -> list[httpx.Response]:
    """The responses, and what the server tells of these runs and of itself afterwards."""
    more = [http.get(path) for path in ("/readyz", "/sources", "/datasets", "/metrics", "/openapi.json")]
    for answer in answers:
        outputs = answer.json().get("output") if answer.headers["content-type"] == "application/json" else None
        if isinstance(outputs, dict):
            thread, trace = outputs.get("thread_id"), outputs["audit"]["trace_id"]
            paths = [f"/traces/{trace}"] if trace else []
            paths += [f"/threads/{thread}", f"/threads/{thread}/history"] if thread else []
            more += [http.get(path) for path in paths]
            more += [http.post(f"/traces/{trace}/replay")] if trace else []
    return [*answers, *more]


def check(machine: Machine, http: httpx.Client, answers: list[httpx.Response], code: str) -> None:
    assert f'"{code}"' in answers[0].text, answers[0].text
    for each in looked_at(http, answers):
        assert leaks(each.text + str(each.headers), machine) == [], each.request.url


# Files


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


PARQUET_TAIL = b"\x15\x04\x19" + b"\x00" * 40 + (43).to_bytes(4, "little") + b"PAR1"
UPLOADS: list[tuple[str, bytes, str]] = [
    ("orders.parquet", b"PAR1" + b"\x00" * 50 + b"PAR1", "file_unreadable"),
    ("orders.parquet", b"PAR1" + PARQUET_TAIL, "file_unreadable"),
    ("orders.parquet", b"PAR1 and no more", "file_unreadable"),
    ("orders.xlsx", zipped(**{"[Content_Types].xml": b"<x", "xl/workbook.xml": b"<broken"}), "file_unreadable"),
    ("orders.xlsx", b"PK\x03\x04 and no more", "file_unreadable"),
    ("orders.xlsx", zipped(**{"xl/a.xml": b"x"})[:-8], "file_unreadable"),
    ("orders.ods", zipped(mimetype=b"application/vnd.oasis.opendocument.spreadsheet"), "file_unreadable"),
    ("orders.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "file_unreadable"),
    ("orders.csv", b"", "file_unreadable"),
    ("orders.csv", b"a,b\n", "file_empty"),
    ("orders.jsonl", b'{"a": 1}\n{"a": \n', "file_unreadable"),
    ("orders.jsonl", b'{"a": 1}\n[' + b"[" * 5000 + b"\n", "file_unreadable"),
    ("orders.exe", b"MZ", "file_unreadable"),
    ("orders.png", b"\x89PNG\r\n", "file_unreadable"),
]


def test_an_upload_that_cannot_be_read(machine: Machine) -> None:
    wrong = []
    with serving(machine.cache, **machine.settings) as server:
        for name, content, code in UPLOADS:
            answer = server.http.post("/files", files={"file": (name, content)})
            shown = answer.json()
            if shown.get("code") != code or name not in shown["detail"] or leaks(answer.text, machine):
                wrong.append((name, content[:20], answer.text))
        for form in ({"header_row": "90"}, {"sheet": "none"}):
            answer = server.http.post("/files", files={"file": ("orders.csv", b"a,b\n1,2\n")}, data=form)
            if answer.status_code not in (201, 422) or leaks(answer.text, machine):
                wrong.append(("orders.csv", str(form), answer.text))
    assert wrong == []


def spoil(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"no database at all" * 300)


def remove(path: Path) -> None:
    path.unlink()


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [spoil, remove, replace_by_folder])
@pytest.mark.parametrize("pattern", ["datasets/*", "files/*", "**/*.duckdb", "**/*.json"])
def test_stored_data_that_is_damaged(machine: Machine, harm: Callable[[Path], None], pattern: str) -> None:
    with serving(machine.cache, **machine.settings) as server:
        made = server.http.post("/files", files={"file": ("orders.csv", b"city,units\nKazan,1\nTver,2\n")}).json()
        dataset_id = made["datasets"][0]["dataset_id"]
        for path in [path for path in machine.data.glob(pattern) if path.is_file()]:
            harm(path)
        with httpx.Client(base_url=server.http.base_url, headers=CLOSED, timeout=30) as http:
            answers = ask(http, "analyst", datasets=[dataset_id])
            answers.append(http.post("/files", files={"file": ("orders.csv", b"city,units\nKazan,1\nTver,2\n")}))
            for each in looked_at(http, answers):
                assert leaks(each.text, machine) == [], each.request.url


# Databases


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("shop.sqlite", b"no database at all" * 300, "source_unreachable"),
        ("shop.duckdb", b"no database at all" * 900, "source_unreachable"),
        ("shop.sqlite", b"SQLite format 3\x00" + b"\xff" * 4000, "source_unreachable"),
        ("no shop.sqlite", None, "source_not_found"),
        ("no shop.duckdb", None, "source_not_found"),
    ],
)
@pytest.mark.parametrize("by_url", [False, True])
def test_a_database_that_cannot_be_opened(
    machine: Machine, name: str, content: bytes | None, code: str, by_url: bool
) -> None:
    scheme = name.rpartition(".")[2]
    base = machine.base(name, content) if content else f"{scheme}:///{machine.bases / name}"
    machine.settings |= {"source": base} if by_url else {"sources": {"shop": base}}
    with serving(machine.cache, **machine.settings) as server:
        check(machine, server.http, ask(server.http, "agent"), code)
        if not by_url:
            check(machine, server.http, ask(server.http, "analyst", source="shop"), code)
        assert server.http.get("/readyz").status_code == 503


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_database_that_goes_away_between_questions(machine: Machine, kind: str) -> None:
    if kind == "sqlite":
        base = machine.base("my shop.sqlite")
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(machine.bases / "my shop.duckdb")) as connection:
            connection.execute("CREATE TABLE things AS SELECT 'here' AS thing")
        base = f"duckdb:///{machine.bases / 'my shop.duckdb'}"
    machine.settings |= {"source": base}
    counts = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS n FROM things", "assumptions": [], "off_topic": False}]}
    with serving(machine.cache, counts, **machine.settings) as server:
        answers = ask(server.http, "agent")
        assert server.invoke(question="How many things are there?")["error"] is None
        for each in looked_at(server.http, answers):
            assert leaks(each.text, machine) == [], each.request.url
        spoil(machine.bases / f"my shop.{kind}")
        for each in looked_at(server.http, ask(server.http, "agent", question="How many other things are there?")):
            assert leaks(each.text, machine) == [], each.request.url


# Stores


def no_folder(path: Path) -> None:
    """A file where the server wants a directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"no directory")


def no_database(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"no database at all" * 300)


@pytest.mark.parametrize(
    ("place", "harm"),
    [
        ("private store", no_folder),
        ("private cache", no_folder),
        ("private store/record.sqlite", no_database),
        ("private store/threads.sqlite", no_database),
        ("private store/files", no_folder),
        ("private store/datasets", no_folder),
        ("private store/threads", no_folder),
        ("private cache/catalogs", no_folder),
        ("private cache/sample", no_folder),
    ],
)
def test_a_store_that_cannot_be_used(machine: Machine, place: str, harm: Callable[[Path], None]) -> None:
    harm(machine.folder / place)
    machine.settings |= {"sources": {"shop": machine.base("shop.sqlite")}}
    answer = {"GeneratedSQL": [{"sql": "SELECT COUNT(*) AS n FROM things", "assumptions": [], "off_topic": False}]}
    with serving(machine.cache, answer, **machine.settings) as server:
        answers = [*ask(server.http, "agent", clarify="always"), *ask(server.http, "analyst", source="shop")]
        answers.append(server.http.post("/files", files={"file": ("orders.csv", b"a,b\n1,2\n")}))
        answers.append(server.http.post("/threads/" + "0" * 32 + "/feedback", json={"accepted": True}))
        answers.append(server.http.get("/traces/" + "0" * 32))
        answers.append(server.http.get("/charts/" + "0" * 32 + "-00000000-0000-0000-0000-000000000000-1.png"))
        for each in looked_at(server.http, answers):
            assert leaks(each.text, machine) == [], each.request.url


def test_the_record_is_named_without_its_path(machine: Machine) -> None:
    no_database(machine.data / "record.sqlite")
    with serving(machine.cache, **machine.settings) as server:
        output = server.invoke(**ASKED)
        assert output["error"]["code"] == "record_unavailable" and "record.sqlite" in output["error"]["message"]


def test_the_quota_of_a_tenant(machine: Machine) -> None:
    from datasphinx.agent.server.keys import hash_of, new_key

    key = new_key()
    machine.settings |= {"operate_keys": hash_of(key)}
    machine.settings |= {"api_keys": {"acme": hash_of(key)}, "tenants": {"acme": {"questions_per_minute": 5}}}
    no_folder(machine.data / "tenants")
    with serving(machine.cache, **machine.settings) as server:
        with httpx.Client(base_url=server.http.base_url, headers={"X-API-Key": key, **CLOSED}, timeout=30) as http:
            answers = ask(http, "agent")
            assert answers[0].json()["code"] == "threads_unavailable"
            for each in looked_at(http, answers):
                assert leaks(each.text, machine) == [], each.request.url


# The model, and defects


def test_an_embedded_model_that_is_not_there(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasphinx.agent.embedded.server._servers", {})
    base = replace(TIERS["base"], adapter=machine.cache / "models/adapter.gguf")
    monkeypatch.setitem(TIERS, "base", base)
    monkeypatch.setattr(
        "datasphinx.agent.embedded.server.embedded_weights", lambda *_, **__: machine.cache / "models/weights.gguf"
    )
    settings = load_settings(cache_dir=machine.cache, **machine.settings)
    with running(create_app(Services(settings, any_source=False))) as base:
        with httpx.Client(base_url=base, timeout=60) as http:
            check(machine, http, ask(http, "agent"), "embedded_model_unavailable")


@pytest.fixture
def broken(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server whose sources and registry fail with an error that nobody expects, which names a path."""

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"cannot use {machine.data}/x y.bin and '{machine.cache}/models'")

    monkeypatch.setattr(Services, "source", fail)
    monkeypatch.setattr("datasphinx.agent.datasets.registry.Registry.datasets", fail)
    monkeypatch.setattr("datasphinx.agent.datasets.registry.Registry.add_stream", fail)
    with serving(machine.cache, **machine.settings) as server:
        yield server


def test_the_url_of_the_source_is_not_shown(machine: Machine) -> None:
    machine.settings |= {"source": "postgresql://me:swordfish@127.0.0.1:1/x"}
    with serving(machine.cache, **machine.settings) as server:
        for each in looked_at(server.http, ask(server.http, "agent")):
            assert "swordfish" not in each.text, each.request.url


def test_a_defect_is_shown_by_its_type(machine: Machine, broken: Served, caplog: pytest.LogCaptureFixture) -> None:
    answers = ask(broken.http, "agent")
    output = answers[0].json()["output"]
    assert output["error"]["code"] == "internal_error" and "RuntimeError" in output["error"]["message"]
    answers += [broken.http.get("/datasets"), broken.http.post("/files", files={"file": ("a.csv", b"a\n1\n")})]
    for each in answers:
        assert leaks(each.text, machine) == [], each.request.url
    assert str(machine.data) in caplog.text


# Every class of error


def every_error() -> Iterator[type[DatasphinxError]]:
    pending = [DatasphinxError]
    while pending:
        for each in pending.pop().__subclasses__():
            pending.append(each)
            # The problems of a specification are not texts, and know of no file.
            has_texts = not any("SpecProblem" in str(form) for form in each.__annotations__.values())
            if hasattr(each, "code") and each.__module__.startswith("datasphinx.agent.") and has_texts:
                yield each


@pytest.fixture
def on_a_shop(machine: Machine) -> Settings:
    return load_settings(**machine.settings, cache_dir=machine.cache, source=machine.base("a shop.sqlite"))


@pytest.mark.parametrize("kind", sorted(set(every_error()), key=lambda each: each.__name__))
def test_no_error_shows_a_path(machine: Machine, on_a_shop: Settings, kind: type[DatasphinxError]) -> None:
    facts: dict[str, Any] = {}
    paths = [
        f"{machine.data}/files/f 1.bin",
        f"cannot open '{machine.bases}/a shop.sqlite': no such file",
        f"sqlite:///{machine.bases}/a shop.sqlite",
        "IO Error: Cannot open /srv/elsewhere/deep/orders.parquet (2)",
        'could not open "/mnt/some place/x.db"',
    ]
    for path in paths:
        for name, form in kind.__annotations__.items():
            form = str(form)
            is_number = form in ("<class 'int'>", "<class 'float'>")
            facts[name] = 3 if is_number else (path,) if form.startswith("tuple") else path
        failure = client_failure(kind(**facts), on_a_shop)
        shown = json.dumps([error_info(failure, language) for language in LANGUAGES], ensure_ascii=False)
        assert leaks(shown, machine) == [] and "/srv/" not in shown and "/mnt/" not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("IO Error: Cannot open /srv/data/x.parquet: no such file", "IO Error: Cannot open x.parquet: no such file"),
        ('no file "/srv/my data/x.db"', 'no file "x.db"'),
        ("无法读取/srv/data/x.db。", "无法读取x.db。"),
        ("sqlite:////srv/data/x.db?mode=ro", "sqlite:///x.db?mode=ro"),
        ("duckdb:///data/x.duckdb", "duckdb:///x.duckdb"),
        ("file:///srv/data/x.csv is missing", "file:///x.csv is missing"),
        ("path=/srv/data/x.db;", "path=x.db;"),
        ("(/srv/data/x.db)", "(x.db)"),
        ("~/data/x.db", "x.db"),
        ("https://api.example/v1/models does not answer", "https://api.example/v1/models does not answer"),
        ("postgresql://me@db.example/shop", "postgresql://me@db.example/shop"),
        ("km/h and a / b and 1/2", "km/h and a / b and 1/2"),
        ('near "/": syntax error', 'near "/": syntax error'),
        ("text/csv", "text/csv"),
    ],
)
def test_a_path_is_cut_to_its_last_part(text: str, shown: str) -> None:
    assert without_paths(text) == shown
    assert url(Path("/a/b")) and without_paths(shown) == shown
