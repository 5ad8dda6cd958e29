"""datasphinx: ask your data a question, get an answer with the SQL and the rows that prove it."""

if __name__ == "agent":
    import warnings

    warnings.warn("import datasphinx.agent, not agent: that name works in a checkout only", DeprecationWarning, 2)
