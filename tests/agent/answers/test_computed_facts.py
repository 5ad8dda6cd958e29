"""Numbers computed from results, which a text about rows refers to."""

from dataclasses import replace

from datasphinx.agent.answers.computed_facts import computed_facts
from datasphinx.agent.answers.references import Said, facts_of, fill
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.types import Result
from tests.agent.answers.tables import CATALOG, CITIES, MONTHS, SALES, TREND


def test_facts_have_ids_that_a_text_refers_to() -> None:
    said = Said("Which city?")
    cities = Result(columns=["city", "sales"], types=["string", "float"], rows=SALES, truncated=False)
    facts = facts_of(with_formats(cities, CITIES, CATALOG), CITIES, CATALOG, "en")
    found = computed_facts({"cities": facts})
    assert [(one.id, one.text, one.value) for one in found] == [
        ("f1", "sales, total", "800.5"),
        ("f2", "sales, average of the rows", "266.83"),
        ("f3", "sales of Berlin, share of the total", "62.5%"),
        ("f4", "sales of Paris, share of the total", "25%"),
        ("f5", "sales of Rome, share of the total", "12.5%"),
    ]
    facts = replace(facts, computed={one.id: one for one in found})
    assert fill("Together they sold {f1}.", facts, said).text == "Together they sold 800.5."
    assert fill("Together they sold {f9}.", facts, said).problems
    assert fill("{f3.name} has {f3} of it.", facts, said).text == "Berlin has 62.5% of it."
    assert fill("{max.sales:city} has {f4} of it.", facts, said).problems


def test_a_change_is_the_size_of_a_rise_or_fall() -> None:
    months = Result(columns=["month", "u"], types=["string", "integer"], rows=TREND[:2], truncated=False)
    found = computed_facts({"r1": facts_of(with_formats(months, MONTHS, CATALOG), MONTHS, CATALOG, "de")})
    assert [(one.text, one.value) for one in found if "fall" in one.text] == [
        ("u, fall from 2024-01 to 2024-02", "300"),
        ("u, fall from 2024-01 to 2024-02 in per cent", "60\xa0%"),
    ]


def test_rows_without_a_name_have_no_facts_of_their_own() -> None:
    rows = [*SALES, [None, 100.0]]
    cities = Result(columns=["city", "sales"], types=["string", "float"], rows=rows, truncated=False)
    found = computed_facts({"r1": facts_of(with_formats(cities, CITIES, CATALOG), CITIES, CATALOG, "en")})
    assert {one.name for one in found} == {"", *(city for city, _ in SALES)}


def test_a_change_of_shares_is_one_in_percentage_points() -> None:
    months = Result(columns=["month", "u"], types=["string", "float"], rows=[["2024-01", 0.5], ["2024-02", 0.4]],
                    truncated=False)  # fmt: skip
    formatted = with_formats(months, MONTHS, CATALOG)
    formatted["formats"] = [formatted["formats"][0], {"kind": "fraction", "decimals": 1, "unit": ""}]
    found = computed_facts({"r1": facts_of(formatted, MONTHS, CATALOG, "en")})
    assert [(one.text, one.value) for one in found if "fall" in one.text] == [
        ("u, fall from 2024-01 to 2024-02 in percentage points", "10"),
    ]


def test_cut_rows_have_no_totals() -> None:
    cities = Result(columns=["city", "sales"], types=["string", "float"], rows=SALES, truncated=True)
    assert computed_facts({"r1": facts_of(with_formats(cities, CITIES, CATALOG), CITIES, CATALOG, "en")}) == []
