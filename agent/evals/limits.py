"""What a statement may take in an evaluation."""

from agent.models.embedded import EmbeddedOptions
from agent.settings import Settings

STATEMENT_TIMEOUT_S = 120.0
"""Seconds that a statement may run in an evaluation."""
ROW_LIMIT = 1_000_000
"""Rows that are compared: so many that no result is cut."""


def measuring(settings: Settings, embedded: EmbeddedOptions | None = None) -> Settings:
    """Return `settings` for measuring; the questions of a benchmark are not put on the record of what people asked.

    Where `embedded` is to do without repair, it gets one try at a statement.
    """
    if embedded and not embedded.repair:
        settings = settings.model_copy(update={"max_sql_generations": 1})
    limits = {"statement_timeout_s": STATEMENT_TIMEOUT_S, "row_limit": ROW_LIMIT}
    return settings.model_copy(update={**limits, "record": False})
