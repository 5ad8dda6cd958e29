"""Trino."""

from agent.engines.base import Engine


class Trino(Engine):
    """Trino."""

    name = "trino"
    dialect = "trino"
    driver = "trino"
    packages = ("trino",)
    extra = "trino"
    ignores_case = True
    system_columns = frozenset({"$path", "$file_size", "$file_modified_time", "$partition", "$bucket"})
    quotes_make_columns = True
    dollar_reads_metadata = True
    other_dialects = ("presto",)
