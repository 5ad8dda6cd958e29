"""What a model call costs."""


def cost_usd(model: str, base_url: str | None, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return the price of a call in US dollars by the list prices of genai-prices; None for a model not listed.

    The provider is told by `base_url`; a model behind another address, a proxy's or one's own, has no known price.
    Prices may rise with the length of the prompt, so each call is priced by itself. Cached tokens count in full.
    """
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens)
        return float(calc_price(usage, model, provider_api_url=base_url).total_price)
    except (LookupError, ValueError):
        return None
