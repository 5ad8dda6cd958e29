"""The form with the options for reading a file."""

import json

import pytest
from playwright.sync_api import expect

from datasphinx.agent.datasets.options import COLUMN_KINDS, LoadOptions
from tests.agent.datasets.files import FEB, JAN
from tests.agent.datasets.workbooks import book
from tests.agent.page.actions import EXCEL
from tests.agent.page.conftest import Visit
from tests.support.generated_docs import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.browser]


def test_a_file_is_read_again_with_the_options_of_the_form(visit: Visit) -> None:
    page = visit().page
    page.locator("#file").set_input_files({"name": "a.xlsx", "mimeType": EXCEL, "buffer": book(Jan=JAN, Feb=FEB)})
    expect(page.locator(".chip")).to_contain_text("rows: 2, columns: 2")
    page.get_by_role("button", name="How a.xlsx · Jan is read").click()
    dialog = page.get_by_role("dialog", name="How a.xlsx · Jan is read")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="How a.xlsx · Jan is read").click()
    with page.expect_response("**/datasets/events") as made:
        dialog.get_by_label("Sheet").select_option("*")
        dialog.get_by_label("amount: Type").select_option("text")
        dialog.get_by_label("account: Fill down").check()
        dialog.get_by_label("Leave out rows with totals").uncheck()
        dialog.get_by_role("button", name="Read again").click()
    expect(dialog).to_be_hidden()
    expect(page.locator(".chip")).to_have_count(1)
    expect(page.locator(".chip")).to_contain_text("rows: 4, columns: 3")
    sent = json.loads(made.value.request.post_data or "{}")["options"]
    assert sent == {"sheets": ["*"], "types": {"amount": "text"}, "fill_down": ["account"], "drop_totals": False}

    page.get_by_role("button", name="How a.xlsx · Jan is read").click()
    expect(dialog.get_by_label("amount: Type")).to_have_value("text")
    expect(dialog.get_by_label("account: Fill down")).to_be_checked()


def test_a_refused_option_is_shown_in_the_form(visit: Visit) -> None:
    site = visit()
    page = site.page
    page.locator("#file").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n3,4\n"})
    page.get_by_role("button", name="How a.csv is read").click()
    page.get_by_label("Header row (0: none)").fill("99")
    page.get_by_role("button", name="Read again").click()
    expect(page.get_by_role("alert")).to_contain_text("99")
    site.wrong.clear()
    page.keyboard.press("Escape")
    expect(page.locator(".chip")).to_contain_text("rows: 2")


def test_the_form_has_every_option() -> None:
    code = (ROOT / "agent/web/js/loading.js").read_text(encoding="utf-8")
    texts = json.loads((ROOT / "agent/web/texts/en.json").read_text(encoding="utf-8"))

    assert [name for name in LoadOptions.model_fields if name not in code] == []
    assert [kind for kind in COLUMN_KINDS if f"kind_{kind}" not in texts or f'"{kind}"' not in code] == []
