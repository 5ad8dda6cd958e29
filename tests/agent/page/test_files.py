"""The files of the page: none makes markup of text, all are shipped, and the browser is told what it may do."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings
from tests.agent.server.serving import running
from tests.support.generated_docs import ROOT

WEB = ROOT / "agent/web"
OWN = sorted(path for path in WEB.rglob("*") if path.suffix in {".js", ".html", ".css"} and "vendor" not in path.parts)
ECHARTS = WEB / "vendor/echarts/echarts.esm.min.mjs"
CODEMIRROR = WEB / "vendor/codemirror/codemirror.esm.min.mjs"
MAKES_MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|createContextualFragment|DOMParser|srcdoc|"
    r"\beval\b|new Function|javascript:|import\(\s*[^\"]",
    re.IGNORECASE,
)
INLINE = re.compile(r"<style|<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=", re.IGNORECASE)
ELSEWHERE = re.compile(r"(?:src|href|from|import|url)\s*[=(]?\s*[\"'(](?:https?:)?//", re.IGNORECASE)

every_file = pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)


@every_file
def test_no_file_makes_markup_of_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert MAKES_MARKUP.findall(text) == []
    assert ELSEWHERE.findall(text) == []
    assert path.suffix != ".html" or INLINE.findall(text) == []


@pytest.mark.parametrize(
    "text", ["box.innerHTML = name", "el.insertAdjacentHTML('x', y)", "import(name)", "new Function(x)", "eval(x)"]
)
def test_the_rule_sees_what_makes_markup(text: str) -> None:
    assert MAKES_MARKUP.search(text)


def test_codemirror_is_what_its_readme_builds() -> None:
    digest = hashlib.sha256(CODEMIRROR.read_bytes()).hexdigest()

    assert digest == "4ab97e6c8e69ed88a2ae54c4a56ce2d383b85101ec701950269b858f35ed3b10"
    assert {"LICENSE", "README.md", "entry.mjs"} <= {path.name for path in CODEMIRROR.parent.iterdir()}


def test_echarts_is_what_its_package_has() -> None:
    digest = hashlib.sha256(ECHARTS.read_bytes()).hexdigest()

    assert digest == "28515f26aa57f87eb1e4ed4eb446927eaf329b5f5e02b4bfd4b0264fea40d1da"
    assert {"LICENSE", "NOTICE"} <= {path.name for path in ECHARTS.parent.iterdir()}


@pytest.mark.parametrize("name", ["light", "dark"])
def test_a_picture_in_the_docs_is_small(name: str) -> None:
    assert (ROOT / f"docs/pictures/page-{name}.png").stat().st_size < 150_000


@pytest.fixture
def http(settings: Settings) -> Iterator[httpx.Client]:
    with running(create_app(Services(settings, any_source=False))) as base, httpx.Client(base_url=base) as client:
        yield client


def test_the_page_comes_with_a_policy_that_allows_its_own_files_alone(http: httpx.Client) -> None:
    page = http.get("/")
    policy = dict(part.split(" ", 1) for part in page.headers["Content-Security-Policy"].split("; "))

    assert page.headers["Content-Type"].startswith("text/html")
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in page.headers["Content-Security-Policy"]


def test_what_the_page_loads_is_there_as_what_it_is(http: httpx.Client) -> None:
    found = re.findall(r"(?:src|href)=\"(static/[^\"]+)\"", http.get("/").text)
    kinds = {path: http.get(f"/{path}").headers["Content-Type"].split(";")[0] for path in found}

    named = {path.split("/", 2)[2]: kind for path, kind in kinds.items()}
    assert named["js/all.js"] == "text/javascript"
    assert named["all.css"] == "text/css"
    assert named["icon.svg"] == "image/svg+xml"
    assert named["vendor/inter/inter-latin.woff2"] == "font/woff2"
    assert http.get("/static/vendor/echarts/echarts.esm.min.mjs").headers["Content-Type"].startswith("text/javascript")


def test_a_file_that_has_not_changed_is_not_sent_again(http: httpx.Client) -> None:
    first = http.get("/static/page.css")
    again = http.get("/static/page.css", headers={"If-None-Match": first.headers["ETag"]})

    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_files_of_the_current_version_are_kept_and_others_are_looked_at_again(http: httpx.Client) -> None:
    (current,) = set(re.findall(r"static/(v-\w+)/", http.get("/").text))

    assert http.get("/").headers["Cache-Control"] == "no-cache"
    for path in ("page.css", "js/main.js", "vendor/inter/inter-latin.woff2"):
        kept = http.get(f"/static/{current}/{path}")
        assert kept.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        for other in (f"/static/v-0/{path}", f"/static/{path}"):
            assert http.get(other).headers["Cache-Control"] == "no-cache"
            assert http.get(other).content == kept.content
    for path in ("all.css", "js/all.js"):
        assert "immutable" in http.get(f"/static/{current}/{path}").headers["Cache-Control"]
    assert http.get(f"/static/{current}/nothing.js").headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/static/swagger/swagger-ui.css"])
def test_texts_are_compressed(http: httpx.Client, path: str) -> None:
    plain = http.get(path, headers={"Accept-Encoding": "identity"})
    answers = [http.get(path, headers={"Accept-Encoding": "gzip"}) for _ in range(2)]

    assert {answer.headers.get("Content-Encoding") for answer in answers} == {"gzip"}
    assert plain.content == answers[0].content == answers[1].content and "Content-Encoding" not in plain.headers


def test_the_style_sheet_names_the_letters_of_each_file_of_the_font() -> None:
    style, readme = ((WEB / path).read_text(encoding="utf-8") for path in ("page.css", "vendor/inter/README.md"))
    faces = re.findall(r"src: url\(\"vendor/inter/inter-([a-z-]+)\.woff2\"\).*unicode-range: ([^;]+);", style)

    assert dict(re.findall(r"^part ([a-z-]+) (\S+)$", readme, re.MULTILINE)) == {
        name: ranges.replace(", ", ",") for name, ranges in faces
    }
    assert {path.name for path in (WEB / "vendor/inter").iterdir()} == {
        "README.md",
        "LICENSE",
        *(f"inter-{name}.woff2" for name, _ in faces),
    }
    assert sum(path.stat().st_size for path in (WEB / "vendor/inter").iterdir()) < 250_000


@pytest.mark.parametrize("path", ["../server.py", "%2e%2e/server.py", "..%2fserver.py", "js", "nothing.js"])
def test_nothing_else_of_the_package_is_served(http: httpx.Client, path: str) -> None:
    assert http.get(f"/static/{path}").status_code == 404
