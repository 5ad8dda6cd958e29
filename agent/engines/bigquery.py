"""BigQuery."""

from agent.engines.base import Engine


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
