"""Files, lake tables and an S3 server for the tests of sources over files."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits

KEYS = {"access_key_id": "reader", "secret_access_key": "reader-secret", "region": "us-east-1"}


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


@contextmanager
def s3_server() -> Iterator[str]:
    """Run an S3 server on this machine; yield its URL."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def upload(url: str, bucket: str, folder: Path) -> None:
    """Create `bucket` with the files below `folder`."""
    store = bucket_store(url, bucket)
    import httpx
    import obstore

    httpx.put(f"{url}/{bucket}", trust_env=False).raise_for_status()
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            obstore.put(store, path.relative_to(folder).as_posix(), path.read_bytes())


def bucket_store(url: str, bucket: str) -> Any:
    """Return a client that can write to `bucket`."""
    from obstore.store import S3Store

    return S3Store(bucket, endpoint=url, client_options={"allow_http": True}, **KEYS)  # type: ignore[arg-type]


def rows(source: Source, sql: str) -> list[list[Any]]:
    """Return the rows of a statement."""
    return source.execute(sql)["rows"]


def storage(url: str, **changed: object) -> Mapping[str, object]:
    """Return the settings of the storage for the S3 server at `url`."""
    return {"endpoint": url, **KEYS, **changed}
