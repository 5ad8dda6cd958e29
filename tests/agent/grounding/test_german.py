"""Claims of German answers: those that the rows support are accepted, and all others are not."""

import pytest

from agent.grounding.claims import unsupported_claims
from agent.grounding.numbers import figures_of
from agent.messages import language_of
from agent.types import Result

REVENUE: Result = {
    "columns": ["region", "revenue"],
    "types": ["TEXT", "REAL"],
    "rows": [["Nord", 1234.5], ["Süd", 980.25], ["West", 410.0]],
    "truncated": False,
}
MONTHS: Result = {
    "columns": ["month", "revenue"],
    "types": ["TEXT", "REAL"],
    "rows": [["2024-01", 100.0], ["2024-02", 150.0], ["2024-03", 120.0]],
    "truncated": False,
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Nord hat mit 1.234,50 den höchsten Umsatz, gefolgt von Süd mit 980,25.", REVENUE),
        ("Der Gesamtumsatz der drei Regionen beträgt 2.624,75.", REVENUE),
        ("West hat mit 410 den niedrigsten Umsatz.", REVENUE),
        ("Der Umsatz von Nord ist etwa dreimal so hoch wie der von West.", REVENUE),
        ("Der Umsatz stieg von 100 im Januar 2024 auf 150 im Februar 2024.", MONTHS),
        ("Im März 2024 sank der Umsatz auf 120.", MONTHS),
    ],
)
def test_supported_claims_are_accepted(text: str, result: Result) -> None:
    assert language_of(text) == "de"
    assert [objection.claim for objection in unsupported_claims(text, result, "Wie hoch ist der Umsatz?")] == []


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Süd hat den höchsten Umsatz.", REVENUE),
        ("Nord hat mit 1.234,50 den niedrigsten Umsatz.", REVENUE),
        ("Nord hat mit 1.243,50 den höchsten Umsatz.", REVENUE),
        ("Der durchschnittliche Umsatz der Regionen beträgt 2.624,75.", REVENUE),
        ("Der Umsatz von Süd ist höher als der von Nord.", REVENUE),
        ("Der Umsatz sank im Februar 2024.", MONTHS),
        ("Der Umsatz ist stetig gestiegen.", MONTHS),
        ("Der Umsatz stieg im Februar 2024 wegen der Werbung.", MONTHS),
        ("Der Umsatz wird im nächsten Jahr weiter steigen.", MONTHS),
        ("Die Kunden sind zufrieden mit der Region Nord.", REVENUE),
    ],
)
def test_unsupported_claims_are_rejected(text: str, result: Result) -> None:
    assert language_of(text) == "de"
    assert unsupported_claims(text, result, "Wie hoch ist der Umsatz?")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Der Umsatz beträgt 1.234,56 Euro", 1234.56),
        ("Der Umsatz beträgt 1.234 Euro", 1234),
        ("Der Umsatz beträgt 3,2 Millionen Euro", 3_200_000),
        ("Der Umsatz beträgt 3,2 Mio. Euro", 3_200_000),
        ("Es gibt dreiundzwanzig Kunden in der Stadt", 23),
        ("Der Umsatz ist 12,5 Prozent höher", 12.5),
    ],
)
def test_figures_in_german(text: str, value: float) -> None:
    (figure,) = figures_of(text, with_words=True)

    assert figure.value == pytest.approx(value)
    assert (figure.kind == "percent") == ("Prozent" in text)
    assert len(figure.readings) == 1
