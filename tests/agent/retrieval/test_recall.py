"""The recall benchmark: its data, and lower bounds for the reported figures."""

import pytest

from benchmarks import recall, spider
from benchmarks.spider import catalog_of
from datasphinx.agent.retrieval.index import SchemaIndex
from datasphinx.agent.retrieval.semantic import packaged_embedder

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


def test_schemas_are_combined_into_groups_without_equal_names() -> None:
    groups = spider.combined(spider.read_tables(), 110)

    assert sum(map(len, groups)) == 837 and max(map(len, groups)) <= 110
    assert all(len({table.name.lower() for table in group.values()}) == len(group) for group in groups)
    assert groups == spider.combined(spider.read_tables(), 110)


@pytest.mark.heavy
def test_prompts_with_a_list_of_tables_have_the_gold_tables_at_one_call() -> None:
    tables = spider.read_tables()
    questions = spider.read_dev(tables)[::20]
    databases = {linked.database for linked in questions}
    shown = {key: table for key, table in tables.items() if key.split(".")[0] in databases}
    (_, listed), (_, selected) = recall.in_prompts(shown, questions, len(shown))

    assert listed["gold_in_prompt"] == 100 and listed["calls"] == 1 and selected["calls"] == 2
    assert float(str(listed["gold_in_detail"])) >= 90


def test_within_one_database_five_tables_are_enough() -> None:
    tables = spider.read_tables()

    assert float(str(recall.per_database(tables, spider.read_dev(tables)[::5], meaning=False)["at_5"])) >= 99
