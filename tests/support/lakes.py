"""Files for the tests of sources over files."""

from pathlib import Path
from typing import Any

from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits


def open_files(
    files: Any,
    limits: Limits = Limits(20, 1000),  # noqa: B008 - frozen
    cache_dir: Path | None = None,
    **settings: object,
) -> Source:
    """Open a source over `files`, with these other settings of the source."""
    return open_source(
        SourceSettings.model_validate({"files": files, **settings}), limits, cache_dir=cache_dir, profile_budget_s=60
    )


def write_parquet(path: Path, select: str) -> Path:
    """Write the rows of a statement of DuckDB into a Parquet file."""
    import duckdb

    path.parent.mkdir(parents=True, exist_ok=True)
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def write_sales(folder: Path, years: tuple[int, ...] = (2022, 2023, 2024)) -> Path:
    """Write `folder/year=YEAR/part-0.parquet` with three sales for each year."""
    for year in years:
        write_parquet(
            folder / f"year={year}" / "part-0.parquet",
            f"SELECT {year} * 10 + n AS sale_id, ['north', 'south', 'west'][n] AS region, n * 10.5 AS amount"
            " FROM range(1, 4) AS numbers(n)",
        )
    return folder


def rows(source: Source, sql: str) -> list[list[Any]]:
    """Return the rows of a statement."""
    return source.execute(sql)["rows"]
