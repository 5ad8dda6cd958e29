"""Packages of other projects whose `__init__.py` is executed at the first use of one of its names.

An import of a module executes the `__init__.py` of each package above it. Those of `LAZY_PACKAGES` do nothing but
import hundreds of modules, of which one question uses few. `importlib.util.LazyLoader` does not help: it executes a
package at the import of any of its modules.
"""

import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

LAZY_PACKAGES = frozenset(
    {
        "langchain_openai",
        "langchain_openai.chat_models",
        "langgraph_sdk",
        "langsmith.types",
        "openai.types",
        "openai.types.graders",
        "openai.types.responses",
        "openai.types.shared",
    }
)


def import_lazily(packages: Iterable[str] = LAZY_PACKAGES) -> None:
    """Execute the `__init__.py` of `packages` at the first use of a name that their modules have not set.

    Call it before their first import, in a process of this project only: it changes imports of the whole process.
    """
    sys.meta_path.insert(0, _LazyFinder(frozenset(packages)))


class _LazyFinder(MetaPathFinder):
    def __init__(self, packages: frozenset[str]) -> None:
        self._packages = packages

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._packages:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.loader and spec.submodule_search_locations:
            spec.loader = _LazyLoader(spec.loader)
        return spec


class _LazyLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader, self._lock, self._is_executed = loader, RLock(), False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Give `module` a `__getattr__` that executes it."""

        def get(name: str) -> Any:
            # The lock is reentrant: modules that the package imports may look for names that it does not have yet.
            with self._lock:
                if not self._is_executed:
                    self._is_executed = True
                    try:
                        self._loader.exec_module(module)
                    except BaseException:
                        self._is_executed = False
                        raise
            # Names that the package has now; it may define a `__getattr__` of its own.
            if name in module.__dict__:
                return module.__dict__[name]
            own = module.__dict__.get("__getattr__")
            if own is not None and own is not get:
                return own(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__dict__["__getattr__"] = get

    def __getattr__(self, name: str) -> Any:
        """Return what `name` is of the wrapped loader, such as `get_source` for tracebacks."""
        return getattr(self._loader, name)
