"""BigQuery."""

from agent.engines.base import Engine


class BigQuery(Engine):
    """BigQuery."""

    name = "bigquery"
    dialect = "bigquery"
    driver = "bigquery"
    packages = ("sqlalchemy_bigquery",)
    extra = "bigquery"
