"""What a model call costs."""

from functools import lru_cache


def cost_usd(model: str, base_url: str | None, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the price of a call in US dollars by the list prices of genai-prices; None for a model not listed."""
    per_million = _prices(model, base_url)
    if per_million is None:
        return None
    return (prompt_tokens * per_million[0] + completion_tokens * per_million[1]) / 1_000_000


@lru_cache(maxsize=64)
def _prices(model: str, base_url: str | None) -> tuple[float, float] | None:
    """Return the prices of a million prompt and completion tokens."""
    from genai_prices import Usage, calc_price

    million = 1_000_000
    try:
        prices = [
            calc_price(usage, model, provider_api_url=base_url).total_price
            for usage in (Usage(input_tokens=million, output_tokens=0), Usage(input_tokens=0, output_tokens=million))
        ]
    except LookupError:
        return None
    return float(prices[0]), float(prices[1])
