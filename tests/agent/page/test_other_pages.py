"""Swagger UI at /docs, by what a browser renders."""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, Request, Response, expect

from tests.agent.page.conftest import Site, Visit
from tests.agent.page.said import Model

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.browser,
]

COUNT = "SELECT COUNT(*) AS customers FROM customers"
STRICT = {"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'", "connect-src 'self'"}


@pytest.fixture
def site(visit: Visit) -> Iterator[Site]:
    """A server whose model counts customers; every request of the page succeeds, and goes to the server itself."""
    site = visit(Model(COUNT, reviews=()), clarify="never")
    # The requests of the application's page are not looked at.
    site.page.goto("about:blank")
    failed: list[str] = []
    elsewhere: list[str] = []

    def requested(request: Request) -> None:
        if not request.url.startswith((site.base, "data:", "blob:")):
            elsewhere.append(request.url)

    def broken(request: Request) -> None:
        failed.append(f"{request.failure} {request.url}")

    def answered(response: Response) -> None:
        if response.status >= 400:
            failed.append(f"{response.status} {response.url}")

    site.page.on("request", requested)
    site.page.on("requestfailed", broken)
    site.page.on("response", answered)
    yield site
    assert (elsewhere, failed, site.wrong) == ([], [], [])


def policy(site: Site, path: str) -> str:
    answer = httpx.get(site.base + path, follow_redirects=True)
    assert answer.status_code == 200
    return answer.headers["content-security-policy"]


def headings(page: Page) -> set[str]:
    return {text.lower() for text in page.locator(".opblock-tag").evaluate_all("all => all.map(e => e.dataset.tag)")}


def test_swagger_ui_lists_every_operation(site: Site) -> None:
    site.page.goto(f"{site.base}/docs")
    expect(site.page.locator(".opblock").first).to_be_visible()
    paths = httpx.get(f"{site.base}/openapi.json").json()["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    shown = site.page.locator(".opblock").evaluate_all(
        "all => all.map(each => [each.querySelector('.opblock-summary-method').textContent,"
        " each.querySelector('.opblock-summary-path').dataset.path])"
    )
    assert {(method, path) for method, path in shown} == described and len(described) > 20
    assert {"agent", "analyst", "threads", "server"} <= headings(site.page)


def test_swagger_ui_sends_a_request(site: Site) -> None:
    site.page.goto(f"{site.base}/docs")
    operation = site.page.locator(".opblock", has=site.page.locator('[data-path="/healthz"]'))
    operation.locator(".opblock-summary").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table tbody .response-col_status")).to_contain_text("200")
    expect(operation.locator(".live-responses-table .highlight-code")).to_contain_text('"status": "ok"')


def test_swagger_ui_is_under_a_strict_policy(site: Site) -> None:
    given = policy(site, "/docs")
    assert set(given.split("; ")) >= {*STRICT, "script-src 'self'"}
    assert "unsafe-eval" not in given and "http" not in given
    assert httpx.get(f"{site.base}/redoc").status_code == 404


def test_no_page_may_evaluate_scripts(site: Site) -> None:
    for path in ("/", "/docs", "/static/js/main.js", "/agent/input_schema", "/sources", "/openapi.json", "/healthz"):
        assert "unsafe-eval" not in policy(site, path), path
