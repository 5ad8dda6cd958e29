"""Files and datasets are stored by content, visible to other processes, and removed when deleted."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from datasphinx.agent.datasets.dataset import Dataset
from datasphinx.agent.datasets.options import LoadOptions
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.datasets.source import open_datasets
from datasphinx.agent.errors import NotFound
from datasphinx.agent.types import Limits
from tests.agent.datasets.conftest import rows_of
from tests.agent.datasets.messy import several_sheets
from tests.agent.datasets.workbooks import rows, workbook
from tests.support.errors import of_code

CONTENT = b"city,n\nKazan,1\nTver,2\n"


def add(registry: Registry, content: bytes = CONTENT, name: str = "a.csv") -> str:
    return registry.add_stream(io.BytesIO(content), name)


def test_the_same_content_is_the_same_file_and_dataset(registry) -> None:
    first, second = add(registry), add(registry, name="b.csv")

    assert first == second
    assert registry.create(first) == registry.create(second, LoadOptions(header_row=1))
    assert len(registry.datasets()) == 1


def test_a_file_that_is_loaded_several_times_at_once_is_one_dataset(registry) -> None:
    file_id = add(registry)
    begin = threading.Barrier(4, timeout=60)

    def load(_: int) -> Dataset:
        begin.wait()
        return registry.create(file_id)

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(load, range(4))

    assert others == [first] * 3
    assert registry.datasets() == [first]
    assert rows_of(registry, first) == [["Kazan", 1], ["Tver", 2]]


def test_sheet_and_header_row_make_another_dataset(registry) -> None:
    file_id = add(registry, workbook(several_sheets), "a.xlsx")
    made = {registry.create(file_id).dataset_id, registry.create(file_id, LoadOptions(sheet="data")).dataset_id}
    other = {registry.create(file_id, LoadOptions(sheet="more")).dataset_id}
    words = add(registry, workbook(rows(["a", "b"], ["c", "d"], ["e", "f"])), "b.xlsx")

    assert len(made) == 1
    assert made != other
    assert registry.create(words).dataset_id != registry.create(words, LoadOptions(header_row=2)).dataset_id


def test_another_process_finds_all_of_it(registry, tmp_path) -> None:
    dataset = registry.create(add(registry, workbook(rows(["a", "a"], [1, "2"], [3, "4"])), "a.xlsx"))
    again = Registry(tmp_path / "data")

    assert again.dataset(dataset.dataset_id) == dataset
    assert again.datasets() == [dataset]
    assert [file.name for file in again.files()] == ["a.xlsx"]
    assert rows_of(again, dataset) == [[1, 2], [3, 4]]


def test_a_dataset_is_what_json_holds(registry) -> None:
    dataset = registry.create(add(registry))

    assert Dataset.from_json(dataset.to_json()) == dataset
    assert dataset.summary() == {
        "dataset_id": dataset.dataset_id,
        "source_type": "csv",
        "schema": [{"name": "city", "type": "VARCHAR"}, {"name": "n", "type": "BIGINT"}],
        "row_count": 2,
    }


def test_what_is_deleted_is_gone(registry, tmp_path) -> None:
    file_id = add(registry)
    dataset = registry.create(file_id)
    other = registry.create(add(registry, b"x,y\na,1\n", "x.csv"))
    open_datasets(registry, [dataset.dataset_id, other.dataset_id], Limits(5, 5)).close()
    registry.delete_file(file_id)

    assert rows_of(registry, dataset) == [["Kazan", 1], ["Tver", 2]]
    registry.delete_dataset(dataset.dataset_id)
    assert registry.datasets() == [other]
    assert not any((tmp_path / "data" / "joined").iterdir())
    with pytest.raises(NotFound, check=of_code("dataset_unknown")):
        registry.dataset(dataset.dataset_id)
    with pytest.raises(NotFound, check=of_code("file_unknown")):
        registry.create(file_id)


@pytest.mark.parametrize("unknown", ["", "ds_0000000000000000", "../files", "ds_0/../../x", "file_00000000000000001"])
def test_no_other_text_is_an_id(unknown, registry) -> None:
    with pytest.raises(NotFound, check=of_code("dataset_unknown")):
        registry.dataset(unknown)
    with pytest.raises(NotFound, check=of_code("file_unknown")):
        registry.delete_file(unknown)


def test_a_frame_is_a_dataset(registry) -> None:
    frame = pd.DataFrame({"city": ["Kazan", None], "n": [1, 2], "at": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    frame.index.name = "key"
    dataset = registry.create_from_frame(frame, "cities")

    assert dataset.source_type == "dataframe"
    assert dict(dataset.schema) == {"key": "BIGINT", "city": "VARCHAR", "n": "BIGINT", "at": "TIMESTAMP"}
    assert rows_of(registry, dataset) == [[0, "Kazan", 1, "2024-01-01T00:00:00"], [1, None, 2, "2024-01-02T00:00:00"]]
    assert registry.create_from_frame(frame.copy(), "cities") == dataset


def test_parquet_and_json_lines_keep_their_types(registry, tmp_path) -> None:
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": [1, 2], "b": [0.5, None]}).to_parquet(path, index=False)
    parquet = registry.create(registry.add_file(path))
    lines = registry.create(add(registry, b'{"a":1,"b":"x"}\n{"a":2,"c":[1,2]}\n', "a.jsonl"))

    assert (parquet.source_type, dict(parquet.schema)) == ("parquet", {"a": "BIGINT", "b": "DOUBLE"})
    assert rows_of(registry, parquet) == [[1, 0.5], [2, None]]
    assert (lines.source_type, dict(lines.schema)) == ("jsonl", {"a": "BIGINT", "b": "VARCHAR", "c": "BIGINT[]"})
    assert rows_of(registry, lines) == [[1, "x", None], [2, None, [1, 2]]]


def test_others_that_were_joined_stay_when_one_is_deleted(registry) -> None:
    contents = (CONTENT, b"x,y\na,1\n", b"k,v\nb,2\n")
    one, two, three = (registry.create(add(registry, content)).dataset_id for content in contents)
    pairs = sorted([one, two]), sorted([one, three])
    for pair in pairs:
        open_datasets(registry, pair, Limits(5, 5), is_cached=True).close()
    kept, gone = (registry.joined_path(pair, lambda _: None) for pair in reversed(pairs))
    registry.delete_dataset(two)

    assert kept.exists() and registry.cache_of(pairs[1]).exists()
    assert not gone.exists() and not registry.cache_of(pairs[0]).exists()


def test_a_file_that_is_deleted_while_it_is_read_is_read_to_its_end(registry) -> None:
    file_id = add(registry)

    def delete(stage: str, share: float) -> None:
        if registry.files():
            registry.delete_file(file_id)

    dataset = registry.create(file_id, progress=delete)
    assert registry.files() == [] and rows_of(registry, dataset) == [["Kazan", 1], ["Tver", 2]]


def test_a_broken_load_leaves_nothing(registry, tmp_path) -> None:
    def fail(stage: str, share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        registry.create(add(registry), progress=fail)

    assert registry.datasets() == []
    assert not any((tmp_path / "data" / "work").iterdir())
    assert not any((tmp_path / "data" / "datasets").iterdir())
