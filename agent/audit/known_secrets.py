"""The secrets that this process knows, which neither the record nor the log may hold."""

from urllib.parse import unquote

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from agent.settings import Settings


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Return keys and passwords in `settings`, the longest first: the model's key, and what URLs of databases hold."""
    urls = [source.url.get_secret_value() for source in settings.sources.values()]
    stores = [url.get_secret_value() for url in (settings.record_url, settings.threads_url) if url]
    urls += [settings.source, *stores]
    found = {settings.llm_api_key.get_secret_value()} if settings.llm_api_key else set()
    for url in urls:
        found |= _passwords(url)
    return tuple(sorted(found - {""}, key=len, reverse=True))


def _passwords(url: str) -> set[str]:
    """Return the password in `url`, as it is written there and as it is."""
    try:
        password = make_url(url).password or ""
    except (ArgumentError, ValueError):
        return set()
    written = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
    return {str(password), written, unquote(written)}
