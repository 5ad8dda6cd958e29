"""Project files and functions that one warm question enters: `python -m benchmarks.path_of_question [--list]`.

A reader who follows a question through the code has to open these files. The models are scripted, so the figures do
not depend on an endpoint or on weights. The targets for a question to a database are 60 files and 300 functions.
"""

import argparse
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import EmbeddedOptions

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = ("agent", "nodes", "prompts")
_QUESTION = "How many customers are there?"
_SPEC = {"aggregations": [{"as": "count", "agg": "count", "col": "*"}]}


def main() -> None:
    """Print one line for each kind of question; with `--list`, also the functions by file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the functions by file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DATASPHINX_CACHE_DIR"] = os.environ["DATASPHINX_DATA_DIR"] = folder
        questions = {
            "database, scripted model": sql_question(),
            "database, embedded model": sql_question(EmbeddedOptions()),
            "CSV file, scripted model": file_question(Path(folder)),
            "CSV file, embedded model": file_question(Path(folder), EmbeddedOptions()),
        }
        for label, ask in questions.items():
            ask()
            functions = entered_functions(ask)
            print(f"{label}: {len(functions)} files, {sum(map(len, functions.values()))} functions")
            for path, names in sorted(functions.items()) if options.list else ():
                print(f"  {path}: {', '.join(sorted(names))}")


def sql_question(embedded: EmbeddedOptions | None = None) -> Callable[[], None]:
    """Return a function that asks the SQL agent about the sample shop."""
    sql = "FROM customers SELECT COUNT(*)" if embedded else {"sql": "SELECT COUNT(*) FROM customers"}
    valid = {"is_valid": True, "reason": "", "issues": [], "corrected_sql": None}
    model = ScriptedModel({"text" if embedded else "GeneratedSQL": [sql], "SQLValidation": [valid]}, repeat_last=True)
    services = Services(load_settings(), model=model, embedded=embedded)
    # The index of stored values is built in the background, and searched again once it is complete.
    services.source().complete_values()
    graph = build_graph(services)
    return lambda: _check(graph.invoke({"question": _QUESTION}))


def file_question(folder: Path, embedded: EmbeddedOptions | None = None) -> Callable[[], None]:
    """Return a function that asks the analyst about a CSV file."""
    path = folder / "customers.csv"
    path.write_text("name,city\nAnna,Oslo\nBoris,Kazan\n", encoding="utf-8")
    services = Services(load_settings())
    file_id = services.registry.add_file(path)
    dataset_id = services.registry.create(file_id).dataset_id
    query = {"tool": "run_query", "arguments": {"dataset_id": dataset_id, "query": _SPEC}}
    finish = {"tool": "finish", "arguments": {"answer": "There are 2 customers."}}

    def ask() -> None:
        model = ScriptedModel({"QuerySpec": [_SPEC] * 6} if embedded else {"AnalystStep": [query, finish]})
        asked = Services(services.settings, model=model, embedded=embedded)
        asked.registry = services.registry
        _check(build_analyst(asked).invoke({"question": _QUESTION, "files": [str(path)]}))

    return ask


def _check(output: dict[str, Any]) -> None:
    if output["error"]:
        raise SystemExit(f"the question failed: {output['answer']}")


def entered_functions(ask: Callable[[], None]) -> dict[str, set[str]]:
    """Return the functions of the project that `ask` enters in any thread, by file."""
    codes: set[CodeType] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        ask()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    functions: dict[str, set[str]] = {}
    for code in codes:
        path = Path(code.co_filename).resolve()
        if not path.is_relative_to(_ROOT) or code.co_name.startswith("<"):
            continue
        relative = path.relative_to(_ROOT)
        if relative.parts[0] in _PACKAGES:
            functions.setdefault(relative.as_posix(), set()).add(code.co_qualname)
    return functions


if __name__ == "__main__":
    main()
