"""Names of months, weekdays and quarters sort by the calendar, in every language of the product."""

from collections.abc import Callable
from typing import Any

import pytest

from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.datasets.source import open_datasets
from datasphinx.agent.queryspec.columns import Datasets
from datasphinx.agent.queryspec.compile import run
from datasphinx.agent.queryspec.spec import QuerySpec
from datasphinx.agent.types import Limits
from tests.agent.datasets.conftest import Loaded

NAMES = {
    "1月 to 12月": [f"{number}月" for number in range(1, 13)],
    "一月": ["一月", "二月", "三月", "十月", "十二月"],
    "Jan": ["Jan", "Feb", "Apr", "Aug", "Dec"],
    "January": ["January", "April", "August"],
    "янв": ["янв", "апр", "авг", "сент"],
    "three letters": ["янв", "фев", "мар", "июн", "сен", "ноя"],
    "Январь": ["Январь", "Апрель", "Август", "Декабрь"],
    "März": ["Januar", "März", "Oktober", "Dezember"],
    "weekdays": ["Monday", "Wednesday", "Friday", "Sunday"],
    "Wochentage": ["Montag", "Dienstag", "Freitag"],
    "周一": ["周一", "周二", "周三", "周日"],
    "quarters": ["Q1", "Q2", "Q3", "Q4"],
    "1月份": ["1月份", "2月份", "9月份", "10月份"],
    "1 月": ["1 月", "2 月", "10 月"],
    "一季度": ["一季度", "二季度", "三季度", "四季度"],
    "Mrz": ["Jan", "Feb", "Mrz", "Apr", "Okt"],
    "Jänner": ["Jänner", "Februar", "März", "April"],
    "週一": ["週一", "週二", "週日"],
    "quarters of years": ["Q1 2024", "Q4 2024", "Q1 2025", "Q2 2025"],
    "1 кв. 2024": ["1 кв. 2024", "2 кв. 2024", "1 кв. 2025"],
    "2024年一季度": ["2024年三季度", "2024年四季度", "2025年一季度"],
}
CHANGES = {
    "group_by": ["period"],
    "aggregations": [{"as": "total", "agg": "sum", "col": "sold"}],
    "derived": [{"as": "change", "expr": "change_from_previous(total)"}],
}


def rows_of(registry: Registry, loaded: Loaded, spec: dict[str, Any], *others: Loaded) -> list[list[Any]]:
    names = [each.dataset.dataset_id for each in (loaded, *others)]
    source = open_datasets(registry, names, Limits(10, 100))
    try:
        datasets = Datasets(names[0], source.catalog.tables, values=source.catalog.values)
        return run(QuerySpec.model_validate(spec), datasets, source)["rows"]
    finally:
        source.close()


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(
            names,
            id=kind,
            marks=[] if kind in ("1月份", "янв", "Mrz", "quarters of years") else [pytest.mark.heavy],
        )
        for kind, names in NAMES.items()
    ],
)
def test_groups_and_changes_follow_the_calendar(
    registry: Registry, load: Callable[..., Loaded], names: list[str]
) -> None:
    cells = [(name, 10 * at) for at, name in enumerate(names)]
    text = "period,sold\n" + "".join(f"{name},{sold}\n" for name, sold in sorted(cells, reverse=True))
    loaded = load("sales.csv", text.encode())
    found = rows_of(registry, loaded, CHANGES)

    assert [row[0] for row in found] == names
    assert [row[2] for row in found] == [None, *[10] * (len(names) - 1)]
    last = {**CHANGES, "sort": [{"by": "period", "desc": True}], "limit": 1}
    assert rows_of(registry, loaded, last)[0][0] == names[-1]


def test_filters_compare_the_names_as_text(registry: Registry, load: Callable[..., Loaded]) -> None:
    loaded = load("sales.csv", "period,sold\n10月,1\n9月,2\n1月,3\n".encode())
    spec = {**CHANGES, "filters": [{"col": "period", "op": "in", "value": ["10月", "13月"]}]}

    assert rows_of(registry, loaded, spec) == [["10月", 1, None]]
    assert rows_of(registry, loaded, {**CHANGES, "filters": [{"col": "period", "op": "=", "value": "13月"}]}) == []


def test_filters_and_extremes_follow_the_calendar(registry: Registry, load: Callable[..., Loaded]) -> None:
    loaded = load("sales.csv", "period,sold\n10月,1\n9月,2\n1月,3\n".encode())
    later = {**CHANGES, "filters": [{"col": "period", "op": ">=", "value": "8月"}]}
    between = {**CHANGES, "filters": [{"col": "period", "op": "between", "value": ["1月", "9月"]}]}
    ends = {"aggregations": [{"as": agg, "agg": agg, "col": "period"} for agg in ("min", "max")]}

    assert [row[0] for row in rows_of(registry, loaded, later)] == ["9月", "10月"]
    assert [row[0] for row in rows_of(registry, loaded, between)] == ["1月", "9月"]
    assert rows_of(registry, loaded, ends) == [["1月", "10月"]]


def test_names_of_which_some_are_not_known_are_compared_as_text(
    registry: Registry, load: Callable[..., Loaded]
) -> None:
    quarters = (f"Q{number} {year}" for year in range(1900, 2000) for number in range(1, 5))
    loaded = load("sales.csv", "\n".join(["period,sold", *(f"{quarter},1" for quarter in quarters)]).encode())
    counted = [{"as": "rows", "agg": "count", "col": "*"}]
    later = {"aggregations": counted, "filters": [{"col": "period", "op": ">=", "value": "Q1 1900"}]}

    assert rows_of(registry, loaded, later) == [[400]]


def test_united_files_keep_the_order(registry: Registry, load: Callable[..., Loaded]) -> None:
    first = load("first.csv", "period,sold\n10月,1\n9月,2\n".encode())
    second = load("second.csv", "period,sold\n11月,3\n1月,4\n".encode())
    parts = [{"from": each.dataset.dataset_id} for each in (first, second)]
    spec = {**CHANGES, "from": {"union": parts, "label": "file"}, "sort": [{"by": "period"}]}

    assert rows_of(registry, first, spec, second) == [["1月", 4, None], ["9月", 2, -2], ["10月", 1, -1], ["11月", 3, 2]]


@pytest.mark.parametrize(
    "text", ["Mar\nMay\nBea\n", "May\nMay\nMay\n", "Q1\nMonday\nQ2\n", "Jay\nDee\nJan\n", "Store 1\nStore 2\n"]
)
def test_other_texts_stay_text(load: Callable[..., Loaded], text: str) -> None:
    assert load("names.csv", f"name\n{text}".encode()).schema == {"name": "VARCHAR"}
