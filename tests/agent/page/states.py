"""The states of the page that are checked for accessibility and pictured: each is a function that leads to it."""

import json
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from playwright.sync_api import Page, expect

from tests.agent.datasets.files import FEB, JAN
from tests.agent.datasets.workbooks import book
from tests.agent.page.actions import EXCEL, choose, unfold
from tests.agent.page.said import ASKS, BY_AMOUNT, QUESTION, Model
from tests.agent.page.shapes import SHAPES
from tests.agent.server.asking import events_of
from tests.conftest import VALID

COUNT = "SELECT COUNT(*) AS customers FROM customers"
HOW_MANY = "How many customers are there?"
BEST = "Who are the best customers? Show a bar chart."
SPENT = (
    "SELECT c.name, COUNT(*) AS orders, AVG(o.total_amount) AS mean, ROUND(SUM(o.total_amount), 2) AS spent"
    " FROM orders AS o JOIN customers AS c ON c.customer_id = o.customer_id GROUP BY c.name ORDER BY c.name LIMIT 12"
)
REPEATED = "SELECT SUM(o.total_amount) AS revenue FROM orders AS o JOIN order_items AS i ON i.order_id = o.order_id"
"""Adds the amount of an order for each of its items."""
THOUSAND = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
    " SELECT 'Row number ' || i AS label, i * 1.25 AS amount, i * i AS square FROM n"
)
THREE = {
    **ASKS,
    "alternatives": [
        *ASKS["alternatives"],
        {"label": "those of today", "reading": "those with orders today", "sql": f"{BY_AMOUNT[:-7]}LIMIT 0"},
    ],
}
WORKBOOK = {"name": "sales.xlsx", "mimeType": EXCEL, "buffer": book(Jan=JAN, Feb=FEB, Mar=[["name"], ["Ann"]])}


class StateModel(Model):
    """The model behind all states; a state sets what it says next."""

    def __init__(self) -> None:
        super().__init__(COUNT, reviews=())


class Stage(NamedTuple):
    """A page of the server, and what a state needs to lead there."""

    page: Page
    model: StateModel
    server: str

    def ask(self, question: str, sql: str | None = None) -> None:
        """Send a question, which the model answers with `sql`."""
        self.model.sql = self.model.sql if sql is None else sql
        self.page.get_by_label("Your question").fill(question)
        self.page.keyboard.press("Enter")

    def answered(self, question: str, sql: str) -> None:
        """Send a question and wait for its answer."""
        self.ask(question, sql)
        expect(self.page.locator(".turn").last.locator(".answer")).to_be_visible()

    def press(self, name: str) -> None:
        """Press the last button with this name."""
        self.page.get_by_role("button", name=name, exact=True).last.click()


class State(NamedTuple):
    """`lead` leads to the state and returns what is checked."""

    lead: Callable[[Stage], Page]
    widths: tuple[int, ...] = (1440, 1280, 390)
    locale: str = "en-US"
    has_key: bool = True
    """Whether the browser has the key that the server wants."""
    except_rules: tuple[str, ...] = ()
    """Rules of axe-core that the vendored code in it breaks."""


STATES: dict[str, State] = {}
DRAWN = """async (shapes) => {
  const { chart: { chartView } } = await import(document.querySelector("script[type=module]").src);
  document.body.classList.add("talking");
  document.getElementById("turns").replaceChildren(...shapes.map(([name, option]) => {
    const type = option.series[0].type;
    const view = chartView({ type, option: { ...option, title: { text: name } } });
    view.className = "answer";
    return view;
  }));
}"""


def state(**options: Any) -> Callable[[Callable[[Stage], Any]], Callable[[Stage], Any]]:
    """Add a state that is named as the function, which may return a frame to check instead of the page."""

    def add(lead: Callable[[Stage], Any]) -> Callable[[Stage], Any]:
        STATES[lead.__name__.replace("_", "-")] = State(lambda stage: lead(stage) or stage.page, **options)
        return lead

    return add


@state()
def start(stage: Stage) -> None:
    expect(stage.page.locator("#start-questions button")).to_have_count(6)
    stage.page.locator("#start-tree summary").nth(1).click()


@state(locale="ru-RU")
def start_russian(stage: Stage) -> None:
    expect(stage.page.locator("#start-questions button")).to_have_count(6)


