"""Texts of the data, of files and of the model stay texts, wherever the page shows them."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from agent.catalog.describe import one_line
from tests.agent.page.conftest import Site
from tests.agent.page.said import ASKS, Model
from tests.agent.serving import LANGSERVE_WARNING
from tests.databases import make_table, url

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings(LANGSERVE_WARNING)]

ATTACKS = [
    "<img src=x onerror=\"window.hit=1\">",
    "<script>window.hit=1</script>",
    "\"><svg onload=window.hit=1>",
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "javascript:window.hit=1",
    "{{constructor.constructor('window.hit=1')()}}",
    "<b>bold</b>&amp;<style>body{display:none}</style>",
    "\u202eltr\u202c \u2066x",
]  # fmt: skip
FORMULA = '=HYPERLINK("http://evil.example";"x")'
"""What a spreadsheet would run."""
HEADER = "<img src=x onerror=window.hit=1>"

Visit = Callable[..., Site]


@pytest.fixture
def evil(tmp_path: Path) -> str:
    """A database whose cells are attacks, and the name of their column; gives its URL."""
    rows = [(each, at + 1) for at, each in enumerate([*ATTACKS, FORMULA])]
    return url(make_table(tmp_path, f'"{HEADER}" TEXT, amount INTEGER', rows, table="notes"))


def unharmed(page: Page) -> None:
    """Nothing of an attack has become an element or has run."""
    assert page.evaluate("window.hit") is None
    made = page.locator("#turns, #composer").locator("img, script, iframe, svg, style, b, a")
    expect(made).to_have_count(0)


def test_cells_and_headers(visit: Visit, evil: str) -> None:
    sql = f'SELECT "{HEADER}", amount FROM notes ORDER BY amount'
    site = visit(Model(sql), source=evil, permissions=["clipboard-read", "clipboard-write"])
    site.ask("List all notes with their amounts as a bar chart")
    expect(site.page.locator(".chart canvas")).to_be_visible()
    site.picture("injection")

    assert site.page.locator("tbody td:first-child").all_text_contents() == [*ATTACKS, FORMULA]
    assert site.page.locator("th bdi").all_text_contents() == [HEADER, "amount"]
    box = site.page.locator(".chart canvas").bounding_box()
    assert box
    site.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    site.page.locator(".explain summary").click()
    unharmed(site.page)

    with site.page.expect_download() as download:
        site.page.get_by_role("button", name="Save as CSV").click()
    saved = list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig"), newline="")))
    assert saved[-1] == [f"'{FORMULA}", "9"]
    assert [row[0] for row in saved[1:-1]] == ATTACKS


def test_a_question_back(visit: Visit) -> None:
    attack = " ".join(ATTACKS)
    options = [{**option, "label": f"{at} {attack}", "reading": attack} for at, option in enumerate(ASKS["options"])]
    asks = {**ASKS, "question": f"Which? {attack}", "options": options}
    site = visit(Model(reviews=(asks,)), clarify="always")
    site.ask(f"Which customers are the best? {attack}")
    expect(site.page.locator(".option")).to_have_count(2)

    # What no reader would see is taken out before; all the rest comes as it is.
    assert site.page.locator(".option .reading").first.text_content() == one_line(attack, len(attack))
    assert attack in (site.page.locator(".said").text_content() or "")
    unharmed(site.page)


@pytest.mark.parametrize(
    "sink",
    [
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
        "document.createElement('script').src = 'x.js'",
        "document.createElement('script').text = 'window.hit = 1'",
    ],
)
def test_the_browser_itself_refuses_markup_and_code(visit: Visit, sink: str) -> None:
    site = visit()
    tried = f"() => {{ try {{ {sink}; return 'done'; }} catch {{ return 'refused'; }} }}"
    assert site.page.evaluate(tried) == "refused"
    assert site.wrong
    site.wrong.clear()


def test_the_name_of_a_file(visit: Visit) -> None:
    name = "<img src=x onerror=window.hit=1>.csv"
    site = visit()
    site.page.locator("#file").set_input_files({"name": name, "mimeType": "text/csv", "buffer": b"a,b\n1,2\n3,4\n"})
    expect(site.page.locator(".chip bdi")).to_have_text(name)
    unharmed(site.page)
