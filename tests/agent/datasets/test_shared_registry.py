"""Files and datasets in PostgreSQL: two processes with a data directory each keep, find and delete the same ones."""

import io
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from datasphinx.agent.datasets.limits import LoadLimits
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.datasets.shared_registry import SharedRegistry
from datasphinx.agent.datasets.source import DatasetSources
from datasphinx.agent.errors import DatasphinxError, NotFound, Unavailable
from datasphinx.agent.storage import files
from datasphinx.agent.storage.database import SharedDatabase
from datasphinx.agent.storage.files import SharedFiles
from datasphinx.agent.types import Limits
from tests.agent.datasets.conftest import rows_of
from tests.agent.record.stores import drop_tables, fresh_url
from tests.agent.sql.engines import POSTGRES_URL
from tests.support.errors import of_code
from tests.support.round_robin import RoundRobin

pytestmark = pytest.mark.postgres

CONTENT = b"city,n\nKazan,1\nTver,2\n"
Opened = Callable[[str], SharedRegistry]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a database that all tests use, each with tables of its own."""
    with fresh_url("postgres", tmp_path_factory.mktemp("registry")) as url:
        yield url


@pytest.fixture
def database(url: str) -> Iterator[SharedDatabase]:
    yield SharedDatabase(url)
    drop_tables(url)


@pytest.fixture
def opened(database: SharedDatabase, tmp_path: Path) -> Opened:
    """Opens the registry of a process in a data directory of this name."""
    return lambda name: SharedRegistry(tmp_path / name, LoadLimits(), SharedFiles(database, "acme"))


def add(registry: SharedRegistry, content: bytes = CONTENT, name: str = "a.csv") -> str:
    return registry.add_stream(io.BytesIO(content), name)


def copies(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.heavy
def test_another_machine_finds_lists_and_reads(opened: Opened, tmp_path: Path) -> None:
    one, other = opened("one"), opened("other")
    dataset = one.create(add(one))
    joined = one.create(add(one, b"x,y\na,1\n", "x.csv"))

    assert other.datasets() == [dataset, joined]
    assert [file.name for file in other.files()] == ["a.csv", "x.csv"]
    assert copies(tmp_path / "other") == []
    assert rows_of(other, dataset) == [["Kazan", 1], ["Tver", 2]]
    assert copies(tmp_path / "other") == [f"{dataset.dataset_id}.duckdb"]
    assert other.file(dataset.file_id).path.read_bytes() == CONTENT
    assert other.create(dataset.file_id, LoadOptions(header_row=1)) == dataset


def test_what_is_deleted_is_gone_everywhere(opened: Opened, tmp_path: Path) -> None:
    one, other = opened("one"), opened("other")
    dataset = one.create(add(one))
    sources, limits = DatasetSources(), Limits(5, 5)
    source = sources.source(one, [dataset.dataset_id], limits)
    other.delete_dataset(dataset.dataset_id)
    other.delete_file(dataset.file_id)

    with pytest.raises(NotFound, check=of_code("dataset_unknown")):
        sources.source(one, [dataset.dataset_id], limits)
    source.close()
    assert one.datasets() == [] and one.files() == []
    assert copies(tmp_path / "one") == copies(tmp_path / "other") == []
    for call in (one.delete_dataset, one.path_of):
        with pytest.raises(NotFound, check=of_code("dataset_unknown")):
            call(dataset.dataset_id)
    for call in (one.delete_file, one.file, one.create):
        with pytest.raises(NotFound, check=of_code("file_unknown")):
            call(dataset.file_id)


def test_what_was_deleted_can_be_kept_again(opened: Opened) -> None:
    one, other = opened("one"), opened("other")
    dataset = one.create(add(one))
    other.delete_dataset(dataset.dataset_id)
    other.delete_file(dataset.file_id)

    assert other.create(add(other, name="b.csv")).name == "b.csv"
    assert rows_of(one, one.dataset(dataset.dataset_id)) == [["Kazan", 1], ["Tver", 2]]


@pytest.mark.heavy
def test_files_of_many_parts(opened: Opened, database: SharedDatabase, tmp_path: Path) -> None:
    one, other = opened("one"), opened("other")
    content = b"city,n\n" + b"".join(b"Kazan,%d\n" % number for number in range(300_000))
    dataset = one.create(add(one, content))

    assert len(content) > 3 * files._PART_BYTES and other.file(dataset.file_id).path.read_bytes() == content
    assert other.path_of(dataset.dataset_id).read_bytes() == one.path_of(dataset.dataset_id).read_bytes()
    with database.transaction() as connection:
        known = connection.execute(text("SELECT owner, bytes, kept_at FROM datasphinx_files WHERE id LIKE 'file_%'"))
        owner, size, kept_at = known.one()
        assert (owner, size, kept_at[:2]) == ("acme", len(content), "20")
    one.delete_file(dataset.file_id)
    one.delete_dataset(dataset.dataset_id)
    with database.transaction() as connection:
        assert connection.execute(text("SELECT count(*) FROM datasphinx_file_parts")).scalar() == 0


def test_what_is_no_table_leaves_no_dataset(opened: Opened) -> None:
    one = opened("one")
    file_id = add(one, b"only,a,header\n")
    with pytest.raises(DatasphinxError):
        one.create(file_id)
    assert one.datasets() == []
    one.delete_file(file_id)
    assert one.files() == []


def test_owners_do_not_see_each_other(opened: Opened, database: SharedDatabase, tmp_path: Path) -> None:
    one, beta = opened("one"), SharedRegistry(tmp_path / "beta", LoadLimits(), SharedFiles(database, "beta"))
    dataset = one.create(add(one))

    assert beta.datasets() == [] and beta.files() == []
    for call in (beta.dataset, beta.path_of, beta.delete_dataset):
        with pytest.raises(NotFound, check=of_code("dataset_unknown")):
            call(dataset.dataset_id)
    with pytest.raises(NotFound, check=of_code("file_unknown")):
        beta.delete_file(dataset.file_id)
    assert one.datasets() == [dataset]


@pytest.mark.parametrize(
    "unknown", ["", "ds_0000000000000000", "../files", "ds_0\0", "file_00000000000000001", "\ud800"]
)
def test_no_other_text_is_an_id(opened: Opened, unknown: str) -> None:
    one = opened("one")
    dataset = one.create(add(one))
    for call in (one.dataset, one.path_of, one.delete_dataset):
        for name in (unknown, dataset.file_id):
            with pytest.raises(NotFound, check=of_code("dataset_unknown")):
                call(name)
    for call in (one.file, one.delete_file, one.create):
        for name in (unknown, dataset.dataset_id):
            with pytest.raises(NotFound, check=of_code("file_unknown")):
                call(name)
    assert one.datasets() == [dataset] and len(one.files()) == 1


@pytest.mark.heavy
def test_many_processes_keep_and_read_the_same_at_once(opened: Opened) -> None:
    registries = [opened(f"process_{number % 3}") for number in range(9)]
    begin = threading.Barrier(9, timeout=20)

    def keep(registry: SharedRegistry) -> list[list[object]]:
        begin.wait()
        return rows_of(registry, registry.create(add(registry)))

    with ThreadPoolExecutor(9) as pool:
        assert list(pool.map(keep, registries)) == [[["Kazan", 1], ["Tver", 2]]] * 9
    assert len(registries[0].datasets()) == len(registries[0].files()) == 1


def test_damage_in_the_database_is_seen(opened: Opened, database: SharedDatabase) -> None:
    one, other = opened("one"), opened("other")
    dataset = one.create(add(one))
    with database.transaction() as connection:
        connection.execute(text("UPDATE datasphinx_file_parts SET content = 'other'"))
    with pytest.raises(Unavailable, match="damaged"):
        other.path_of(dataset.dataset_id)


def test_files_of_before_are_left_alone(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "one/files").mkdir(parents=True)
    (tmp_path / "one/files/file_0123456789abcdef").write_bytes(CONTENT)
    assert opened("one").datasets() == []
    assert copies(tmp_path / "one") == ["file_0123456789abcdef"]


def test_a_database_that_is_away_and_comes_back(tmp_path: Path) -> None:
    with fresh_url("postgres", tmp_path) as url, RoundRobin([make_url(POSTGRES_URL).port or 5432]) as proxy:
        through = make_url(url).set(host="127.0.0.1", port=proxy.port).render_as_string(hide_password=False)
        registry = SharedRegistry(tmp_path / "one", LoadLimits(), SharedFiles(SharedDatabase(through), ""))
        file_id = add(registry)
        proxy.cut()
        for call in (registry.datasets, registry.files, lambda: registry.create(file_id), lambda: add(registry)):
            with pytest.raises(Unavailable):
                call()
        proxy.mend()
        assert registry.datasets() == []
        assert registry.create(file_id).row_count == 2
