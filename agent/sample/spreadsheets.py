"""Paths of the sample spreadsheets.

`returns.xlsx` has Chinese headers below a title: monthly refunds of a web shop by account, with the reasons.
`stores.xlsx` is in English: weekly units and revenue of stores.
"""

from pathlib import Path

RETURNS = Path(__file__).with_name("returns.xlsx")
STORES = Path(__file__).with_name("stores.xlsx")
