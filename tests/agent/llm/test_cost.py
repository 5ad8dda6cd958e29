import pytest

from agent.llm.client import cost_usd
from agent.record.step import add_costs


def test_prices_are_the_list_prices() -> None:
    assert cost_usd("gpt-4o", None, 1_000_000, 0) == pytest.approx(2.5)
    assert cost_usd("gpt-4o", None, 0, 1_000_000) == pytest.approx(10)
    assert cost_usd("gpt-4o", "https://api.openai.com/v1", 1_000, 100) == pytest.approx(0.0035)


def test_no_tokens_cost_nothing() -> None:
    assert cost_usd("gpt-4o", None, 0, 0) == 0


@pytest.mark.parametrize(
    ("model", "base_url"),
    [
        ("somebodys-own-model", None),
        ("", None),
        ("gpt-4o", "http://127.0.0.1:8000/v1"),
        ("gpt-4o", "https://proxy.example/v1"),
        ("somebodys-own-model", "https://api.openai.com/v1"),
    ],
)
def test_what_is_not_listed_has_no_price(model: str, base_url: str | None) -> None:
    assert cost_usd(model, base_url, 1_000, 100) is None


def test_a_short_prompt_is_not_priced_as_a_long_one() -> None:
    short, long = cost_usd("gemini-2.5-pro", None, 100_000, 0), cost_usd("gemini-2.5-pro", None, 1_000_000, 0)
    assert short is not None and long is not None
    assert long > 15 * short


def test_an_endpoint_that_counts_wrongly_has_no_price() -> None:
    assert cost_usd("gpt-4o", None, -1, 5) is None


def test_a_sum_is_known_when_all_its_parts_are() -> None:
    assert add_costs([]) == 0
    assert add_costs([0.1, 0.2]) == pytest.approx(0.3)
    assert add_costs([0.1, None]) is None
