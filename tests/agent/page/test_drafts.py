"""The text that the model writes is seen while it is written, and a draft that was rejected is replaced."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.agent.page.conftest import Site
from tests.agent.page.said import Model
from tests.fake_openai import Reply

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

Visit = Callable[..., Site]
BY_STATUS = "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status"
WRONG = "Of these statuses, delivered dominates with 4,321 orders, far ahead of all the others together."
RIGHT = "Of these statuses, delivered dominates with 9,488 orders."


class Narrator(Model):
    """A model that writes a wrong text, and then a right one."""

    def __init__(self) -> None:
        super().__init__(sql=BY_STATUS, reviews=())
        self.pauses = [threading.Event(), threading.Event()]
        self.texts = [WRONG, RIGHT]

    def __call__(self, request: dict[str, Any]) -> Any:
        schema = request.get("response_format", {}).get("json_schema", {}).get("name")
        if schema != "NarratedAnswer":
            return super().__call__(request)
        at = len(self.pauses) - len(self.texts)
        content = {"answer": self.texts.pop(0), "output_type": "dataframe"}
        return Reply(content, pause=self.pauses[at])


def test_a_draft_is_seen_while_it_is_written_and_replaced_if_it_is_rejected(visit: Visit) -> None:
    model = Narrator()
    site = visit(model)
    site.ask("Describe the orders by status")
    draft, announced = site.page.locator(".draft"), site.page.locator("#announced")

    expect(draft.locator(".words")).to_contain_text("Of these statuses, delivered")
    expect(draft.locator(".words")).not_to_contain_text("together")
    expect(announced).to_have_text("Writing the answer")
    assert draft.evaluate("node => node.closest('[aria-live], [role=status], [role=alert]')") is None
    site.picture("draft")

    model.pauses[0].set()
    expect(draft.locator(".replaced")).to_be_visible()
    expect(announced).to_contain_text("A draft was replaced")
    expect(draft).not_to_contain_text("4,321")

    model.pauses[1].set()
    expect(site.page.locator(".answer .words")).to_contain_text(RIGHT)
    expect(site.page.locator(".answer .replaced")).to_be_visible()
    expect(site.page.locator(".answer .words")).not_to_contain_text("4,321")
    expect(announced).to_contain_text(RIGHT)
    site.picture("draft_replaced")


def test_a_draft_that_is_kept_has_no_note(visit: Visit) -> None:
    model = Narrator()
    model.texts, model.pauses = [RIGHT], [threading.Event()]
    model.pauses[0].set()
    site = visit(model)
    site.ask("Describe the orders by status")

    expect(site.page.locator(".answer .words")).to_contain_text(RIGHT)
    expect(site.page.locator(".replaced")).to_have_count(0)
