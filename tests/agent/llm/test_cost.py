from pathlib import Path

import pytest

from datasphinx.agent.errors import ConfigurationError
from datasphinx.agent.llm.prices import cost_usd, price_of
from datasphinx.agent.record.step import add_costs
from datasphinx.agent.settings import ModelPrice, load_settings


def test_prices_are_the_list_prices() -> None:
    assert cost_usd("gpt-4o", None, (1_000_000, 0)) == pytest.approx(2.5)
    assert cost_usd("gpt-4o", None, (0, 1_000_000)) == pytest.approx(10)
    assert cost_usd("gpt-4o", "https://api.openai.com/v1", (1_000, 100)) == pytest.approx(0.0035)


def test_no_tokens_cost_nothing() -> None:
    assert cost_usd("gpt-4o", None, (0, 0)) == 0


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
    assert cost_usd(model, base_url, (1_000, 100)) is None


def test_a_short_prompt_is_not_priced_as_a_long_one() -> None:
    short, long = cost_usd("gemini-2.5-pro", None, (100_000, 0)), cost_usd("gemini-2.5-pro", None, (1_000_000, 0))
    assert short is not None and long is not None
    assert long > 15 * short


def test_an_endpoint_that_counts_wrongly_has_no_price() -> None:
    assert cost_usd("gpt-4o", None, (-1, 5)) is None


def test_a_sum_is_known_when_all_its_parts_are() -> None:
    assert add_costs([]) == 0
    assert add_costs([0.1, 0.2]) == pytest.approx(0.3)
    assert add_costs([0.1, None]) is None


GATEWAY = "https://proxy.example/v1"
PRICES = {"own": ModelPrice(input=2, output=8, cached_input=0.5), "gpt-4o": ModelPrice(input=1, output=1)}


def test_a_price_of_the_settings_comes_before_the_list_price() -> None:
    assert cost_usd("gpt-4o", None, (1_000_000, 1_000_000), PRICES) == pytest.approx(2)
    assert cost_usd("own", GATEWAY, (1_000_000, 500_000), PRICES) == pytest.approx(6)
    assert cost_usd("gpt-4o-mini", GATEWAY, (1_000, 1_000), PRICES) is None


def test_cached_tokens_have_their_own_price() -> None:
    assert cost_usd("own", GATEWAY, (1_000_000, 0, 400_000), PRICES) == pytest.approx(0.6 * 2 + 0.4 * 0.5)
    assert cost_usd("gpt-4o", GATEWAY, (1_000_000, 0, 400_000), PRICES) == pytest.approx(1)
    assert cost_usd("gpt-4o", None, (1_000_000, 0, 1_000_000)) == pytest.approx(1.25)


def test_more_cached_tokens_than_tokens_cost_no_less_than_nothing() -> None:
    assert cost_usd("own", GATEWAY, (100, 0, 1_000), PRICES) == pytest.approx(100 * 0.5 / 1e6)


def test_the_price_per_million_tokens_is_known_from_settings_or_list() -> None:
    assert price_of("own", GATEWAY, PRICES) == PRICES["own"]
    assert price_of("gpt-4o", None, {}) == ModelPrice(input=2.5, output=10, cached_input=1.25)
    assert price_of("own", GATEWAY, {}) is None


def test_prices_are_read_from_the_environment_and_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "datasphinx.toml").write_text('[prices."qwen2.5:7b"]\ninput = 0.1\noutput = 0.2\ncached_input = 0.05\n')
    assert load_settings().prices == {"qwen2.5:7b": ModelPrice(input=0.1, output=0.2, cached_input=0.05)}
    monkeypatch.setenv("DATASPHINX_PRICES", '{"own": {"input": 1, "output": 2}}')
    assert load_settings().prices["own"] == ModelPrice(input=1, output=2)


@pytest.mark.parametrize("price", [{"input": 1}, {"input": -1, "output": 1}, {"input": 1, "output": 1, "cached": 1}])
def test_an_incomplete_price_names_the_setting(price: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match="DATASPHINX_PRICES"):
        load_settings(prices={"own": price})