@state(locale="zh-CN")
def start_chinese(stage: Stage) -> None:
    expect(stage.page.locator("#start-questions button")).to_have_count(6)


@state()
def start_without_sources(stage: Stage) -> None:
    page = stage.page
    page.route("**/sources", lambda route: route.fulfill(json={"sources": []}))
    page.route("**/sources/*", lambda route: route.fulfill(json={"questions": [], "tables": [], "table_count": 0}))
    page.reload()
    expect(page.locator("#start-drop")).to_be_visible()


@state()
def start_connect_model(stage: Stage) -> None:
    page = stage.page
    page.route(
        "**/sources", lambda route: route.fulfill(json={**route.fetch().json(), "model": None, "is_operator": True})
    )
    page.reload()
    page.get_by_text("Connect a larger model").click()
    expect(page.get_by_text("DATASPHINX_LLM_BASE_URL")).to_be_visible()


@state(has_key=False)
def key_dialog(stage: Stage) -> None:
    expect(stage.page.locator("#key")).to_be_focused()


@state()
def running(stage: Stage) -> None:
    stage.model.wait = threading.Event()
    stage.model.asked.clear()
    stage.ask(HOW_MANY, COUNT)
    assert stage.model.asked.wait(60)
    expect(stage.page.locator(".progress .step").first).to_be_visible()


@state()
def queued(stage: Stage) -> None:
    running(stage)
    stage.ask("as a table")
    stage.ask("And how many orders were placed in the last quarter of the year before, by region and category?")
    expect(stage.page.locator("#queue li")).to_have_count(2)


@state()
def answer_number(stage: Stage) -> None:
    stage.answered(HOW_MANY, COUNT)
    stage.page.locator(".trust summary").click()


@state()
def answer_text(stage: Stage) -> None:
    stage.answered("What is the name of the largest region?", "SELECT name FROM regions ORDER BY name LIMIT 1")
    stage.press("Not what I meant")
    expect(stage.page.get_by_label("What should be different?")).to_be_focused()


@state()
def answer_table(stage: Stage) -> None:
    stage.answered("List customers with orders and amounts", SPENT)
    stage.page.get_by_role("button", name="cancelled orders count too").click()
    stage.page.get_by_role("columnheader", name="spent").get_by_role("button").click()


@state()
def answer_chart(stage: Stage) -> None:
    page = stage.page
    stage.answered("Which customers spent the most?", BY_AMOUNT)
    expect(page.locator(".chart canvas")).to_be_visible()
    page.get_by_text("Chart settings").click()
    expect(page.get_by_label("Chart type")).to_be_visible()
    page.locator(".explain summary").click()


@state()
def answer_menu(stage: Stage) -> None:
    stage.answered("Which customers spent the most?", BY_AMOUNT)
    expect(stage.page.locator(".chart canvas")).to_be_visible()
    stage.page.locator(".turn .menu summary").click()
    expect(stage.page.get_by_role("button", name="Save as PNG")).to_be_visible()


@state()
def settings_menu(stage: Stage) -> None:
    stage.page.locator("header .menu summary").click()
    expect(stage.page.get_by_label("Theme", exact=True)).to_be_visible()


@state(locale="ru-RU")
def answer_russian(stage: Stage) -> None:
    stage.page.locator("#question").fill("Какие клиенты потратили больше всего?")
    stage.model.sql = BY_AMOUNT
    stage.page.keyboard.press("Enter")
    expect(stage.page.locator(".chart canvas")).to_be_visible()


@state(locale="zh-CN")
def answer_chinese(stage: Stage) -> None:
    stage.page.locator("#question").fill("哪些客户消费最多？")
    stage.model.sql = BY_AMOUNT
    stage.page.keyboard.press("Enter")
    expect(stage.page.locator(".chart canvas")).to_be_visible()


@state()
def report(stage: Stage) -> None:
    stage.press("Report")
    stage.ask("Give me an overview of customers", BY_AMOUNT)
    expect(stage.page.locator(".report .chart canvas")).to_be_visible()


@state()
def report_chosen(stage: Stage) -> None:
    stage.press("Report")
    expect(stage.page.get_by_role("button", name="Report", exact=True)).to_have_attribute("aria-pressed", "true")


@state()
def report_figure(stage: Stage) -> None:
    report(stage)
    stage.page.locator(".told .link").first.click()
    expect(stage.page.locator("#part-dialog .marked")).to_be_visible()


