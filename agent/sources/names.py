"""Names of sources in a question: configured sources, the sample shop and, if allowed, any URL."""

from pydantic import SecretStr

from datasphinx.agent.core.failure import server_directories
from datasphinx.agent.core.redact import without_password, without_paths
from datasphinx.agent.errors import SourceNotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.settings import Settings, SourceSettings

SAMPLE = "sample"
"""Name of the sample shop as a source."""


def source_label(name: str, settings: Settings) -> str:
    """Return the name of a source for clients; for a URL, without password and directory."""
    return name if name in settings.sources else without_paths(without_password(name), server_directories(settings))


def source_settings(name: str, settings: Settings, *, any_source: bool) -> SourceSettings:
    """Return the settings of the source with this name or URL. The sample shop is not included.

    Without `any_source`, the label of the default source also names it.

    Raises:
        SourceNotFound: the source is neither configured nor a URL, or it is a URL and `any_source` is False.
    """
    sources = settings.sources
    if name in sources:
        return sources[name]
    if not any_source and settings.source and name == source_label(settings.source, settings):
        name = settings.source
    if ":***@" in name:
        raise SourceNotFound(name, Message("password_not_stored"))
    choices = ", ".join([*sources, SAMPLE])
    if "://" not in name:
        raise SourceNotFound(without_password(name), Message("neither_url_nor_source", choices=choices))
    if not any_source and name != settings.source:
        raise SourceNotFound(without_password(name), Message("only_configured_sources", choices=choices))
    return SourceSettings(url=SecretStr(name), allow_writable_account=settings.allow_writable_account)
