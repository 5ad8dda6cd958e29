"""The formats from which business knowledge is imported, found through the entry-point group `datasphinx.knowledge`.

An importer returns the entries of files for a source with a catalog. It raises `Unresolved` with the reason if they are
not in its format.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from datasphinx.agent.knowledge.dbt import read_dbt
from datasphinx.agent.knowledge.imports import Imported
from datasphinx.agent.knowledge.osi import read_osi
from datasphinx.agent.knowledge.references import Unresolved
from datasphinx.agent.knowledge.yaml_text import read_yaml
from datasphinx.agent.plugins import plugins
from datasphinx.agent.schema.catalog import Catalog

GROUP = "datasphinx.knowledge"
OWN = {name: f"{__name__}:import_{name}" for name in ("dbt", "osi")}
"""The entry points of this package."""

Importer = Callable[[Sequence[Path], Catalog], Imported]


@cache
def importers() -> dict[str, EntryPoint]:
    """Return the entry points of all importers by the name of their format."""
    return plugins(GROUP, OWN)


def import_dbt(files: Sequence[Path], catalog: Catalog) -> Imported:
    """Import a dbt project from `target/manifest.json`, and `target/semantic_manifest.json` in place of its metrics."""
    manifest, *semantic = files
    if len(semantic) > 1:
        raise Unresolved("after manifest.json there is at most semantic_manifest.json")
    return read_dbt(_json_object(manifest), _json_object(semantic[0]) if semantic else None, catalog)


def import_osi(files: Sequence[Path], catalog: Catalog) -> Imported:
    """Import a semantic model of Open Semantic Interchange 1.0, as YAML or JSON."""
    if len(files) > 1:
        raise Unresolved("one file is imported at a time")
    (file,) = files
    # JSON is YAML; with the reader of knowledge files, aliases cannot expand.
    return read_osi(read_yaml(_text(file)).value, file.stem, catalog)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8-sig")


def _json_object(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(_text(file))
    except ValueError as error:
        raise Unresolved(f"{file.name}: it is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise Unresolved(f"{file.name}: it is not a JSON object")
    return content
