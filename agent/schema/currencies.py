"""Codes and signs of currencies, as cells contain them."""

CURRENCY_CODES = (
    "USD EUR RUB RUR CNY RMB CHF GBP JPY SEK NOK DKK PLN CZK HUF RON BGN TRY UAH BYN KZT GEL AMD UZS INR BRL MXN CAD "
    "AUD NZD HKD SGD KRW TWD THB VND IDR MYR ILS ZAR AED SAR"
).split()
CURRENCY_SIGNS = {
    "€": "EUR", "£": "GBP", "us$": "USD", "hk$": "HKD", "$": "USD", "₽": "RUB", "руб.": "RUB", "руб": "RUB",
    "р.": "RUB", "人民币": "CNY", "元": "CNY", "￥": "CNY", "¥": "CNY", "₴": "UAH", "₸": "KZT", "₹": "INR", "₩": "KRW",
    "zł": "PLN", "kč": "CZK", "rmb": "CNY", "rur": "RUB", "fr.": "CHF",
}  # fmt: skip
"""Codes by signs and abbreviations, in lower case."""
