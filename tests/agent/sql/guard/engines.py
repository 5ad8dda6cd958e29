"""The engines whose lexers and printers the guard is compared with."""

import pytest

MARKS = {"postgres": pytest.mark.postgres, "mysql": pytest.mark.mysql, "clickhouse": pytest.mark.clickhouse}
ENGINES = [pytest.param(name, marks=[MARKS[name]] if name in MARKS else []) for name in ("sqlite", "duckdb", *MARKS)]
