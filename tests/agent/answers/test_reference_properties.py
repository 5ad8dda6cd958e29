"""Properties of references over random rows and texts: what is shown is true of the rows."""

from decimal import Decimal
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from datasphinx.agent.answers.references import Said, fill
from datasphinx.agent.answers.typed_values import figures_in
from tests.agent.answers.tables import CITIES, GRID, MONTHS, facts_about

CELLS = st.none() | st.integers(-50, 50)
CITY = st.sampled_from(["Berlin", "Paris", "Rome", "Oslo", "Bern"])
MONTH = st.integers(1, 12).map(lambda month: f"2024-{month:02}")
LIMIT = st.sampled_from(["", " LIMIT 2", " LIMIT 3", " LIMIT 9", " LIMIT 3 OFFSET 1"])
REFERENCE = st.sampled_from([
    "{u}", "{city}", "{month}", "{rows}", "{1.u}", "{-1.u}", "{1.city}", "{-1.city}", "{1.month}", "{-1.month}",
    "{max.u}", "{min.u}", "{max.u:city}", "{max.u:month}", "{min.u:city}", "{sum.u}", "{avg.u}", "{share.max.u}",
    "{share.1.u}",
    "{change.u}", "{change%.u}", "{?change.u|rose|fell|stayed}", "{list.city:u}", "{list.month}", "{rows#row|rows}",
    "{list|{u} in {city}}", "{list|{city} in {month}: {u#unit|units}}",
])  # fmt: skip
WORD = st.sampled_from(["sold", "most", "в городе", "am meisten", "最多", ",", "(", ")", "—", "{", "}", "|"])


def sorted_rows(rows: list[list[Any]], at: int, descending: bool) -> list[list[Any]]:
    return sorted(rows, key=lambda row: (row[at] is not None, row[at] or 0), reverse=descending)


@given(
    st.lists(st.tuples(CITY, MONTH, CELLS), max_size=9),
    st.lists(REFERENCE | WORD | st.just("77123"), max_size=8),
    LIMIT,
)
def test_no_typed_figure_is_shown(rows: list[Any], parts: list[str], limit: str) -> None:
    facts = facts_about(GRID + limit, sorted_rows([list(row) for row in rows], 2, True))
    result = fill(" ".join(parts), facts, Said("?"))
    if "77123" in parts:
        assert result.problems and not result.text


@given(st.lists(st.tuples(CITY, MONTH, CELLS), min_size=1, max_size=9), st.lists(REFERENCE | WORD, max_size=8), LIMIT)
def test_every_figure_is_one_of_the_rows(rows: list[Any], parts: list[str], limit: str) -> None:
    cells = sorted_rows([list(row) for row in rows], 2, True)
    text = fill(" ".join(parts), facts_about(GRID + limit, cells), Said("?")).text
    numbers = [row[2] for row in cells if row[2] is not None]
    known = {abs(number) for number in numbers} | {len(cells), 2024, abs(sum(numbers))}
    known |= {abs(one - other) for one in numbers for other in numbers}
    computed = [Decimal(abs(sum(numbers))) / max(1, len(numbers))]
    computed += [Decimal(100 * number) / sum(numbers) for number in numbers if sum(numbers)]
    computed += [abs(100 * Decimal(one - other) / other) for one in numbers for other in numbers if other]
    for figure in figures_in(text):
        values = [one for one in figure.meanings if isinstance(one, Decimal)]
        near = any(abs(value - one) < Decimal("0.06") for value in values for one in computed)
        assert near or known & set(values), (text, figure)


@given(st.lists(st.tuples(CITY, st.integers(-50, 50)), max_size=9), LIMIT)
def test_each_row_has_its_own_words(rows: list[tuple[str, int]], limit: str) -> None:
    text = fill("{list|{sales} in {city}}", facts_about(CITIES + limit, list(map(list, rows))), Said("?")).text
    named = [city for city, _ in rows]
    assert bool(text) == (bool(rows) and len(set(named)) == len(named))
    told = text.replace(" and ", ", ").split(", ") if text else []
    assert told[:7] == [f"{sales} in {city}" for city, sales in rows[:7] if text]


@given(st.dictionaries(CITY, CELLS, max_size=5), LIMIT, st.booleans(), st.booleans())
def test_who_has_most_is_who_has_most(
    found: dict[str, int | None], limit: str, descending: bool, is_sorted: bool
) -> None:
    sql = (CITIES if descending else CITIES.replace(" DESC", "")) + limit
    rows = [list(pair) for pair in found.items()]
    rows = sorted_rows(rows, 1, descending) if is_sorted else rows
    text = fill("{max.sales:city}|{max.sales}", facts_about(sql, rows), Said("?")).text
    if not text:
        return
    names, _, value = text.partition("|")
    best = max(number for number in found.values() if number is not None)
    assert value.replace("-", "−") in (str(best), str(best).replace("-", "−"))
    assert set(names.replace(" and ", ", ").split(", ")) == {name for name, number in found.items() if number == best}
    is_cut = bool(limit) and len(rows) >= int(limit.split()[1])
    assert len(set(found.values()) - {None}) > 1 or (is_cut and len(rows) == 1)
    assert "OFFSET" not in limit
    assert descending or not is_cut


@given(st.dictionaries(MONTH, st.integers(-50, 50), max_size=8), st.booleans(), st.permutations(range(8)))
def test_a_direction_is_that_of_the_periods(found: dict[str, int], ascending: bool, order: list[int]) -> None:
    sql = MONTHS if ascending else f"{MONTHS} DESC"
    rows = [[month, number] for month, number in found.items()]
    assume(len(rows) <= len(order))
    rows = [rows[at] for at in order if at < len(rows)]
    text = fill("{?change.u|rose|fell|stayed}: {change.u}", facts_about(sql, rows), Said("?")).text
    change = found[max(found)] - found[min(found)] if found else 0
    assert bool(text) == (len(found) > 1 and (change != 0 or len(set(found.values())) == 1))
    if text:
        assert text == f"{'rose' if change > 0 else 'fell' if change else 'stayed'}: {abs(change)}"


@given(st.dictionaries(st.tuples(CITY, MONTH), st.integers(0, 5), min_size=1, max_size=8))
def test_a_place_in_two_dimensions_is_named_whole(found: dict[tuple[str, str], int]) -> None:
    rows = sorted_rows([[*key, number] for key, number in found.items()], 2, True)
    facts = facts_about(GRID, rows)
    best = [key for key, number in found.items() if number == max(found.values())]
    alone = fill("{max.u:city}", facts, Said("?")).text
    cities = [city for city, _ in found]
    assert not alone or all(cities.count(city) == 1 for city, _ in best)
    is_cross = min(len({place[at] for place in best}) for at in (0, 1)) == 1
    assert not fill("{max.u:city} in {max.u:month}", facts, Said("?")).text or is_cross
