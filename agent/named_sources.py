"""The sources that a question can name: those of the settings, the sample shop, and where it is allowed any URL."""

from pydantic import SecretStr

from agent.errors import SourceNotFound
from agent.failure import server_directories
from agent.settings import Settings
from agent.source_settings import SourceSettings
from agent.sql.redact import without_password, without_paths

SAMPLE = "sample"
"""The name of the sample shop among the sources."""


def source_label(name: str, settings: Settings) -> str:
    """Return the name of a source as clients see it; a URL is shown without its password and its directory."""
    return name if name in settings.sources else without_paths(without_password(name), server_directories(settings))


def source_settings(wanted: str, settings: Settings, *, any_source: bool) -> SourceSettings:
    """Return what is set for the source with this name or URL, which is not the sample shop.

    Raises:
        SourceNotFound: it is neither, or `any_source` is off and it is a URL that is not configured.
    """
    named = settings.sources
    if wanted in named:
        return named[wanted]
    if ":***@" in wanted:
        raise SourceNotFound(wanted, "its password is not kept with the thread; give the source once more")
    known = ", ".join([*named, SAMPLE])
    if "://" not in wanted:
        raise SourceNotFound(
            without_password(wanted), f"that is neither a URL nor the name of a source; known: {known}"
        )
    if not any_source and wanted != settings.source:
        raise SourceNotFound(without_password(wanted), f"only configured sources may be asked here: {known}")
    return SourceSettings(url=SecretStr(wanted), allow_writable_account=settings.allow_writable_account)
