"""The recall benchmark: its data, and lower bounds for the reported figures."""

import pytest

from agent.retrieval.index import SchemaIndex
from agent.retrieval.semantic import packaged_embedder
from tests.benchmarks import recall, spider
from tests.benchmarks.spider import catalog_of

pytestmark = [
    pytest.mark.benchdata,
    pytest.mark.skipif(not spider.SCHEMAS.is_file(), reason="shared/benchmarks is not beside the project"),
]


def test_the_schema_is_spiders_and_keeps_the_name_of_the_database_out_of_sight() -> None:
    tables = spider.read_tables()

    assert len(tables) == 837
    assert SchemaIndex(catalog_of(tables)).rank("chinook") == []
    assert all(table.schema is None for table in tables.values())
    assert tables["concert_singer.concert"].foreign_keys[0].target == "concert_singer.stadium"


@pytest.mark.heavy
def test_gold_tables_are_those_that_the_gold_sql_reads() -> None:
    tables = spider.read_tables()
    dev = spider.read_dev(tables)

    assert len(dev) == 533
    assert dev[2].gold == {"car_1.continents", "car_1.countries"}
    assert len(spider.read_train(tables)) == 6999


def test_distractors_are_the_same_each_time_and_join_among_themselves() -> None:
    tables = spider.read_tables()
    widened = spider.with_distractors(tables, 2_000)
    added = {key: table for key, table in widened.items() if key not in tables}

    assert len(widened) == 2_000
    assert widened == spider.with_distractors(tables, 2_000)
    assert {len(table.columns) for table in added.values()} == {20}
    assert any(key.target in added for table in added.values() for key in table.foreign_keys)
    assert not any(key.target in tables for table in added.values() for key in table.foreign_keys)


@pytest.mark.heavy
@pytest.mark.parametrize(("meaning", "floor"), [(True, 90), (False, 85)], ids=["with meaning", "lexical"])
def test_most_questions_find_all_their_tables_among_837(meaning: bool, floor: float) -> None:
    if meaning and packaged_embedder() is None:
        pytest.skip("the extra `semantic` is not installed")
    tables = spider.read_tables()
    figures = recall.union(catalog_of(tables), spider.read_dev(tables)[::5], meaning=meaning)

    assert float(str(figures["at_15"])) >= floor


def test_within_one_database_five_tables_are_enough() -> None:
    tables = spider.read_tables()

    assert float(str(recall.per_database(tables, spider.read_dev(tables)[::5], meaning=False)["at_5"])) >= 99
