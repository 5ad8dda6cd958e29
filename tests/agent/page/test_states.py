"""Every state of the page: accessible by the rules of axe-core, readable, within the screen, and pictured."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page

from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.server.app import create_app
from datasphinx.agent.server.keys import hash_of
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.page.conftest import new_page
from tests.agent.page.states import STATES, Stage, StateModel
from tests.agent.server.serving import running
from tests.conftest import VALID
from tests.support.fake_openai import FakeOpenAI
from tests.support.generated_docs import ROOT

pytestmark = [pytest.mark.heavy, pytest.mark.browser]

PICTURES = bool(os.environ.get("PICTURES"))
HEIGHTS = {1440: 900, 1280: 720, 390: 844}
SMALLEST_TEXT, SMALLEST_TARGET = 12, 24
KEY = "dsk_states"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
ALIKE = "tbody tr:nth-child(n + 21)"
"""Rows like those above them, which would take seconds."""
LAYOUT = """() => JSON.stringify([...document.querySelectorAll("body *")].filter((each) => each.checkVisibility())
  .map((each) => [each.tagName, each.scrollWidth > each.clientWidth, each.scrollHeight > each.clientHeight]))"""
"""What is visible, and what scrolls: where a width changes neither, the rules find the same."""
SETTLED = """() => new Promise((resolve) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))"""
HEIGHT = """() => {
  const dialog = document.querySelector("dialog[open]");
  return dialog ? Math.max(innerHeight, Math.ceil(dialog.scrollHeight / 0.9)) : document.documentElement.scrollHeight;
}"""
FLAWS = """([smallestText, smallestTarget]) => {
  const named = (each) => `${each.tagName.toLowerCase()}.${each.className} "${each.textContent.trim().slice(0, 40)}"`;
  const seen = [...document.querySelectorAll("body *")]
    .filter((each) => each.checkVisibility() && !each.closest(".visually-hidden, .skip"));
  const hasText = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const isSmall = (each) => ((box) => Math.min(box.width, box.height) < smallestTarget)(each.getBoundingClientRect());
  const wide = (each) => each.scrollWidth > each.clientWidth;
  return [
    ...[document.documentElement, ...document.querySelectorAll("dialog[open], aside")].filter(wide)
      .map((each) => `wider than the screen: ${each.tagName} ${each.id}`),
    ...seen.filter((each) => each.matches(".foot *") && wide(each)).map((each) => `cut off: ${named(each)}`),
    ...seen.filter((each) => hasText(each) && parseFloat(getComputedStyle(each).fontSize) < smallestText)
      .map((each) => `small text: ${named(each)}`),
    ...seen.filter((each) => each.matches("button, a, input, select, textarea, summary, [role=tab]") && isSmall(each))
      .map((each) => `small target: ${named(each)}`),
  ];
}"""


@pytest.fixture(scope="module")
def stage(chromium: Browser, cache_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Opens a page of the one server of all states."""
    folder = tmp_path_factory.mktemp("states")
    (folder / "knowledge").mkdir()
    model = StateModel()
    with ExitStack() as stack:
        fake = stack.enter_context(FakeOpenAI(default=model))
        settings = load_settings(
            cache_dir=cache_dir, data_dir=folder, llm_base_url=fake.base_url, llm_model="fake", run_sql=True,
            enable_sql_validation=True, min_confidence=0.7, api_keys={"acme": hash_of(KEY)}, review_keys=[hash_of(KEY)],
            sources={"shop": {"url": shop_url(cache_dir), "knowledge": str(folder / "knowledge")}},
        )  # fmt: skip
        server = stack.enter_context(running(create_app(Services(settings, any_source=False))))

        def open_page(opened: ExitStack, has_key: bool, **context: Any) -> Stage:
            model.wait, model.reviews, model.fields, model.verdict = None, [], {}, VALID
            page = opened.enter_context(new_page(chromium, **context))
            opened.callback(model.release)
            # The policy of the page forbids foreign scripts; those of the browser's debugger are not under it.
            page.add_init_script(AXE_SCRIPT)
            if has_key:
                page.add_init_script(f"sessionStorage.setItem('datasphinx.key', '{KEY}')")
            page.goto(server)
            return Stage(page, model, server)

        yield open_page


def violations(view: Page, rules: tuple[str, ...] = TAGS, without: tuple[str, ...] = ()) -> list[str]:
    """Return what axe-core finds by `rules`, names or tags, as `rule: selector: what to do`."""
    options = {
        "runOnly": list(rules),
        "resultTypes": ["violations"],
        "rules": {rule: {"enabled": False} for rule in without},
    }
    found = view.evaluate("([context, options]) => axe.run(context, options)", [{"exclude": [[ALIKE]]}, options])
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("name", STATES)
def test_state_is_accessible_and_fits(stage: Callable[..., Stage], name: str) -> None:
    state, flaws, layouts = STATES[name], list[str](), list[str]()
    with ExitStack() as opened:
        size = {"width": state.widths[0], "height": HEIGHTS[state.widths[0]]}
        page = (at := stage(opened, state.has_key, locale=state.locale, viewport=size)).page
        view = state.lead(at)
        page.mouse.move(0, 0)
        for width in state.widths:
            show(page, width, "light", name)
            flaws += [f"{width} {each}" for each in view.evaluate(FLAWS, [SMALLEST_TEXT, SMALLEST_TARGET])]
            layout = page.evaluate(LAYOUT)
            if layout not in layouts:
                layouts.append(layout)
                flaws += [f"{width} {each}" for each in violations(view, without=state.except_rules)]
            if PICTURES or width == state.widths[0]:
                show(page, width, "dark", name)
            if width == state.widths[0]:
                flaws += [f"{width} dark {each}" for each in violations(view, ("color-contrast",))]
    assert not flaws, "\n".join(flaws)


def show(page: Page, width: int, scheme: str, name: str) -> None:
    """Show all of the page, without a part that scrolls; with `PICTURES=1`, make a picture of it."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
    page.set_viewport_size({"width": width, "height": page.evaluate(HEIGHT)})
    page.evaluate(SETTLED)
    if PICTURES:
        page.screenshot(path=ROOT / f"build/states/{name}-{width}-{scheme}.png")
