"""Names and texts in statements of DuckDB that this project writes itself."""


def quote_name(name: str) -> str:
    """Return `name` as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return `text` as a string."""
    return "'" + text.replace("'", "''") + "'"
