"""The prompts of the embedded model's jobs beside SQL, the same where it is trained and where it is asked.

Its answers, a line each:

- tables: the names of the needed tables, in the order shown, with `, ` between them;
- output type: one word, a value of `agent.state.OutputType`;
- query spec: JSON as `agent.models.training.query_specs` defines it.
"""

from collections.abc import Mapping, Sequence

from langchain_core.messages import BaseMessage
from sqlglot import exp

import prompts
from agent.catalog.brief import describe_briefly
from agent.catalog.linked_values import LinkedValue
from agent.catalog.schema import Catalog
from agent.models.embedded_prompt import speaks_of_now
from agent.sql.compact_names import quoted
from agent.sql.compact_nodes import column_of, table_of

MOST_CANDIDATES = 12
"""Tables among which the model is asked to choose."""

_MOST_COLUMNS = 16


def table_choice_messages(catalog: Catalog, selection: Mapping[str, Sequence[str]], question: str) -> list[BaseMessage]:
    """Return the messages that ask which tables of `selection`, given in the catalog's order, `question` needs."""
    return prompts.render(
        "select_tables",
        "embedded",
        tables="\n".join(table_lines(catalog, selection)),
        question=" ".join(question.split()),
    )


def table_lines(catalog: Catalog, selection: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each table of `selection`: its name and the names of its first columns."""
    lines = []
    for key, columns in selection.items():
        shown = [quoted(name) for name in columns[:_MOST_COLUMNS]]
        more = ["..."] if len(columns) > _MOST_COLUMNS else []
        lines.append(f"{table_of(catalog, key).sql()}({', '.join([*shown, *more])})")
    return lines


def output_type_messages(question: str) -> list[BaseMessage]:
    """Return the messages that ask which form the answer to `question` is to have."""
    return prompts.render("choose_output", "embedded", question=" ".join(question.split()))


def query_spec_messages(
    catalog: Catalog, table: str, question: str, values: Sequence[LinkedValue], *, today: str | None = None
) -> list[BaseMessage]:
    """Return the messages that ask for a query spec over the table with the key `table`.

    Args:
        catalog: the source.
        table: the key of the table.
        question: as the user asked it.
        values: stored values of the table that words of the question mean.
        today: the date (ISO 8601), shown where the question speaks of now.
    """
    equalities = ", ".join(_equality(catalog, link) for link in values)
    context = [f"values: {equalities}"] if equalities else []
    context += [f"today: {today}"] if today and speaks_of_now(question) else []
    return prompts.render(
        "query_spec",
        "embedded",
        schema=describe_briefly(catalog, {table: catalog.tables[table].column_names}),
        question=" ".join(question.split()),
        context="".join(f"\n{line}" for line in context),
    )


def _equality(catalog: Catalog, link: LinkedValue) -> str:
    """Return `link` as the statement prompt writes it."""
    value = exp.Literal.string(" ".join(link.value.split()))
    return exp.EQ(this=column_of(catalog, link.table, link.column, qualified=True), expression=value).sql()
