"""The texts of the page: one file per language, and a language is added by its file alone."""

import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from datasphinx.agent.messages import TEXTS
from datasphinx.agent.server.routes import page as page_routes
from tests.agent.page.conftest import Visit, switch
from tests.support.generated_docs import ROOT

WEB = ROOT / "agent/web"
FILES = sorted((WEB / "texts").glob("*.json"))
ENGLISH: dict[str, str] = json.loads((WEB / "texts/en.json").read_text(encoding="utf-8"))


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{\w+\}", text))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_text_of_the_page_is_translated(path: Path) -> None:
    texts: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    problems = {
        f"add to agent/web/texts/{path.name}": sorted(ENGLISH.keys() - texts.keys()),
        f"remove from agent/web/texts/{path.name}": sorted(texts.keys() - ENGLISH.keys()),
        "without a text": sorted(key for key, text in texts.items() if not text.strip()),
        "with other placeholders than in en.json": sorted(
            key for key in texts.keys() & ENGLISH.keys() if placeholders(texts[key]) != placeholders(ENGLISH[key])
        ),
    }

    assert {problem: keys for problem, keys in problems.items() if keys} == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_badge_says_the_same_as_a_terminal_and_a_notebook(path: Path) -> None:
    on_page: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    elsewhere = {code: text for code, text in TEXTS[path.stem].items() if code.startswith("trust_")}

    assert len(elsewhere) == 7
    assert {code: on_page[code] for code in elsewhere} == elsewhere


def test_texts_that_the_html_names_exist() -> None:
    html = (WEB / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r'data-(?:text|label|hint|title)="([^"]+)"', html))

    assert len(named) > 20
    assert sorted(named - ENGLISH.keys()) == []


def test_texts_that_the_scripts_name_exist() -> None:
    """A call names its keys in quotes, as its first or second argument; an option, behind its value."""
    scripts = "".join(path.read_text(encoding="utf-8") for path in sorted((WEB / "js").glob("*.js")))
    first = "text|button|submit|labelled|field|fold|checkbox|confirmed|group|setting"
    second = "say|iconButton|signButton|named|hinted|confirmed"
    argument = r"(?:[^(),]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*"
    named = set(re.findall(rf'\b(?:{first})\("(\w+)"', scripts))
    named |= set(re.findall(rf'\b(?:{second})\({argument}, "(\w+)"', scripts))
    named |= set(re.findall(r'\[(?:""|[A-Z]+), "(\w+)"\]', scripts))

    assert len(named) > 150
    assert sorted(named - ENGLISH.keys()) == []


@pytest.mark.heavy
@pytest.mark.browser
def test_only_the_texts_of_one_language_are_loaded(visit: Visit) -> None:
    page = visit(locale="ru-RU").page
    expect(page.get_by_role("button", name="Спросить", exact=True)).to_be_visible()
    loaded = "performance.getEntriesByType('resource').map(each => each.name.match(/texts.(.*)$/)?.[1]).filter(Boolean)"
    assert page.evaluate(loaded) == ["ru.json"]

    switch(page, "language", "zh")
    expect(page.get_by_role("button", name="提问", exact=True)).to_be_visible()
    assert page.evaluate(loaded) == ["ru.json", "zh.json"]


@pytest.mark.heavy
@pytest.mark.browser
def test_one_file_adds_a_language(visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web = tmp_path / "web"
    shutil.copytree(WEB, web, ignore=shutil.ignore_patterns("vendor"))
    (web / "vendor").symlink_to(WEB / "vendor")
    texts = {key: f"fr {text}" for key, text in ENGLISH.items()} | {"ask": "Demander", "language": "Langue"}
    (web / "texts/fr.json").write_text(json.dumps(texts), encoding="utf-8")
    monkeypatch.setattr(page_routes, "WEB", web)

    page = visit(locale="fr-CA").page
    expect(page.get_by_role("button", name="Demander")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "fr"
    switch(page, "language", "English")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
    switch(page, "language", "Français")
    expect(page.get_by_role("button", name="Demander")).to_be_visible()
    number = "async () => (await import('./static/js/numbers.js')).numberText(1234.5)"
    assert page.evaluate(number) == "1\u202f234,5"


@pytest.mark.heavy
@pytest.mark.browser
def test_texts_that_cannot_be_loaded_leave_the_language(visit: Visit) -> None:
    page = visit().page
    page.route("**/texts/ru.json", lambda route: route.fulfill(status=503))

    with page.expect_response("**/texts/ru.json"):
        switch(page, "language", "ru")

    expect(page.get_by_label("Language", exact=True)).to_have_value("en")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_visible()
