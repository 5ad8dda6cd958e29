"""Numbers computed from results, which a text about rows refers to."""

from dataclasses import replace

from datasphinx.agent.answers.computed_facts import computed_facts
from datasphinx.agent.answers.references import Said, fill
from tests.agent.answers.tables import CITIES, MONTHS, SALES, TREND, facts_about


def test_facts_have_ids_that_a_text_refers_to() -> None:
    said, facts = Said("Which city?"), facts_about(CITIES, SALES)
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
    found = computed_facts({"r1": facts_about(MONTHS, TREND[:2], "de")})
    assert [(one.text, one.value) for one in found if "fall" in one.text] == [
        ("u, fall from 2024-01 to 2024-02", "300"),
        ("u, fall from 2024-01 to 2024-02 in per cent", "60\xa0%"),
    ]


def test_rows_without_a_name_have_no_facts_of_their_own() -> None:
    found = computed_facts({"r1": facts_about(CITIES, [*SALES, [None, 100.0]])})
    assert {one.name for one in found} == {"", *(city for city, _ in SALES)}


def test_a_change_of_shares_is_one_in_percentage_points() -> None:
    found = computed_facts({"r1": facts_about(MONTHS, [["2024-01", 0.5], ["2024-02", 0.4]], u="fraction")})
    assert [(one.text, one.value) for one in found if "fall" in one.text] == [
        ("u, fall from 2024-01 to 2024-02 in percentage points", "10"),
    ]


def test_cut_rows_have_no_totals() -> None:
    facts = facts_about(CITIES, SALES)
    assert computed_facts({"r1": facts.with_rows({**facts.result, "truncated": True})}) == []
