"""The examples in docstrings hold."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for package in ("datasphinx/agent", "datasphinx/nodes", "datasphinx/prompts", "training")
    for path in (ROOT / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES, ids=str)
def test_examples_of_docstrings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)

    assert tried, "no example was found"
    assert not failed, capsys.readouterr().out


def test_there_are_examples() -> None:
    assert len(MODULES) >= 5
