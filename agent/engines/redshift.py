"""Amazon Redshift."""

from agent.engines.base import Engine


class Redshift(Engine):
    """Amazon Redshift, with psycopg."""

    name = "redshift"
    dialect = "redshift"
    driver = "redshift"
    sqlalchemy_dialect = ("agent.engines.redshift_dialect", "RedshiftDialect")
    packages = ("psycopg",)
    extra = "redshift"
    status = "emulated"
