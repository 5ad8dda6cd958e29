"""datasphinx: ask your data a question, get an answer with the SQL and the rows that prove it."""
