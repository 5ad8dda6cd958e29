"""The types that a column can be read as."""

COLUMN_KINDS = (
    "text", "number", "number_point", "number_comma", "currency", "boolean", "date", "date_day_first",
    "date_month_first", "timestamp", "time",
)  # fmt: skip
"""Types in the options of the loader; `timestamp+02:00` also sets the zone of the times without one."""
