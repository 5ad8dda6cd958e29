"""datasphinx: ask your data a question, get an answer with the SQL and the rows that prove it."""

if __name__ == "agent":
    # The former name, in a checkout: its modules are those of `datasphinx.agent`.
    import sys
    import warnings
    from importlib import import_module
    from importlib.abc import Loader, MetaPathFinder
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    class _FormerNames(MetaPathFinder, Loader):
        def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
            return ModuleSpec(fullname, self) if fullname.startswith("agent.") else None

        def create_module(self, spec: ModuleSpec) -> ModuleType:
            module = import_module(f"datasphinx.{spec.name}")
            self._spec = module.__spec__
            return module

        def exec_module(self, module: ModuleType) -> None:
            module.__spec__ = self._spec

    sys.meta_path.insert(0, _FormerNames())
    warnings.warn("import datasphinx.agent, not agent: that name works in a checkout only", DeprecationWarning, 2)
