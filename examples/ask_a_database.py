"""Ask a database one question: `python examples/ask_a_database.py [URL]`."""

import sys

from datasphinx import chat

response = chat("How many customers are there?", *sys.argv[1:])
print(response.value)
print(response.sql)
