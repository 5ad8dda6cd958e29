"""Every error is a problem (RFC 9457) with a stable code, and every answer has the headers that close a browser."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.server.leaving import Held
from tests.agent.server.serving import ASKED, COUNT, Served, serving

SETTINGS = {"max_request_bytes": 2000, "max_upload_bytes": 3000}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/agent/invoke", 405, "method_not_allowed"),
        ("POST", "/agent/invoke", 422, "input_invalid"),
        ("POST", "/sources", 405, "method_not_allowed"),
    ],
)
def test_an_error_is_a_problem(served: Served, method: str, path: str, status: int, code: str) -> None:
    response = served.http.request(method, path)
    problem = response.json()
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    assert (problem["type"], problem["code"], problem["status"]) == (f"urn:datasphinx:{code}", code, status)
    assert problem["title"] and problem["detail"] and problem["instance"] == path


@pytest.mark.parametrize(("wanted", "word"), [("ru-RU,en;q=0.5", "Входное"), ("zh-CN", "输入"), ("fr", "The input")])
def test_a_problem_speaks_the_language_that_is_wanted(served: Served, wanted: str, word: str) -> None:
    response = served.http.post("/agent/invoke", headers={"Accept-Language": wanted})
    assert response.json()["detail"].startswith(word)


@pytest.mark.parametrize("path", ["/", "/docs", "/healthz"])
def test_no_other_site_may_show_a_page_in_a_frame(served: Served, path: str) -> None:
    headers = served.http.get(path).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"] and headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/agent/invoke", "/openapi.json"])
def test_every_answer_has_the_headers(served: Served, path: str) -> None:
    headers = served.http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert "unsafe" not in headers["content-security-policy"]


# Other sites


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Host": "elsewhere.example"},
        {"Host": "elsewhere.example:8000", "Origin": "http://elsewhere.example:8000"},
        {"Origin": "http://127.0.0.1:1"},
        {"Host": "[::1"},
    ],
)
def test_a_page_of_another_site_gets_nothing(served: Served, headers: dict[str, str]) -> None:
    response = served.http.post("/agent/invoke", json={"input": ASKED}, headers=headers)
    assert (response.status_code, response.json()["code"]) == (403, "origin_refused")
    assert not served.model.calls
    assert not [name for name in response.headers if name.startswith("access-control")]


def test_a_page_of_this_server_is_answered(served: Served) -> None:
    assert served.http.post("/agent/invoke", json={"input": ASKED}, headers={"Origin": served.url}).is_success


# Bounds


def test_a_large_request_is_refused_before_it_is_read(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.http.base_url.port or 0), timeout=10) as connection:
        connection.sendall(b"POST /agent/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2001\r\n\r\n")
        answer = connection.recv(4096)
    assert b" 413 " in answer.splitlines()[0] and b"request_too_large" in answer


@pytest.mark.parametrize("path", ["/agent/invoke", "/agent/batch", "/analyst/stream"])
def test_a_large_request_of_unknown_length_is_refused(served: Served, path: str) -> None:
    def chunks() -> Iterator[bytes]:
        yield from [b" " * 100] * 21

    response = served.http.post(path, content=chunks(), headers={"Content-Type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (413, "request_too_large")
    assert "2000" in response.json()["detail"] and "DATASPHINX_MAX_REQUEST_BYTES" in response.json()["detail"]


def test_a_request_that_takes_too_long_is_stopped(cache_dir: Path) -> None:
    held = Held(lambda _: COUNT)
    with serving(cache_dir, {"GeneratedSQL": [held]}, max_question_s=0.2) as server:
        response = server.post("/agent/invoke", input=ASKED)
        held.left.set()
    assert (response.status_code, response.json()["code"]) == (504, "request_timeout")


# Sources


def test_without_sources_there_is_the_sample_shop(served: Served) -> None:
    assert served.http.get("/sources").json() == {
        "sources": [{"name": "sample", "dialect": "sqlite", "description": ""}],
        "is_sample": True,
        "model": None,
        "may_review": False,
        "may_run_sql": True,
        "may_propose": False,
        "may_edit_sources": True,
        "is_operator": True,
    }
