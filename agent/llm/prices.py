"""Prices of model calls: those of the settings, or list prices."""

from collections.abc import Mapping
from typing import NamedTuple

from datasphinx.agent.settings import ModelPrice

_MILLION = 1_000_000


class TokenUsage(NamedTuple):
    """Numbers of tokens of a call; the cached ones are part of the prompt."""

    prompt: int
    completion: int
    cached: int = 0


NO_TOKENS = TokenUsage(0, 0)


def cost_usd(
    model: str, base_url: str | None, usage: tuple[int, ...], prices: Mapping[str, ModelPrice] | None = None
) -> float | None:
    """Return the cost of a call in US dollars: by `prices`, else by the list prices of genai-prices; None if unknown.

    `usage` has the numbers of prompt and completion tokens, and optionally the part of the prompt that was cached. The
    provider of a list price is derived from `base_url`; a model behind any other address has none. List prices may
    depend on the length of the prompt, so each call is priced separately.
    """
    prompt, completion, cached = TokenUsage(*usage)
    if min(prompt, completion, cached) < 0:
        return None
    cached = min(cached, prompt)
    price = (prices or {}).get(model)
    if price:
        cached_price = price.input if price.cached_input is None else price.cached_input
        return ((prompt - cached) * price.input + cached * cached_price + completion * price.output) / _MILLION
    # The list takes as long to import as two questions to answer.
    from genai_prices import Usage, calc_price

    try:
        counts = Usage(input_tokens=prompt, output_tokens=completion, cache_read_tokens=cached or None)
        return float(calc_price(counts, model, provider_api_url=base_url).total_price)
    except (LookupError, ValueError):
        return None


def price_of(model: str, base_url: str | None, prices: Mapping[str, ModelPrice]) -> ModelPrice | None:
    """Return the prices per million tokens of a short prompt, from the settings or the list; None if unknown."""
    if model in prices:
        return prices[model]
    thousand = 1000
    usages = ((thousand, 0), (0, thousand), (thousand, 0, thousand))
    costs = [cost_usd(model, base_url, usage) for usage in usages]
    known = [cost * _MILLION / thousand for cost in costs if cost is not None]
    if len(known) < len(costs):
        return None
    return ModelPrice(input=known[0], output=known[1], cached_input=known[2])
