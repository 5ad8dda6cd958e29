"""Credentials in the settings, to be redacted from the record and the log."""

from urllib.parse import unquote

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from agent.settings import Settings


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Return all keys and passwords in `settings`, longest first: of models, of storages, and in database URLs."""
    urls = [source.url.get_secret_value() for source in settings.sources.values()]
    stores = [url.get_secret_value() for url in (settings.record_url, settings.threads_url) if url]
    urls += [settings.source, *stores]
    keys = [settings.llm_api_key, *(model.api_key for model in settings.llm_models.values())]
    for source in settings.sources.values():
        keys += [source.storage.secret_access_key, source.storage.session_token]
    secrets = {key.get_secret_value() for key in keys if key}
    for url in urls:
        secrets |= _passwords(url)
    return tuple(sorted(secrets - {""}, key=len, reverse=True))


def _passwords(url: str) -> set[str]:
    """Return the password in `url`, both as written and decoded."""
    try:
        password = make_url(url).password or ""
    except (ArgumentError, ValueError):
        return set()
    encoded = url.partition("://")[2].rpartition("@")[0].partition(":")[2]
    return {str(password), encoded, unquote(encoded)}
