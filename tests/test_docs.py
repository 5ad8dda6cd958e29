"""Links between pages of the documentation, its index, and the paths of code that they name."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.generated_docs import ROOT

PAGES = [*(ROOT / name for name in ("README.md", "SECURITY.md", "AGENTS.md", "CONTRIBUTING.md"))]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
TO_THE_CODE = [(ROOT / name).read_text(encoding="utf-8") for name in ("docs/architecture.md", "AGENTS.md")]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of `page`."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    """Yield the relative links of `page` to files or headings that do not exist."""
    for link in re.findall(r"\]\(((?!https?:|mailto:)[^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            yield f"{page.name}: {link}"


def test_links_between_pages_resolve() -> None:
    assert [link for page in PAGES for link in broken_links(page)] == []


def test_index_lists_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")

    assert [
        page.name for page in (ROOT / "docs").rglob("*.md") if page.name != "README.md" and page.name not in index
    ] == []


def test_paths_of_code_exist() -> None:
    paths = re.findall(r"`((?:agent|nodes|prompts|tests|training)/[\w/.]*)`", "".join(TO_THE_CODE))

    assert len(paths) > 50
    assert [path for path in paths if not (ROOT / path).exists()] == []
