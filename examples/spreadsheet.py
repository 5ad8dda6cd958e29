"""Ask a spreadsheet a question: `python examples/spreadsheet.py [FILE]`; default: the sample file of returns."""

import sys
from pathlib import Path

from datasphinx import chat
from datasphinx.agent.sample.spreadsheets import RETURNS

file = Path(sys.argv[1]) if len(sys.argv) > 1 else RETURNS
response = chat("How many items were returned in all?", file)
print(response.value)
print(response.tables)
