"""Lazy packages: when they are executed, and what makes a package unsuitable."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from types import ModuleType

import pytest

from agent.cli.lazy_packages import LAZY_PACKAGES, import_lazily


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a lazy package with the modules `one` and `two`; its `__init__.py` imports `two` and fails once."""
    name = "lazily_imported_package"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from pathlib import Path\n"
        "if (mark := Path(__file__).with_name('fails')).exists():\n    mark.unlink(); raise ValueError('it fails')\n"
        "from .two import two_names as names, VALUE\n__all__ = ['names', 'VALUE']\n"
    )
    (folder / "one.py").write_text("NUMBER = 1\n")
    (folder / "two.py").write_text("from .one import NUMBER\ntwo_names = NUMBER + 1\nVALUE = object()\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    import_lazily([name])
    yield name
    for module in [module for module in sys.modules if module.split(".")[0] == name]:
        del sys.modules[module]


def imported(package: str) -> set[str]:
    return {name.removeprefix(package) for name in sys.modules if name.split(".")[0] == package}


def test_a_module_of_the_package_is_imported_without_the_others(package: str) -> None:
    one = importlib.import_module(f"{package}.one")

    assert one.NUMBER == 1
    assert imported(package) == {"", ".one"}


@pytest.mark.parametrize("statement", ["from {0} import names", "from {0} import *", "import {0}; names = {0}.names"])
def test_the_first_use_of_a_name_executes_the_package(package: str, statement: str) -> None:
    names: dict[str, object] = {}

    exec(statement.format(package), names)

    assert names["names"] == 2
    assert imported(package) == {"", ".one", ".two"}


def test_unknown_names_are_attribute_errors(package: str) -> None:
    module = importlib.import_module(package)

    for _ in range(2):
        with pytest.raises(AttributeError, match="'lazily_imported_package' has no attribute 'unknown'"):
            _ = module.unknown


def test_a_package_that_fails_is_executed_again(package: str) -> None:
    module = importlib.import_module(package)
    Path(str(module.__file__)).with_name("fails").touch()

    with pytest.raises(ValueError, match="it fails"):
        _ = module.names
    assert module.names == 2


def test_threads_wait_for_the_execution(package: str) -> None:
    module, barrier = importlib.import_module(package), Barrier(4)

    def use(_: int) -> object:
        barrier.wait()
        return module.VALUE

    with ThreadPoolExecutor(4) as threads:
        values = list(threads.map(use, range(4)))

    assert len(set(values)) == 1


@pytest.mark.parametrize("name", sorted(LAZY_PACKAGES))
def test_lazy_packages_only_import_and_no_name_hides_a_module(name: str) -> None:
    package = importlib.import_module(name)
    statements = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8")).body
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}

    assert {type(statement) for statement in statements} <= {ast.ImportFrom, ast.Assign, ast.Expr}
    # Otherwise the name would be the module until the package is executed, and something else afterwards.
    hidden = {at for at in modules & set(vars(package)) if not isinstance(getattr(package, at), ModuleType)}
    assert not hidden


@pytest.mark.process
def test_classes_of_lazy_packages_are_those_of_the_packages() -> None:
    code = (
        "from agent.cli.lazy_packages import import_lazily; import_lazily()\n"
        "from langchain_openai.chat_models.base import ChatOpenAI\n"
        "import sys; assert 'langsmith.types.run' not in sys.modules and 'langgraph_sdk.client' not in sys.modules\n"
        "import langchain_openai, langgraph_sdk, langsmith, openai\n"
        "assert langchain_openai.ChatOpenAI is ChatOpenAI\n"
        "assert openai.types.responses.Response.__module__ == 'openai.types.responses.response'\n"
        "from langsmith.types import Run; from openai.types import *; from langgraph_sdk import get_client\n"
        "assert Completion and Run.model_json_schema() and callable(get_client)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stderr
