"""A source that can be asked: one that has tables."""

from agent.catalog.source import Source
from agent.errors import SourceEmpty
from agent.services import Services


def filled_source(services: Services, name: str | None) -> Source:
    """Return the source of this name or URL; one without tables is read again, since it may have got some.

    Raises:
        SourceEmpty: it has none.
    """
    source = services.source(name)
    if not source.catalog.tables:
        source = services.refreshed(name) or source
    if not source.catalog.tables:
        raise SourceEmpty(source.database.name)
    return source
