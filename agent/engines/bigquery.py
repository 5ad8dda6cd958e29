"""BigQuery."""

from sqlglot import exp

from agent.engines.base import Engine, print_at_time_zone


class BigQuery(Engine):
    """BigQuery."""

    name = "bigquery"
    dialect = "bigquery"
    driver = "bigquery"
    packages = ("sqlalchemy_bigquery",)
    extra = "bigquery"
    folds_with = True
    system_columns = frozenset({"_file_name"})
    quotes_make_columns = True
    row_functions = frozenset({"unnest"})
    transforms = {exp.AtTimeZone: print_at_time_zone}
    has_exact_tables = True
    double_quotes_are_text = True
    compares_strictly = True
    rejects_number_for_text = True
    groups_strictly = True
    confusion_rank = 5

    def folded_for_sqlglot(self, name: str) -> str:
        """Return `name` in lower case."""
        return name.lower()
