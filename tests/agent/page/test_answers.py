"""An answer on the page: what it says first, how far it can be trusted, and what it takes for granted."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.agent.page.actions import COUNT, HOW_MANY, NUMBERS, ask, sent_by
from tests.agent.page.conftest import Visit, switch
from tests.agent.page.said import ASKS, BY_AMOUNT, FEWER, Model
from tests.agent.page.states import REPEATED
from tests.conftest import VALID

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

SUM = """async (values) => (await import("./static/js/numbers.js")).sumOf(values)"""
TRUST = """async (output) => (await import("./static/js/answer.js")).trustBadge(output)?.className ?? null"""
SPENT = "SELECT c.name, COUNT(*) AS orders, AVG(o.total_amount) AS mean, ROUND(SUM(o.total_amount), 2) AS spent "
SPENT += "FROM orders AS o JOIN customers AS c ON c.customer_id = o.customer_id GROUP BY c.name"
SPENT += " ORDER BY c.name LIMIT 12"


def test_the_answer_comes_first_and_statement_and_details_are_folded(visit: Visit) -> None:
    fields = {"answer": ["{1.name} spent the most, {1.spent}."], "output_type": "plot"}
    model = Model(BY_AMOUNT, reviews=(), **fields)
    site = visit(model, enable_sql_validation=True, viewport={"width": 1440, "height": 1200})
    page = site.page
    ask(site, "Show customers by what they spent as a bar chart")
    tops = [page.locator(each).first.bounding_box() for each in (".lead", ".chart", ".rows", ".explain", ".toolbar")]
    assert [box["y"] for box in tops if box] == sorted(box["y"] for box in tops if box) and all(tops)
    sizes = page.evaluate(
        "['.lead', '.rows td'].map((each) => parseFloat(getComputedStyle(document.querySelector(each)).fontSize))"
    )
    assert sizes[0] > 1.25 * sizes[1]
    expect(page.locator(".sql")).to_be_hidden()
    expect(page.locator(".cost")).to_be_hidden()
    for scheme in ("Dark", "Light"):
        switch(page, "theme", scheme)
        page.set_viewport_size({"width": 1920, "height": 1080})


def test_a_checked_answer_says_why_on_click(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), enable_sql_validation=True)
    ask(site, HOW_MANY)
    badge = site.page.locator(".trust.checked")
    expect(badge.locator("summary")).to_have_text("✓Checked by the model")
    expect(badge.locator("p").first).to_be_hidden()
    badge.locator("summary").click()
    expect(badge.locator("p").first).to_contain_text("compared with your question")


def test_a_figure_stands_once_in_its_sentence(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=(), answer=["The shop has {orders} orders."]))
    ask(site, HOW_MANY)
    lead, figure = site.page.locator(".lead"), site.page.locator(".answer .figure")
    count = figure.inner_text()
    expect(lead).to_have_text(f"The shop has {count} orders.")
    assert site.page.locator(".answer > :not(.explain)").all_inner_texts()[1] == f"The shop has {count} orders."
    site.model.fields = {}
    ask(site, "And how many are there in all?")
    expect(lead.last).to_have_text(f"Orders: {count}")
    sizes = [each.evaluate("each => parseFloat(getComputedStyle(each).fontSize)") for each in (figure.last, lead.last)]
    assert sizes[0] == 2 * sizes[1]


def test_a_draft_is_smaller_than_an_answer_and_says_why(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), enable_sql_validation=True)
    ask(site, HOW_MANY)
    site.model.verdict = {**VALID, "is_valid": False, "reason": "Items count.", "corrected_sql": REPEATED}
    ask(site, "What is the revenue?")
    size = "each => parseFloat(getComputedStyle(each).fontSize)"
    answered, draft = (each.evaluate(size) for each in site.page.locator(".answer .figure").all())
    assert draft < answered / 1.5
    expect(site.page.locator(".answer").last).to_contain_text("a check of the query was not satisfied: Items count.")
    expect(site.page.locator(".answer").last).not_to_contain_text("Items count..")
    expect(site.page.locator(".trust.unsure p").last).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_draft_has_its_reason_and_not_what_i_meant_beside_the_figure(visit: Visit, width: int) -> None:
    site = visit(Model(COUNT, reviews=()), enable_sql_validation=True, viewport={"width": width, "height": 844})
    site.model.verdict = {**VALID, "is_valid": False, "reason": "Items count.", "corrected_sql": REPEATED}
    ask(site, "What is the revenue?")
    draft = site.page.locator(".draft")
    parts = (".words", ".trust p", "button:has-text('Not what I meant')")
    words, reason, wrong = (draft.locator(each).bounding_box() or {} for each in parts)
    if width > 1000:
        assert words["x"] + words["width"] < reason["x"] and wrong["y"] < words["y"] + words["height"]
    assert reason["y"] < wrong["y"] and wrong["width"] > 100
    assert site.page.locator(".toolbar .feedback").count() == 0
    site.model.reviews = [ASKS]
    draft.get_by_role("button", name="Not what I meant").click()
    draft.get_by_role("button", name="Answer again").click()
    # The alternatives, with the result of each.
    expect(site.page.locator(".asked-back .option .preview")).to_have_count(2)
    expect(draft.locator(".feedback")).to_have_count(0)


def test_options_show_their_results_in_the_formats_of_their_readings(visit: Visit) -> None:
    shares = [
        {"label": label, "reading": "", "sql": f"SELECT {sql}", "formats": {"share": "fraction"}}
        for label, sql in (("of all", "MIN(0.125) AS share FROM orders"), ("of some", "MAX(0.5) AS share FROM orders"))
    ]
    site = visit(Model(COUNT, reviews=({**ASKS, "alternatives": shares},)))
    site.ask("What share of customers return?")
    expect(site.page.locator(".option .preview")).to_have_text(["12.5%", "50%"])


def test_rows_without_a_sentence_have_no_headline(visit: Visit) -> None:
    site = visit(Model(f"{NUMBERS}", reviews=()))
    ask(site, "Count to 120")
    expect(site.page.locator(".rows tbody tr").first).to_be_visible()
    expect(site.page.locator(".words")).to_have_count(0)


@pytest.mark.parametrize("output_type", ["string", None])
def test_names_are_rows_and_not_a_headline(visit: Visit, output_type: str | None) -> None:
    names = "SELECT name, segment FROM customers ORDER BY name LIMIT 10"
    site = visit(Model(names, reviews=(), output_type=output_type), viewport={"width": 1440, "height": 1000})
    ask(site, "Who are our customers?")
    answer = site.page.locator(".answer")
    expect(answer.locator("tbody tr")).to_have_count(10)
    expect(answer.locator(".words", has_text="Aaron")).to_have_count(0)
    answer.locator(".menu summary").click()
    expect(answer.get_by_role("button", name="Save as CSV")).to_be_visible()
    # Names cannot be drawn, and nothing stands in the place of a chart.
    above, below = (answer.locator(each).bounding_box() or {} for each in (".premises", ".rows"))
    assert 0 < below["y"] - above["y"] - above["height"] < 32


def test_one_toolbar_has_what_can_be_done_with_an_answer(visit: Visit) -> None:
    site = visit(Model(BY_AMOUNT, reviews=()), viewport={"width": 390, "height": 844})
    ask(site, "Which customers spent the most?")
    page = site.page
    expect(page.locator(".chart canvas")).to_be_visible()
    tools = page.locator(".turn .toolbar")
    tops = tools.locator("> .menu, .thumb, .pin-answer > button").evaluate_all(
        "all => all.map((each) => each.getBoundingClientRect().top)"
    )
    assert len(tops) == 4 and len(set(tops)) == 1
    opening = tools.locator(".menu summary")
    opening.click()
    items = page.locator(".menu[open] .menu-items > *")
    expect(items).to_have_text(
        ["Copy", "Save as CSV", "Save as Excel", "Save as PNG", "Save as SVG", "Link to this answer"]
    )
    page.keyboard.press("Escape")
    expect(items).to_have_count(0)
    expect(opening).to_be_focused()
    opening.click()
    page.locator(".headline").click()
    expect(items).to_have_count(0)


@pytest.mark.parametrize(
    ("known", "badge"),
    [
        ({}, None),
        ({"sql": "SELECT 1", "output_type": "number"}, "trust likely"),
        ({"checked": True}, "trust checked"),
        ({"confidence": {"value": 0.8, "word": "w", "reason": "nothing"}}, "trust likely"),
        ({"checked": True, "confidence": {"value": 0.8, "word": "w", "reason": "n"}}, "trust checked"),
        (
            {"checked": True, "status": "unsure", "confidence": {"value": 0.2, "word": "w", "reason": "n"}},
            "trust unsure",
        ),
        ({"verified": {"question": "q", "author": "Ann", "date": None, "note": None}}, "trust verified"),
        ({"metric": True, "checked": True}, "trust checked"),
        ({"chosen": True}, "trust likely"),
        ({"chosen": True, "checked": True}, "trust checked"),
        ({"chosen": True, "error": {"code": "x", "message": "y"}}, None),
        ({"checked": True, "error": {"code": "x", "message": "y"}}, None),
    ],
)
def test_a_badge_claims_only_what_is_known(visit: Visit, known: dict[str, Any], badge: str | None) -> None:
    assert visit().page.evaluate(TRUST, {"status": "ok", **known}) == badge


def test_an_assumption_is_changed_and_asked_again(visit: Visit) -> None:
    site = visit(Model(BY_AMOUNT, reviews=()), viewport={"width": 390, "height": 844})
    page, sent = site.page, sent_by(site.page)
    ask(site, "Show customers by what they spent")
    expect(page.locator(".answer")).not_to_contain_text("Assumed")
    chip = page.get_by_role("button", name="cancelled orders count too")
    chip.focus()
    page.keyboard.press("Enter")
    field = page.get_by_label("Instead of “cancelled orders count too”:")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(chip).to_be_focused()
    page.keyboard.press("Enter")
    site.model.sql = FEWER
    page.keyboard.type("leave them out")
    page.keyboard.press("Enter")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".answer")).to_have_count(2)
    feedback = {"accepted": False, "comment": "Instead of “cancelled orders count too”: leave them out"}
    assert sent[1]["feedback"] == feedback
    expect(page.locator(".turn").first.locator(".premise")).to_be_disabled()


def test_a_question_about_other_things_says_what_the_data_lacks(visit: Visit) -> None:
    site = visit(Model("", reviews=(), off_topic=True, reason="The tables have no weather"))
    site.ask("What is the weather?")
    expect(site.page.get_by_role("heading", name="The data cannot answer this")).to_be_visible()
    site.page.get_by_text("Details", exact=True).click()
    expect(site.page.locator(".operators")).to_contain_text("The question is not about this data")


@pytest.mark.parametrize("words", ["hello", "What can I ask?"])
def test_a_greeting_is_returned_with_questions_that_the_data_answers(visit: Visit, words: str) -> None:
    site = visit(Model("", reviews=(), reply="Hello! You can ask about orders and customers."))
    ask(site, words)
    page = site.page
    expect(page.locator(".lead")).to_have_text("Hello! You can ask about orders and customers.")
    expect(page.locator(".premise, .trust, .sql, .rows, .feedback")).to_have_count(0)
    questions = page.get_by_role("list", name="Questions to ask next").get_by_role("button")
    expect(questions).to_have_count(3)
    expect(questions.first).to_have_text("What were the net sales by channel in 2024?")
    questions.first.click()
    expect(page.locator(".answer .trust.verified")).to_be_visible()


def test_an_error_is_told_in_plain_words_and_tried_again(visit: Visit) -> None:
    site = visit(Model(COUNT, reviews=()), source="sqlite:////nowhere/deep/at-all.sqlite")
    site.ask(HOW_MANY)
    page = site.page
    expect(page.locator(".failure h3")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("sqlite:////nowhere/deep/at-all.sqlite")
    expect(page.locator(".operators dl")).to_be_hidden()
    page.get_by_text("Details", exact=True).click()
    expect(page.locator(".operators")).to_contain_text("source_")
    expect(page.locator(".operators dd")).to_have_count(2)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".failure h3")).to_be_visible()
    expect(page.locator(".turn")).to_have_count(1)


def rows(page: Page) -> list[list[str]]:
    found: list[list[str]] = page.locator("tbody tr").evaluate_all(
        "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return found


def test_a_table_has_equal_decimals_a_sum_and_a_filter(visit: Visit) -> None:
    site = visit(Model(SPENT, reviews=()))
    ask(site, "List customers with their orders and amounts")
    page = site.page
    shown = rows(page)
    assert len(shown) == 12
    for column in (2, 3):
        assert len({len(row[column].partition(".")[2]) for row in shown}) == 1
    sums = page.locator("tfoot tr > *").all_text_contents()
    assert sums[0] == "Sum of these rows" and sums[2] == ""
    assert int(sums[1].replace(",", "")) == sum(int(row[1].replace(",", "")) for row in shown)
    page.get_by_label("Filter the rows").fill(shown[3][0].upper())
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator(".count")).to_have_text("rows: 1 of 12")
    assert page.locator("tfoot td").first.text_content() == shown[3][1]
    page.get_by_label("Filter the rows").fill("")
    expect(page.locator("tbody tr")).to_have_count(12)
    page.get_by_role("columnheader", name="spent").get_by_role("button").click()


def test_many_rows_scroll_inside_the_card_beside_a_fixed_first_column(visit: Visit) -> None:
    site = visit(Model(NUMBERS, reviews=()), viewport={"width": 390, "height": 844})
    ask(site, "Count to 120")
    page = site.page
    page.get_by_role("button", name="Show all 120 rows").click()
    region = page.locator(".rows .scroll")
    assert region.evaluate("each => each.clientHeight < each.scrollHeight && each.clientHeight < 500")
    assert page.locator("tbody td").first.evaluate("each => getComputedStyle(each).position") == "sticky"


def test_a_sum_of_rows_is_exact(visit: Visit) -> None:
    page = visit().page
    assert page.evaluate(SUM, [0.1, 0.2, None]) == "0.3"
    assert page.evaluate(SUM, [-1.5, "9007199254740993"]) == "9007199254740991.5"
    assert page.evaluate(SUM, [-1, "0.25"]) == "-0.75"
    assert page.evaluate(SUM, [1, 1e21]) is None


def test_every_code_of_an_error_has_texts(visit: Visit) -> None:
    page = visit().page
    for code in ("thread_busy", "row_rule_not_applied", "no such code", "statement_timeout"):
        shown = page.evaluate(
            "async (code) => { const { failureView } = await import('./static/js/failure.js');"
            " return failureView({ code, message: 'internal' }, () => {}).querySelector('[role=alert]').textContent }",
            code,
        )
        assert "fail_" not in shown and "internal" not in shown and len(shown) > 20, json.dumps(shown)


@pytest.mark.parametrize(("width", "may_run"), [(1280, True), (390, True), (1280, False)])
def test_an_alternative_of_a_draft_becomes_the_answer(visit: Visit, width: int, may_run: bool) -> None:
    model = Model("SELECT SUM(total_amount) AS revenue FROM orders", reviews=())
    model.verdict = {**VALID, "is_valid": False, "reason": "Items.", "corrected_sql": REPEATED}
    site = visit(model, enable_sql_validation=True, run_sql=may_run, viewport={"width": width, "height": 844})
    page = site.page
    ask(site, "What is the revenue?")
    other = page.locator(".draft .alternatives .option")
    expect(other).to_have_count(1)
    figure = other.locator(".preview").text_content()
    if not may_run:
        expect(other).to_be_disabled()
        return
    page.locator("body").press("1")
    expect(other).to_be_enabled()
    other.dblclick()
    expect(page.locator(".turn")).to_have_count(2)
    last = page.locator(".turn").last
    expect(last.locator(".trust summary")).to_contain_text("Your choice")
    expect(last.locator(".figure")).to_have_text(figure or "")
    page.reload()
    expect(page.locator(".turn").last.locator(".figure")).to_have_text(figure or "")
    expect(page.locator(".turn").last.locator(".trust summary")).to_contain_text("Your choice")
