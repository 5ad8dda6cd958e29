"""Compute statistics of the columns of a dataset, which the answer describes in words; the model is not offered it."""

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import SpecProblem, ToolCallInvalid
from datasphinx.agent.sql.column_statistics import column_statistics
from datasphinx.agent.sql.summary import EMPTY_SUMMARY
from datasphinx.agent.tools.run_query import result_content
from datasphinx.agent.tools.tool import Arguments, Outcome, Tool, Workbench
from datasphinx.agent.types import KeptResult, QuerySummary


class DescribeData(Arguments):
    """A dataset."""

    dataset_id: str


def describe_data(arguments: DescribeData, bench: Workbench, cancellation: Cancellation) -> Outcome:
    """Return counts, ranges, gaps and outliers of each column, and the `result_id` under which they are kept.

    Raises:
        ToolCallInvalid: the dataset is not among those of the question, or all its columns are secret.
        DatasphinxError: an error of `Workbench.table` or `datasphinx.agent.sql.execute.execute`.
    """
    source, table = bench.table(TOOL.name, arguments.dataset_id)
    if all(column.secret for column in table.columns):
        raise ToolCallInvalid(TOOL.name, (SpecProblem("dataset_id", "the values of all its columns are secret"),))
    sql = column_statistics(table, source.catalog.dialect)
    result = source.execute(sql, cancellation)
    name = table.key if bench.asks_database else bench.registry.dataset(arguments.dataset_id).name
    summary: QuerySummary = {**EMPTY_SUMMARY, "subject": name}
    kept = KeptResult(dataset_id=arguments.dataset_id, sql=sql, result=result, summary=summary)
    result_id = bench.next_result_id
    return Outcome(result_content(result_id, result), len(result["rows"]), kept=kept)


TOOL = Tool(
    "describe_data",
    "Describe a whole dataset: rows, range, gaps, outliers and frequent values of each column.",
    DescribeData,
    describe_data,
)
