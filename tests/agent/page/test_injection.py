"""Texts of the data, of files and of the model stay texts, wherever the page shows them."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from datasphinx.agent.schema.describe import one_line
from tests.agent.page.actions import ATTACKS, unharmed
from tests.agent.page.conftest import Visit, pick
from tests.agent.page.said import ASKS, Model
from tests.support.databases import make_table, url

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

FORMULA = '=HYPERLINK("http://evil.example";"x")'
"""What a spreadsheet would run."""
HEADER = "<img src=x onerror=window.hit=1>"


@pytest.fixture
def evil(tmp_path: Path) -> str:
    """A database whose cells are attacks, and the name of their column; gives its URL."""
    rows = [(each, at + 1) for at, each in enumerate([*ATTACKS, FORMULA])]
    return url(make_table(tmp_path, f'"{HEADER}" TEXT, amount INTEGER', rows, table="notes"))


def test_cells_and_headers(visit: Visit, evil: str) -> None:
    sql = f'SELECT "{HEADER}", amount FROM notes ORDER BY amount'
    site = visit(Model(sql, output_type="plot"), source=evil, permissions=["clipboard-read", "clipboard-write"])
    site.ask("List all notes with their amounts as a bar chart")
    expect(site.page.locator(".chart canvas")).to_be_visible()

    assert site.page.locator("tbody td:first-child").all_text_contents() == [*ATTACKS, FORMULA]
    assert site.page.locator("th .sort").all_text_contents() == [HEADER, "amount"]
    box = site.page.locator(".chart canvas").bounding_box()
    assert box
    site.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    site.page.locator(".explain summary").click()
    unharmed(site.page)

    with site.page.expect_download() as download:
        pick(site.page, "Save as CSV")
    saved = list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8-sig"), newline="")))
    assert saved[-1] == [f"'{FORMULA}", "9"]
    assert [row[0] for row in saved[1:-1]] == ATTACKS


FORMULAS = [
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "\n=1+1", "\t=1+1", "\r=1+1", "\r\n=1+1", " =1+1", "\u00a0=1+1", "\u3000=1+1",
    "\u200b=1+1", "\ufeff=1+1", "\x0b=1+1", "\x1f=1+1", "\u2028=1+1", "\n\t \n@A1", "＝1+1", "＋1+1", "－1+1", "＠A1",
    "\n＝1", "﹦1+1", "\u2212cmd|'/C calc'!A0", "-5+cmd|'/C calc'!A0", "=cmd|'/C calc'!A0", "|calc", "%calc",
    '"=1+1"', ' "=1+1',
    "\ntext", "-", "--1", "-5e", "+-5", "-5\n=1+1",
]  # fmt: skip
"""Texts that a spreadsheet would evaluate, or may."""
NO_FORMULAS = [
    "-5", "-12.50", "+3", "-1,234.5", "-1e-9", "-.5", "−7", "-5 %", "a=b", "x - y", "e-mail@example.org", "12|13",
    "'=1", "", "text\n- item", "a;b",
]  # fmt: skip
INNER = {"a;=1+1": "a;'=1+1", "a\n=1+1": "a\n'=1+1", "a\t @A1": "a\t '@A1", "a;\"-1+cmd|'/C'!A0": "a;\"'-1+cmd|'/C'!A0"}
"""Texts of which a part becomes a cell where semicolons or tabs separate cells, and what is saved of them."""


def test_no_saved_or_copied_cell_is_a_formula(visit: Visit, tmp_path: Path) -> None:
    cells = [*FORMULAS, *NO_FORMULAS, *INNER]
    rows = [(cell, -at) for at, cell in enumerate(cells)]
    notes = url(make_table(tmp_path, "note TEXT, amount INTEGER", rows, table="notes"))
    site = visit(
        Model('SELECT note AS "=note", amount FROM notes ORDER BY amount DESC', reviews=()),
        source=notes,
        permissions=["clipboard-read", "clipboard-write"],
    )
    site.ask("List all notes with their amounts")
    with site.page.expect_download() as download:
        pick(site.page, "Save as CSV")
    saved = list(csv.reader(io.StringIO(Path(download.value.path()).read_bytes().decode("utf-8-sig"), newline="")))
    assert saved[0] == ["'=note", "amount"]
    assert [row[0] for row in saved[1:]] == [
        *(f"'{cell}" for cell in FORMULAS[:-1]),
        "'-5\n'=1+1",
        *NO_FORMULAS,
        *INNER.values(),
    ]
    assert [row[1] for row in saved[1:]] == [str(-at) for at in range(len(cells))]

    pick(site.page, "Copy")
    copied = site.page.evaluate("navigator.clipboard.readText()").split("\n")
    assert [line.split("\t")[0] for line in copied[1:]] == [re.sub(r"[\t\r\n]+", " ", row[0]) for row in saved[1:]]


def test_a_question_back(visit: Visit) -> None:
    attack = " ".join(ATTACKS)
    # A text of a model with braces, which would be references, is replaced before.
    told = " ".join(each for each in ATTACKS if "{" not in each)
    options = [
        {**option, "label": f"{name} {told}", "reading": told}
        for name, option in zip(("One", "Other"), ASKS["alternatives"], strict=True)
    ]
    asks = {**ASKS, "question": f"Which? {told}", "alternatives": options}
    site = visit(Model(reviews=(asks,)), clarify="always")
    site.ask(f"Which customers are the best? {attack}")
    expect(site.page.locator(".option")).to_have_count(2)

    # What no reader would see is taken out before; all the rest comes as it is.
    assert site.page.locator(".option .reading").first.text_content() == one_line(told, len(told))
    expect(site.page.locator(".option .label").first).to_contain_text(f"One {told}"[:100])
    expect(site.page.locator(".asked-back h3")).to_have_text(one_line(f"Which? {told}", 2000))
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
    expect(site.page.locator(".chip .name")).to_have_text(name)
    unharmed(site.page)