@state()
def table_of_1000_rows(stage: Stage) -> None:
    stage.answered("Count to 1000", THOUSAND)
    stage.press("Show all 1,000 rows")
    expect(stage.page.locator("tbody tr")).to_have_count(1000)


@state()
def unsure(stage: Stage) -> None:
    stage.model.verdict = {**VALID, "is_valid": False, "reason": "Items count.", "corrected_sql": REPEATED}
    stage.answered("What is the revenue?", "SELECT SUM(total_amount) AS revenue FROM orders")


@state()
def clarification(stage: Stage) -> None:
    stage.model.reviews = [THREE]
    stage.ask(QUESTION)
    expect(stage.page.locator(".option")).to_have_count(3)


@state(locale="ru-RU")
def clarification_chosen(stage: Stage) -> None:
    stage.model.reviews = [THREE]
    stage.page.locator("#question").fill(QUESTION)
    stage.page.keyboard.press("Enter")
    stage.page.locator(".option").nth(1).click()
    expect(stage.page.locator(".answer")).to_be_visible()


@state()
def conversation(stage: Stage) -> None:
    stage.answered(BEST, BY_AMOUNT)
    stage.answered("List customers with orders and amounts", SPENT)
    for fold in stage.page.locator(".explain summary").all():
        fold.click()


@state()
def error(stage: Stage) -> None:
    stage.ask("How many ships are there?", "SELECT COUNT(*) FROM no_such_table")
    stage.page.get_by_text("Details", exact=True).click()


@state()
def tables(stage: Stage) -> None:
    stage.answered(HOW_MANY, COUNT)
    unfold(stage.page)
    if stage.page.locator("#show-tables").is_visible():
        stage.press("Tables")
    stage.page.locator("#start-tree summary").nth(4).click()


@state()
def code_explained(stage: Stage) -> None:
    stage.page.locator("#start-tree summary", has_text="orders").last.click()
    stage.page.locator("#start-tree .values .link").first.click()
    expect(stage.page.locator("#start-tree input")).to_be_focused()


@state(widths=(390,))
def tables_sheet(stage: Stage) -> None:
    tables(stage)


@state()
def greeting(stage: Stage) -> None:
    stage.model.fields = {"reply": "Hello! You can ask about orders and customers."}
    stage.answered("hello", "")
    expect(stage.page.locator(".follow-ups button")).to_have_count(3)


@state()
def off_topic(stage: Stage) -> None:
    stage.model.fields = {"off_topic": True, "reason": "The tables have no weather"}
    stage.ask("What is the weather?", "")
    expect(stage.page.locator(".failure")).to_be_visible()


@state(widths=(1440, 1280))
def sidebar_rename(stage: Stage) -> None:
    stage.answered(HOW_MANY, COUNT)
    stage.page.locator("#conversations li").first.hover()
    stage.page.locator("#conversations li").first.get_by_role("button", name="Rename").click()
    expect(stage.page.get_by_label("Title")).to_be_focused()


@state()
def deletion(stage: Stage) -> None:
    stage.answered(HOW_MANY, COUNT)
    stage.page.locator("#conversations li").first.hover()
    delete = stage.page.locator("#conversations li").first.get_by_role("button", name="Delete")
    delete.click()
    expect(delete).to_have_text("Delete?")


@state(widths=(390,))
def drawer(stage: Stage) -> None:
    stage.answered(HOW_MANY, COUNT)
    stage.press("Conversations")
    expect(stage.page.get_by_label("Search conversations")).to_be_focused()


@state()
def editor(stage: Stage) -> None:
    page = stage.page
    stage.answered(HOW_MANY, COUNT)
    stage.page.locator(".explain summary").click()
    stage.press("Edit and run the SQL")
    page.get_by_role("textbox", name="SQL editor").press("Control+a")
    page.keyboard.type("select name, segment from customers order by name limit 3")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".edited .result tbody tr")).to_have_count(3)


# The list is scrolled by the arrow keys, while the editor has the focus.
@state(except_rules=("scrollable-region-focusable",))
def editor_completions(stage: Stage) -> None:
    stage.answered(HOW_MANY, COUNT)
    stage.page.locator(".explain summary").click()
    stage.press("Edit and run the SQL")
    stage.page.get_by_role("textbox", name="SQL editor").press("Control+a")
    stage.page.keyboard.type("SELECT COUNT(*) FROM c")
    expect(stage.page.get_by_role("listbox", name="Completions")).to_be_visible()


