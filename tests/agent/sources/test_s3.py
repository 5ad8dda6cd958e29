"""Sources over files and lake tables in S3, on a server of this machine."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ConfigurationError, SourceNotFound, SourceUnreachable, Unavailable
from datasphinx.agent.settings import StorageSettings
from datasphinx.agent.sources.storage import storage_options
from tests.lakes import KEYS, bucket_store, open_files, rows, s3_server, storage, upload, write_sales
from tests.support.errors import of_code

pytestmark = [pytest.mark.integration, pytest.mark.server]


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("bucket")
    write_sales(folder / "sales")
    (folder / "sales/_SUCCESS").touch()
    (folder / "regions.csv").write_text("region,manager\nnorth,Ann\nsouth,Bo\n")
    with s3_server() as url:
        upload(url, "lake-data", folder)
        yield url


def test_objects_are_read_by_pattern(server: str) -> None:
    files = ["s3://lake-data/sales/**", "s3://lake-data/regions.csv"]
    with closing(open_files(files, storage=storage(server))) as source:
        assert set(source.catalog.tables) == {"sales", "regions"}
        sql = (
            "SELECT manager, sum(amount) FROM sales JOIN regions USING (region) WHERE year = 2024 GROUP BY 1 ORDER BY 1"
        )
        assert rows(source, sql) == [["Ann", 10.5], ["Bo", 21.0]]


@pytest.mark.parametrize("path", ["sales", "sales/", "sales/*/part-?.parquet", "sales/year=202[!5]/*"])
def test_folders_and_patterns(server: str, path: str) -> None:
    with closing(open_files([f"s3://lake-data/{path}"], storage=storage(server))) as source:
        assert rows(source, "SELECT count(*), min(year), max(year) FROM sales") == [[9, 2022, 2024]]


def test_credentials_of_the_environment(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(f"AWS_{name.upper()}", value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    with closing(open_files(["s3://lake-data/regions.csv"])) as source:
        assert rows(source, "SELECT count(*) FROM regions") == [[2]]


def test_new_objects_are_found_by_a_refresh(server: str, tmp_path: Path) -> None:
    import obstore

    upload(server, "changing-data", write_sales(tmp_path / "sales").parent)
    with closing(open_files(["s3://changing-data/sales/**"], storage=storage(server))) as source:
        write_sales(tmp_path / "sales", (2025,))
        store = bucket_store(server, "changing-data")
        obstore.put(store, "sales/year=2025/part-0.parquet", (tmp_path / "sales/year=2025/part-0.parquet").read_bytes())
        obstore.delete(store, "sales/year=2022/part-0.parquet")
        source.refresh()
        assert rows(source, "SELECT DISTINCT year FROM sales ORDER BY 1") == [[2023], [2024], [2025]]


def test_missing_buckets_and_objects(server: str) -> None:
    for path in ("s3://lake-data/none.parquet", "s3://lake-data/none/**", "s3://no-such-bucket/sales/**"):
        with pytest.raises(SourceNotFound) as missing:
            open_files({"sales": path}, storage=storage(server))
        assert missing.value.source == path


def test_a_server_that_does_not_respond() -> None:
    with pytest.raises(SourceUnreachable):
        open_files(["s3://lake-data/sales/**"], storage=storage("http://127.0.0.1:9"))


def test_missing_credentials(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The role of the machine is asked at this address.
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigurationError, match="there are no credentials"):
        open_files(["s3://lake-data/sales/**"], storage={"endpoint": server, "region": "us-east-1"})


@pytest.fixture
def denying_server(server: str) -> Iterator[str]:
    import httpx

    httpx.post(f"{server}/moto-api/reset-auth", content=b"0", trust_env=False).raise_for_status()
    yield server
    httpx.post(f"{server}/moto-api/reset-auth", content=b"1000000", trust_env=False).raise_for_status()


@pytest.mark.parametrize("path", ["sales/**", "regions.csv", "sales"])
def test_denied_credentials(denying_server: str, path: str) -> None:
    with pytest.raises(Unavailable, check=of_code("storage_denied")) as denied:
        open_files([f"s3://lake-data/{path}"], storage=storage(denying_server))
    assert "lake-data" in denied.value.path
    assert KEYS["secret_access_key"] not in str(denied.value)


def test_credentials_of_two_places_are_not_mixed() -> None:
    environment = {
        "AWS_SESSION_TOKEN": "t",
        "AWS_ENDPOINT_URL": "https://other",
        "AWS_REGION": "eu-west-1",
        "HOME": "/",
    }
    settings = StorageSettings.model_validate(
        {"endpoint": "http://here", "access_key_id": "a", "secret_access_key": "b"}
    )
    assert storage_options(settings, environment) == {
        "aws_region": "eu-west-1", "aws_endpoint": "http://here", "aws_access_key_id": "a",
        "aws_secret_access_key": "b", "aws_allow_http": "true",
    }  # fmt: skip


def test_credentials_are_redacted_from_the_record() -> None:
    from datasphinx.agent.record.credentials import secrets_of
    from datasphinx.agent.settings import load_settings

    sources: Any = {"lake": {"files": ["s3://lake-data/sales"], "storage": {**KEYS, "session_token": "token-1"}}}
    secrets = secrets_of(load_settings(sources=sources))
    assert {KEYS["secret_access_key"], "token-1"} <= set(secrets)
