"""Makes the picture in the README: one question on a terminal, with a scripted model in the place of a large one."""

import io
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from datasphinx.agent.cli import render
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.generated_docs import ROOT

QUESTION = "Which region had the highest sales in 2025?"
# The first statement has a wrong name, so that the picture also shows what happens then.
STATEMENTS = (
    "SELECT region_name, SUM(total_amount) AS sales FROM orders GROUP BY region_name",
    "SELECT r.name AS region, ROUND(SUM(o.total_amount)) AS sales FROM orders AS o"
    " JOIN customers AS c ON c.customer_id = o.customer_id JOIN regions AS r ON r.region_id = c.region_id"
    " WHERE o.ordered_on BETWEEN '2025-01-01' AND '2025-12-31' AND o.status <> 'cancelled' "
    "GROUP BY r.name ORDER BY sales DESC",
)
ASSUMED = ["cancelled orders do not count"]


def main() -> None:
    """Write `docs/demo.svg`."""
    console = Console(file=io.StringIO(), record=True, width=110, force_terminal=True)
    console.print(Text.assemble(("$ ", "dim"), f'datasphinx ask --verbose "{QUESTION}"'))
    with tempfile.TemporaryDirectory() as folder:
        statements = [{"sql": sql, "assumptions": ASSUMED} for sql in STATEMENTS]
        model = ScriptedModel({"GeneratedSQL": statements})
        graph = build_graph(Services(load_settings(cache_dir=Path(folder), data_dir=Path(folder)), model=model))
        for mode, chunk in graph.stream({"question": QUESTION}, stream_mode=["updates", "values"]):
            if mode == "updates":
                render.show_steps({node: update for node, update in chunk.items() if update}, console)
        render.show(chunk, console)
    console.save_svg(str(ROOT / "docs/demo.svg"), title="datasphinx", theme=MONOKAI)


if __name__ == "__main__":
    main()