@state()
def proposals(stage: Stage) -> None:
    for question in (HOW_MANY, "Number of all customers?"):
        stage.answered(question, COUNT)
        stage.press("Right")
        expect(stage.page.locator(".noted").last).to_contain_text("proposed for review")
        stage.press("New conversation")
    stage.press("Proposals")
    expect(stage.page.locator(".proposal").first).to_be_visible()


def pin(stage: Stage, board: str) -> None:
    page = stage.page
    page.locator(".turn").last.get_by_role("button", name="Pin", exact=True).click()
    dialog = page.get_by_role("dialog", name="Pin the answer to a board")
    expect(dialog.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    choice = dialog.get_by_role("combobox")
    if choice.is_visible():
        titles = choice.locator("option").all_text_contents()
        choice.select_option(label=board if board in titles else titles[-1])
    if (title := dialog.get_by_label("Name of the new board")).is_visible():
        title.fill(board)


@state()
def pin_dialog(stage: Stage) -> None:
    stage.answered(HOW_MANY, COUNT)
    pin(stage, "Customers")


@state()
def boards(stage: Stage) -> None:
    page = stage.page
    questions = {BEST: BY_AMOUNT, "List customers with orders and amounts": SPENT, HOW_MANY: COUNT}
    for question, sql in questions.items():
        stage.answered(question, sql)
        pin(stage, "Figures of the shop")
        page.get_by_role("dialog").get_by_role("button", name="Pin", exact=True).click()
        expect(page.locator(".turn").last.get_by_role("link", name="Open the board")).to_be_visible()
    page.locator(".turn").last.get_by_role("link", name="Open the board").click()
    expect(page.locator("#board .card")).to_have_count(3)
    expect(page.locator("#board .chart canvas")).to_be_visible()


@state()
def board_settings(stage: Stage) -> None:
    page = stage.page
    stage.answered(HOW_MANY, COUNT)
    pin(stage, "Bounds")
    page.get_by_role("dialog").get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("link", name="Open the board").click()
    card = page.locator("#board .card")
    card.hover()
    choose(card, "Settings")
    card.get_by_label("Upper bound").fill("1000")
    card.get_by_role("button", name="Save", exact=True).click()
    expect(card.locator(".mark")).to_be_visible()
    for part in ("Settings", "Where it comes from"):
        choose(card, part)
    page.locator(".board-tools .menu summary").click()
    page.locator("#board").get_by_text("Rename", exact=True).click()


@state()
def charts(stage: Stage) -> None:
    """All shapes of charts, with their names above them."""
    stage.page.evaluate(DRAWN, [[name, option] for name, option in SHAPES.items()])
    expect(stage.page.locator(".chart:has(canvas)")).to_have_count(len(SHAPES))


def given(stage: Stage, path: str, body: Any) -> None:
    """Have the server answer with `body` at `path`."""
    stage.page.route(path, lambda route: route.fulfill(json=body))


def operate(stage: Stage) -> None:
    """Let the user edit the sources, as on a server without keys."""
    page, source = stage.page, {"engine": "sqlite", "url": "sqlite:////srv/data/shop.sqlite", "may_remove": True}
    rows = [{**source, "name": "shop", "description": "Orders"}, {**source, "name": "gone", "description": ""}]
    may = {"is_operator": True, "may_edit_sources": True}
    page.route(f"{stage.server}/sources", lambda route: route.fulfill(json={**route.fetch().json(), **may}))
    given(stage, "**/operate/sources", {"sources": rows, "may_edit": True})
    error = {"code": "source_not_found", "message": "sqlite:////srv/data/shop.sqlite: the file does not exist"}
    for name, found in (("shop", {"ok": True, "error": None}), ("gone", {"ok": False, "error": error})):
        given(stage, f"**/operate/sources/{name}/test", {**found, "tables": 9, "seconds": 0.1})
    page.reload()
    expect(page.locator("#edit-sources")).to_be_visible()


@state()
def sources_dialog(stage: Stage) -> None:
    operate(stage)
    stage.press("Sources")
    stage.page.get_by_text("Add a source").click()
    expect(stage.page.locator("#sources-dialog").get_by_role("alert")).to_be_visible()


@state()
def files_offered_and_refused(stage: Stage) -> None:
    operate(stage)
    database = {"name": "shop.sqlite", "mimeType": "x/y", "buffer": b"SQLite format 3\x00" + b"\x00" * 84}
    broken = {"name": "broken.xlsx", "mimeType": "x/y", "buffer": b"PK\x03\x04broken"}
    stage.page.locator("#file").set_input_files([database, broken])
    expect(stage.page.locator("#file-state > div")).to_have_count(2)
    expect(stage.page.locator("#file-state").get_by_role("alert")).to_be_visible()


@state()
def file_progress(stage: Stage) -> None:
    stage.page.route("**/files/events", lambda route: None)
    stage.page.locator("#file").set_input_files(WORKBOOK)
    expect(stage.page.locator("#file-state progress")).to_be_visible()


@state()
def operator_failure(stage: Stage) -> None:
    operate(stage)
    given(stage, "**/operate/model/test", {"ok": True, "seconds": 0.2})
    problem = json.dumps({"code": "model_rejected", "detail": "Set DATASPHINX_LLM_API_KEY.", "status": 500})
    body, kind = f"event: problem\ndata: {problem}\n\n", "text/event-stream; charset=utf-8"
    stage.page.route("**/agent/events", lambda route: route.fulfill(body=body, content_type=kind))
    stage.ask(HOW_MANY)
    stage.press("Test the connection")
    expect(stage.page.locator(".failure [role=status]")).to_contain_text("The model answers")


@state()
def proposals_none(stage: Stage) -> None:
    given(stage, "**/proposals", {"proposals": []})
    stage.press("Proposals")
    expect(stage.page.get_by_text("There is nothing to review.")).to_be_visible()


@state()
def board_stale_and_outside(stage: Stage) -> None:
    pin: dict[str, Any] = {"title": HOW_MANY, "question": HOW_MANY, "sql": COUNT, "source": "shop", "datasets": []}
    pin |= {"lower": 10, "upper": 100, "out_of_bounds": None, "result": None}
    result = {"figure": 1184, "columns": ["customers"], "rows": [[1184]], "formats": [], "chart": None, "error": None}
    result |= {"refreshed_at": "2025-12-30T10:00:00Z"}
    failed = {**result, "error": {"code": "source_unreachable", "message": "The source shop does not respond."}}
    pins = [{"id": "a", **pin, "out_of_bounds": True, "result": result}, {"id": "b", **pin, "result": failed}]
    board = {"id": "bd_0123456789abcdef", "title": "Figures", "schedule": "daily", "may_change": True}
    given(stage, "**/boards", {"boards": [board]})
    given(stage, "**/boards/*", {**board, "pins": pins})
    stage.press("Boards")
    expect(stage.page.locator(".card.outside")).to_be_visible()
    expect(stage.page.locator(".card .stale")).to_be_visible()


@state()
def verified(stage: Stage) -> None:
    def answered(route: Any) -> None:
        """Answer as a verified query does."""
        by = {"question": HOW_MANY, "author": "Ann", "date": "2025-01-31", "note": "Counts closed accounts too."}
        found = events_of(iter(route.fetch().text().splitlines()))
        shown = [(kind, {**data, "verified": by} if kind == "output" else data) for kind, data in found]
        body = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in shown)
        route.fulfill(body=body, content_type="text/event-stream; charset=utf-8")

    stage.page.route("**/agent/events", answered)
    stage.answered(HOW_MANY, COUNT)
    expect(stage.page.locator(".trust.verified")).to_be_visible()
    stage.page.locator(".trust summary").click()


@state()
def file_preview(stage: Stage) -> None:
    stage.page.locator("#file").set_input_files(WORKBOOK)
    expect(stage.page.get_by_role("tab")).to_have_count(3)


@state()
def file_options(stage: Stage) -> None:
    file_preview(stage)
    stage.press("Change how it is read")
    expect(stage.page.get_by_role("dialog")).to_be_visible()


# Swagger UI has links in its buttons, and headings of the third level below the first.
@state(widths=(1440,), except_rules=("nested-interactive", "heading-order"))
def docs(stage: Stage) -> None:
    stage.page.goto(f"{stage.server}/docs")
    expect(stage.page.locator(".opblock").first).to_be_visible()
