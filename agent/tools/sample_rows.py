"""Tool: return the first rows of a dataset."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from sqlglot import exp

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import SpecProblem, ToolCallInvalid
from datasphinx.agent.queryspec.spec import nearest
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.tools.tool import Arguments, Outcome, Tool, Workbench, select
from datasphinx.agent.types import masked_rows

MAX_ROWS = 20
_MAX_COLUMNS = 30


def _at_most(number: Any) -> Any:
    return min(number, MAX_ROWS) if isinstance(number, int) else number


class SampleRows(Arguments):
    """A dataset, how many of its first rows, and which columns."""

    dataset_id: str
    n: Annotated[int, Field(ge=1, le=MAX_ROWS), BeforeValidator(_at_most)] = 5
    columns: Annotated[list[str], Field(min_length=1, max_length=_MAX_COLUMNS)] | None = Field(
        None, description=f"Names of columns; default: the first {_MAX_COLUMNS}."
    )


def sample_rows(arguments: SampleRows, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return the first `n` rows, by default without secret and personal columns; values that look personal are masked.

    Raises:
        ToolCallInvalid: the dataset or a column does not exist, or a column is secret or personal.
    """
    source, table = bench.table(TOOL.name, arguments.dataset_id)
    open_names = [column.name for column in source.open_columns(table)]
    names = arguments.columns or open_names[:_MAX_COLUMNS]
    problems = tuple(
        SpecProblem(f"columns[{at}]", f"the values of {name} are secret")
        if name in table.column_names
        else SpecProblem(f"columns[{at}]", f"there is no column {name}", nearest(name, open_names))
        for at, name in enumerate(names)
        if name not in open_names
    )
    if problems:
        raise ToolCallInvalid(TOOL.name, problems)
    nodes = [exp.column(name, quoted=True) for name in names]
    rows = select(nodes, table, source, cancellation, arguments.n)["rows"]
    kinds = {name: personal_content(source.catalog, table, table.column(name)) for name in names}
    shown = masked_rows(rows, [at for at, name in enumerate(names) if kinds[name]])
    masked = {name: kind for name, kind in kinds.items() if kind}
    return Outcome({"columns": list(names), "rows": shown, **({"masked": masked} if masked else {})}, len(rows))


TOOL = Tool("sample_rows", "Show up to 20 first rows of a dataset.", SampleRows, sample_rows)
