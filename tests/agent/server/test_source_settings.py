"""Sources that operators test, add and remove over HTTP: effect, roles, secrets, and hostile requests."""

import json
import logging
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest

from datasphinx.agent.engines.privileges import Grants
from datasphinx.agent.server.keys import hash_of, new_key
from datasphinx.agent.server.routes import source_settings
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sources.account_check import SourceCheck
from tests.agent.server.serving import Served, serving
from tests.support.databases import make_database

OPERATOR, USER, OTHER = new_key(), new_key(), new_key()
BOOKS = {"name": "books", "url": "sqlite:///books.sqlite"}
ROUTES = [
    ("GET", "/operate/sources", None),
    ("POST", "/operate/sources/test", BOOKS),
    ("POST", "/operate/sources", BOOKS),
    ("POST", "/operate/sources/shop/test", None),
    ("DELETE", "/operate/sources/shop", None),
]
COUNT = {"sql": "SELECT COUNT(*) AS n FROM books", "assumptions": [], "off_topic": False}


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A database in the working directory."""
    rows = "INSERT INTO books VALUES ('Emma'), ('Ada')"
    return make_database(tmp_path, "CREATE TABLE books (title TEXT)", rows, name="books.sqlite")


@pytest.fixture
def server(cache_dir: Path, tmp_path: Path, books: Path) -> Iterator[Served]:
    """A server without keys and sources, on the working directory of the test."""
    with serving(cache_dir, {"GeneratedSQL": [COUNT]}, data_dir=tmp_path / "data") as served:
        yield served


def names(server: Served, path: str = "/sources", key: str = "") -> list[str]:
    return [each["name"] for each in send(server, "GET", path, key=key).json()["sources"]]


def send(server: Served, method: str, path: str, body: Any = None, key: str = "") -> httpx.Response:
    headers = {"X-API-Key": key} if key else {}
    return server.http.request(method, path, headers=headers, **({} if body is None else {"json": body}))


def test_a_source_is_tested_added_asked_and_removed(server: Served, tmp_path: Path, books: Path) -> None:
    new = {"name": "books", "engine": "sqlite", "file": "books.sqlite", "description": "Our <b>books</b>"}
    tested = send(server, "POST", "/operate/sources/test", new).json()
    assert (tested["dialect"], tested["tables"], tested["can_write"]) == ("sqlite", 1, False)
    assert tested["seconds"] > 0 and not (tmp_path / "datasphinx.toml").exists()
    assert names(server) == ["sample"]

    added = send(server, "POST", "/operate/sources", new)
    shown = {"name": "books", "engine": "sqlite", "description": "Our <b>books</b>", "url": f"sqlite:///{books}"}
    assert (added.status_code, added.json()) == (201, {**shown, "may_remove": True})
    assert send(server, "GET", "/operate/sources").json() == {
        "sources": [{**shown, "may_remove": True}],
        "may_edit": True,
    }
    assert names(server) == ["books"]
    assert server.invoke(question="How many books are there?", source="books")["value"] == 2
    state = send(server, "POST", "/operate/sources/books/test").json()
    assert (state["ok"], state["tables"], state["error"]) == (True, 1, None)
    assert load_settings().sources["books"].description == "Our <b>books</b>"

    assert send(server, "DELETE", "/operate/sources/books").status_code == 204
    assert names(server) == ["sample"] and load_settings().sources == {}
    assert server.post("/agent/invoke", input={"question": "How many?", "source": "books"}).status_code == 422


def test_a_defect_in_the_test_of_a_source_is_only_logged(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    send(server, "POST", "/operate/sources", {"name": "books", "engine": "sqlite", "file": "books.sqlite"})

    def fail(*_: Any) -> None:
        raise ValueError("hunter2")

    monkeypatch.setattr(source_settings, "query_source", fail)
    response = send(server, "POST", "/operate/sources/books/test")
    assert (response.status_code, response.json()["code"]) == (500, "internal_error")
    assert "hunter2" not in response.text


def test_the_only_users_of_the_machine_see_which_file_is_missing(cache_dir: Path, tmp_path: Path) -> None:
    wrong = f"sqlite:///{tmp_path}/deep/nonexistent.sqlite"
    for settings, is_shown in (({}, True), ({"edit_sources": False}, False)):
        with serving(cache_dir, data_dir=tmp_path / "data", source=wrong, **settings) as server:
            error = server.invoke(question="How many books are there?")["error"]
            assert (error["code"], wrong in error["message"]) == ("source_not_found", is_shown)
            if is_shown:
                assert wrong in server.http.post("/sql", json={"sql": "SELECT 1"}).json()["detail"]


def test_a_database_is_uploaded_and_becomes_a_source(server: Served, tmp_path: Path, books: Path) -> None:
    def upload(name: str, content: bytes) -> httpx.Response:
        return server.http.post("/operate/sources/files", files={"file": (name, content)})

    added = upload("../Our <books>.sqlite", books.read_bytes())
    assert (added.status_code, added.json()["name"], added.json()["engine"]) == (201, "Our _books_", "sqlite")
    assert server.invoke(question="How many books are there?", source="Our _books_")["value"] == 2
    assert upload("Our <books>.sqlite", books.read_bytes()).json()["code"] == "source_name_taken"

    wrong = upload("notes.sqlite", b"title\nEmma\n")
    assert (wrong.status_code, wrong.json()["code"]) == (422, "input_invalid")
    broken = upload("broken.sqlite", books.read_bytes()[:100] + b"x" * 4000)
    assert broken.status_code >= 400 and "broken.sqlite" in broken.text
    assert [each.name for each in (tmp_path / "data/databases").iterdir()] == ["Our _books_.sqlite"]
    assert names(server) == ["Our _books_"]


def test_a_database_that_is_uploaded_twice_at_once_is_one_source(
    server: Served, tmp_path: Path, books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, check = Barrier(2, timeout=20), source_settings.check_source

    def check_together(*given: Any) -> SourceCheck:
        both.wait()
        return check(*given)

    def upload(_: int) -> int:
        return server.http.post("/operate/sources/files", files={"file": ("it.sqlite", books.read_bytes())}).status_code

    monkeypatch.setattr(source_settings, "check_source", check_together)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(upload, range(2))) == [201, 409]
    assert [each.name for each in (tmp_path / "data/databases").iterdir()] == ["it.sqlite"]
    assert server.invoke(question="How many books are there?", source="it")["value"] == 2


def test_a_change_of_the_file_reaches_each_process(cache_dir: Path, tmp_path: Path, books: Path) -> None:
    with (
        serving(cache_dir, data_dir=tmp_path / "data") as first,
        serving(cache_dir, data_dir=tmp_path / "data") as second,
    ):
        send(first, "POST", "/operate/sources", BOOKS)
        assert names(first) == names(second) == ["books"]

        config = tmp_path / "datasphinx.toml"
        config.write_text(config.read_text() + "\n[sources.\n")
        assert names(first) == names(second) == ["books"]
        config.write_text(f'[sources]\nnovels = "sqlite:///{books}"\n')
        assert names(first) == names(second) == ["novels"]


def test_a_source_with_another_url_under_the_same_name_is_opened_again(
    server: Served, tmp_path: Path, books: Path
) -> None:
    def tables() -> list[str]:
        return [each["name"] for each in server.http.get("/sources/tables?source=it").json()["tables"]]

    send(server, "POST", "/operate/sources", {"name": "it", "url": "sqlite:///books.sqlite"})
    assert tables() == ["books"]
    make_database(tmp_path, "CREATE TABLE moons (name TEXT)", name="moons.sqlite")
    send(server, "DELETE", "/operate/sources/it")
    send(server, "POST", "/operate/sources", {"name": "it", "url": "sqlite:///moons.sqlite"})
    assert tables() == ["moons"]


def test_sources_of_the_environment_stay(cache_dir: Path, tmp_path: Path, books: Path) -> None:
    shop = f"sqlite:///{books}"
    with serving(cache_dir, sources={"shop": shop}, data_dir=tmp_path / "data") as server:
        assert send(server, "POST", "/operate/sources", {"name": "shop", "url": shop}).json()["code"] == (
            "source_name_taken"
        )
        send(server, "POST", "/operate/sources", {"name": "books", "url": shop})
        rows = send(server, "GET", "/operate/sources").json()["sources"]
        assert {row["name"]: row["may_remove"] for row in rows} == {"books": True, "shop": False}
        problem = send(server, "DELETE", "/operate/sources/shop")
        assert (problem.status_code, problem.json()["code"]) == (409, "source_fixed")
        assert send(server, "DELETE", "/operate/sources/nothing").status_code == 404
        assert sorted(names(server)) == ["books", "shop"]


def test_the_default_source_is_not_removed(cache_dir: Path, tmp_path: Path, books: Path) -> None:
    (tmp_path / "datasphinx.toml").write_text(f'source = "shop"\n[sources]\nshop = "sqlite:///{books}"\n')
    with serving(cache_dir, data_dir=tmp_path / "data") as server:
        assert send(server, "DELETE", "/operate/sources/shop").json()["code"] == "source_fixed"


# Who may


@pytest.fixture
def keyed(cache_dir: Path, tmp_path: Path, books: Path) -> Iterator[Callable[..., Any]]:
    """Starts a server with keys, whose sources operators may edit."""
    (tmp_path / "datasphinx.toml").write_text(f'[sources]\nshop = "sqlite:///{books}"\n')
    settings: dict[str, Any] = {
        "api_keys": {"acme": [hash_of(OPERATOR), hash_of(USER)], "beta": hash_of(OTHER)},
        "operate_keys": [hash_of(OPERATOR), hash_of(OTHER)],
        "data_dir": tmp_path / "data",
    }
    yield lambda **more: serving(cache_dir, {"GeneratedSQL": [COUNT]}, **{**settings, **more})


def test_with_keys_nobody_edits_sources_by_default(keyed: Callable[..., Any], tmp_path: Path) -> None:
    before = (tmp_path / "datasphinx.toml").read_text()
    with keyed() as server:
        assert [send(server, *route, key=OPERATOR).status_code for route in ROUTES] == [404] * len(ROUTES)
        assert send(server, "GET", "/sources", key=OPERATOR).json()["may_edit_sources"] is False
    assert (tmp_path / "datasphinx.toml").read_text() == before


def test_without_keys_a_setting_forbids_it(cache_dir: Path, tmp_path: Path) -> None:
    with serving(cache_dir, edit_sources=False, data_dir=tmp_path / "data") as server:
        assert [send(server, *route).status_code for route in ROUTES] == [404] * len(ROUTES)


def test_only_operators_edit_sources(keyed: Callable[..., Any], tmp_path: Path) -> None:
    before = (tmp_path / "datasphinx.toml").read_text()
    with keyed(edit_sources=True) as server:
        for route in ROUTES:
            refused = send(server, *route, key=USER)
            assert (refused.status_code, refused.json()["code"]) == (403, "role_missing"), route
            assert send(server, *route).status_code == 401
        assert (tmp_path / "datasphinx.toml").read_text() == before
        flags = [send(server, "GET", "/sources", key=key).json()["may_edit_sources"] for key in (OPERATOR, USER)]
        assert flags == [True, False]

        added = send(server, "POST", "/operate/sources", BOOKS, OPERATOR)
        assert (added.status_code, added.json()["url"]) == (201, "sqlite:///books.sqlite")
        # Tenants that were opened before have it too.
        assert [sorted(names(server, key=key)) for key in (OPERATOR, USER, OTHER)] == [["books", "shop"]] * 3
        asked = {"input": {"question": "How many books are there?", "source": "books"}}
        assert send(server, "POST", "/agent/invoke", asked, USER).json()["output"]["value"] == 2


def test_operators_of_a_tenant_with_named_sources_edit_nothing(keyed: Callable[..., Any]) -> None:
    tenants = {"acme": {}, "beta": {"sources": ["shop"]}}
    with keyed(edit_sources=True, tenants=tenants) as server:
        for route in (*ROUTES[1:3], ROUTES[-1]):
            refused = send(server, *route, key=OTHER)
            assert (refused.status_code, refused.json()["code"]) == (403, "sources_not_editable")
        shown = send(server, "GET", "/operate/sources", key=OTHER).json()
        assert (shown["may_edit"], [row["may_remove"] for row in shown["sources"]]) == (False, [False])

        assert send(server, "POST", "/operate/sources", BOOKS, OPERATOR).status_code == 201
        assert names(server, key=OTHER) == names(server, "/operate/sources", OTHER) == ["shop"]
        assert send(server, "POST", "/operate/sources/books/test", key=OTHER).status_code == 404
        # The tenant would be left with a source that does not exist.
        assert send(server, "DELETE", "/operate/sources/shop", key=OPERATOR).json()["code"] == "source_fixed"


def test_requests_of_other_sites_change_nothing(server: Served, tmp_path: Path) -> None:
    body = json.dumps(BOOKS)
    for path in ("/operate/sources", "/operate/sources/test"):
        foreign = server.http.post(path, content=body, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        # A form can send these without asking the server first.
        for kind in ("text/plain", "application/x-www-form-urlencoded", None):
            headers = {"content-type": kind} if kind else {}
            assert server.http.post(path, content=body, headers=headers).status_code == 422, kind
    assert not (tmp_path / "datasphinx.toml").exists()


# Secrets

FAR = {"name": "far", "engine": "postgresql", "host": "127.0.0.1", "port": 1, "user": "ann", "database": "shop"}


def test_no_response_and_no_log_has_the_password(
    server: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bodies = [
        {**FAR, "password": "mellon-xyzzy/@:1"},
        {"name": "far", "url": "postgresql://ann:mellon-xyzzy@127.0.0.1:1/shop"},
        {"name": "far", "url": "postgresql//ann:mellon@xyzzy@host:1:2/shop"},
        {"name": "far", "url": "postgresql://ann:mellon-xyzzy@127.0.0.1:1/shop?sslkey=/etc/mellon-xyzzy"},
        {"name": "mellon-xyzzy" * 20, "url": "postgresql://ann:mellon-xyzzy@127.0.0.1:1/shop"},
        {**FAR, "password": {"mellon-xyzzy": 1}},
    ]
    with caplog.at_level(logging.DEBUG):
        for body in bodies:
            for path in ("/operate/sources/test", "/operate/sources"):
                response = send(server, "POST", path, body)
                assert response.status_code in (422, 503), body
                assert "mellon" not in response.text and "xyzzy" not in response.text, body
    assert "mellon-xyzzy" not in caplog.text
    assert not (tmp_path / "datasphinx.toml").exists()


def test_a_stored_password_is_not_shown_and_the_file_is_private(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether the database answers is tested with real ones; here is none with a password.
    checked = SourceCheck("far", "postgresql://ann:***@127.0.0.1/shop", "postgres", Grants((), ()), "", 3, ())
    monkeypatch.setattr(source_settings, "check_source", lambda *_: checked)

    added = send(server, "POST", "/operate/sources", {**FAR, "password": "mellon-xyzzy/@:1"})
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    rows = send(server, "GET", "/operate/sources")
    state = send(server, "POST", "/operate/sources/far/test")

    assert added.status_code == 201
    assert rows.json()["sources"][0]["url"] == "postgresql://ann:***@127.0.0.1:1/shop"
    assert state.json()["error"]["code"] == "source_unreachable"
    for response in (added, rows, state):
        assert "mellon-xyzzy" not in response.text
    config = tmp_path / "datasphinx.toml"
    assert stat.S_IMODE(config.stat().st_mode) == 0o600 and "mellon-xyzzy%2F%40%3A1" in config.read_text()
    assert load_settings().sources["far"].url.get_secret_value().startswith("postgresql://ann:mellon-xyzzy")


# Hostile requests


REFUSED_URLS = [
    "postgresql:///shop",
    "postgresql://ann@%2Fvar%2Frun/shop",
    "postgresql://ann@db/shop?host=/var/run/postgresql",
    "postgresql://ann@db/shop?options=-csearch_path%3Dx",
    "postgresql://ann@db/shop?passfile=/etc/passwd",
    "postgresql://ann@db/shop?plugin=evil",
    "mysql://ann@db/shop?read_default_file=/etc/passwd",
    "mysql://ann@db/shop?init_command=DROP+TABLE+t",
    "mysql://ann@db/shop?local_infile=1",
    "mssql://ann@db/shop?driver=/tmp/evil.so",
    "mssql://?odbc_connect=DRIVER%3D/tmp/evil.so",
    "snowflake://ann@account/shop?private_key_file=/etc/passwd",
    "bigquery://project/set",
    "bigquery://project/set?credentials_path=/etc/passwd",
    "chdb:////tmp/new",
    "oracle://ann@db/shop",
    "file:///etc/passwd",
    "not a url",
    "sqlite://",
    "sqlite:////etc/passwd",
    "sqlite:///../outside.sqlite",
    "sqlite:///link.sqlite",
    "sqlite:///data/record.sqlite",
    "sqlite:///books.sqlite?mode=rw",
    "sqlite://host/books.sqlite",
    "sqlite:///file:books.sqlite?uri=true",
    "sqlite:///books.sqlite%00",
    "duckdb:////etc/passwd",
    "duckdb:///books.duckdb?allow_unsigned_extensions=true",
    "duckdb:///md:shop",
    "\ud800://x",
]


def test_urls_that_reach_the_server_itself_are_refused(server: Served, tmp_path: Path) -> None:
    make_database(tmp_path.parent, "CREATE TABLE secrets (word TEXT)", name="outside.sqlite")
    (tmp_path / "link.sqlite").symlink_to(tmp_path.parent / "outside.sqlite")
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data/record.sqlite").write_bytes((tmp_path / "link.sqlite").read_bytes())

    for url in REFUSED_URLS:
        for path in ("/operate/sources/test", "/operate/sources"):
            response = server.post(path, name="it", url=url)
            assert response.status_code in (404, 422, 501), (url, response.text)
            assert str(tmp_path.parent) not in response.text

    assert not (tmp_path / "datasphinx.toml").exists()


WRONG_FIELDS: list[dict[str, Any]] = [
    {},
    {"name": "it"},
    {"name": "", "url": "sqlite:///books.sqlite"},
    {"name": "a/b", "url": "sqlite:///books.sqlite"},
    {"name": "x\ny", "url": "sqlite:///books.sqlite"},
    {"name": "x" * 64, "url": "sqlite:///books.sqlite"},
    {"name": "it", "url": "sqlite:///books.sqlite", "engine": "sqlite"},
    {"name": "it", "url": "sqlite:///books.sqlite", "host": "db"},
    {"name": "it", "engine": "sqlite", "host": "db"},
    {"name": "it", "engine": "postgresql", "file": "books.sqlite"},
    {"name": "it", "engine": "postgresql", "host": "db", "port": 0},
    {"name": "it", "engine": "postgresql", "host": "db/../x"},
    {"name": "it", "engine": "oracle", "host": "db"},
    {"name": "it", "url": "sqlite:///books.sqlite", "files": ["*.csv"]},
    {"name": "it", "url": "sqlite:///books.sqlite", "row_rules": {}},
    {"name": "it", "url": "x" * 2001},
    {"name": "it", "url": "sqlite:///books.sqlite", "description": "x" * 501},
]


def test_wrong_fields_are_refused(server: Served, tmp_path: Path) -> None:
    for body in WRONG_FIELDS:
        for path in ("/operate/sources/test", "/operate/sources"):
            response = send(server, "POST", path, body)
            assert (response.status_code, response.json()["code"]) == (422, "input_invalid"), response.text
    assert not (tmp_path / "datasphinx.toml").exists()


def test_text_of_a_request_cannot_write_other_settings(server: Served, tmp_path: Path) -> None:
    description = '"\n[api_keys]\nevil = "sha256:0"\n'
    new = {"name": "sources.x", "url": "sqlite:///books.sqlite", "description": description}

    assert send(server, "POST", "/operate/sources", new).status_code == 201

    settings = load_settings()
    assert settings.api_keys == {} and settings.sources["sources.x"].description == description.strip()


def test_files_of_other_folders_are_refused(server: Served, tmp_path: Path, books: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(elsewhere)
        response = send(server, "POST", "/operate/sources/test", {"name": "a", "url": f"sqlite:///{books}"})
    assert (response.status_code, response.json()["code"]) == (422, "input_invalid")
    assert "working directory" in response.json()["detail"]


def test_a_file_that_cannot_be_written_is_an_error(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("datasphinx.agent.sources.config_file.os.replace", refuse)
    problem = send(server, "POST", "/operate/sources", BOOKS)

    assert (problem.status_code, problem.json()["code"]) == (503, "settings_not_writable")
    assert "Read-only file system" in problem.json()["detail"]
    assert names(server) == ["sample"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".datasphinx")] == []
