"""Schema linking without a model: search for the tables, columns and stored values that a question refers to."""
