"""Makes the pictures of the README: the demo and the page, with the embedded model, on the sample shop.

`python -m tests.support.readme_pictures` takes about a minute; the weights and Chromium have to be there.
"""

import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from rich.console import Console
from rich.syntax import Syntax
from rich.terminal_theme import MONOKAI
from rich.text import Text

from datasphinx.agent.cli.demo import TREND, run_demo
from datasphinx.agent.server.app import create_app
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sql.guard.lint import lint_file
from tests.agent.page.conftest import FLAGS
from tests.agent.server.serving import running
from tests.support.generated_docs import ROOT

PICTURES = ROOT / "docs/pictures"
ASKS_BACK = "Which region had the highest sales in 2025?"
FORBIDDEN = "DELETE FROM orders"
_WIDTH, _HEIGHT, _TALL = 1280, 800, 1200
_COLOURS = 128
_ANSWERS_WITHIN_MS, _DRAWN_AFTER_MS = 600_000, 1_000


def main() -> None:
    """Write the pictures below `docs/pictures`."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder))
        with _terminal("demo", "make demo") as console:
            run_demo(Services(settings), console)
        with _terminal("guard", "the guard", width=68) as console:
            _show_guard(console, Path(folder))
        with running(create_app(Services(settings, any_source=False))) as base, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
            for scheme in ("light", "dark"):
                page = _asked(browser, base, TREND, scheme)
                page.locator(".turn").evaluate("turn => turn.scrollIntoView()")
                _save(page, f"page-{scheme}")
            page = _asked(browser, base, TREND, "light")
            page.locator(".explain summary").click()
            page.set_viewport_size({"width": _WIDTH, "height": _TALL})
            _save(page.locator(".explain"), "proof")
            _save(_asked(browser, base, ASKS_BACK, "light").locator(".asked-back"), "asks")
            page = _opened(browser, base, "light")
            page.set_viewport_size({"width": _WIDTH, "height": _TALL})
            page.get_by_role("button", name="Sources").click()
            page.get_by_role("dialog").get_by_text("Add a source").click()
            page.wait_for_timeout(_DRAWN_AFTER_MS)
            _save(page.get_by_role("dialog"), "sources")
            browser.close()


@contextmanager
def _terminal(name: str, title: str, width: int = 100) -> Iterator[Console]:
    """Yield a console whose output becomes the picture `name`."""
    console = Console(file=io.StringIO(), record=True, width=width, force_terminal=True, force_interactive=False)
    yield console
    console.save_svg(str(PICTURES / f"{name}.svg"), title=title, theme=MONOKAI)


def _show_guard(console: Console, folder: Path) -> None:
    """Print what `datasphinx guard` says of a statement that changes data."""
    statement = json.dumps({"dialect": "sqlite", "sql": FORBIDDEN})
    file = folder / "statement.jsonl"
    file.write_text(statement)
    (verdict,) = lint_file(file, None)
    console.print(Text(f"$ echo '{statement}' |\n    datasphinx guard -", style="bold"))
    shown = {name: verdict[name] for name in ("verdict", "rule", "explanation")}
    console.print(Syntax(json.dumps(shown, indent=2), "json", theme="monokai", background_color="default"))


def _opened(browser: Browser, base: str, scheme: str) -> Page:
    """Return the page in a new window."""
    window = {"width": _WIDTH, "height": _HEIGHT}
    context = browser.new_context(locale="en-US", color_scheme=scheme, viewport=window, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(_ANSWERS_WITHIN_MS)
    page.goto(base)
    page.wait_for_selector("html[data-started]", state="attached")
    return page


def _asked(browser: Browser, base: str, question: str, scheme: str) -> Page:
    """Return the page with the answer to a question."""
    page = _opened(browser, base, scheme)
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    page.locator(".turn .answer, .turn .asked-back").wait_for()
    page.wait_for_function("!document.querySelector('.working')")
    if question == TREND:
        page.locator(".chart canvas").wait_for()
    page.wait_for_timeout(_DRAWN_AFTER_MS)
    return page


def _save(part: Page | Locator, name: str) -> None:
    with Image.open(io.BytesIO(part.screenshot())) as picture:
        small = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    small.save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
