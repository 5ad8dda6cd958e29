"""The examples in the docstrings."""

import doctest
import importlib
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_FILES = sorted(
    path.relative_to(_ROOT)
    for package in ("agent", "nodes", "prompts", "training")
    for path in (_ROOT / package).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("path", _FILES, ids=str)
def test_examples(path: Path) -> None:
    module = importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
