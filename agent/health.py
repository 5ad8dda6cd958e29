"""Readiness: whether the model, the databases and the stores that questions need are available."""

import ssl
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any

from agent.conversation.threads import Threads
from agent.errors import (
    ConfigurationError,
    DatasphinxError,
    EmbeddedModelUnavailable,
    ModelUnreachable,
    RecordUnavailable,
    RowRuleParameterMissing,
)
from agent.failure import client_failure, error_info
from agent.named_sources import source_label
from agent.services import Services
from agent.settings import Settings
from agent.sql.execute import execute
from agent.sql.limits import Limits
from agent.sql.redact import without_password, without_secrets

_TIMEOUT_S = 5
_BROKEN = (500, 502, 503, 504)


def readiness(services: Services, threads: Threads, sources: Mapping[str, Iterable[Services]]) -> dict[str, Any]:
    """Return each check as `{"ok": bool, "error": None or code and message}`; the model is not asked a question.

    `sources` has, by the name of a source, the services that may ask it. A source is checked through the first of
    them that has a value for every parameter of its row rules: parameters can be set per tenant.

    `status` is "ready", or "unavailable" if a check fails.
    """
    settings = services.settings
    checked = {
        source_label(name, settings): _check(partial(_ask, name, askers), settings) for name, askers in sources.items()
    }
    found: dict[str, Any] = {
        "model": _check(partial(_reach_model, settings), settings),
        "sources": checked,
        "stores": {
            "record": _check(partial(_open_record, services), settings),
            "threads": _check(partial(_open_threads, threads), settings),
            "files": _check(partial(_open_files, services), settings),
        },
    }
    checks = [found["model"], *checked.values(), *found["stores"].values()]
    return {"status": "ready" if all(each["ok"] for each in checks) else "unavailable", **found}


def _check(work: Callable[[], None], settings: Settings) -> dict[str, Any]:
    try:
        work()
    except DatasphinxError as error:
        return {"ok": False, "error": error_info(client_failure(error, settings), "en")}
    return {"ok": True, "error": None}


def _ask(name: str, askers: Iterable[Services]) -> None:
    missing: RowRuleParameterMissing | None = None
    for services in askers:
        try:
            source = services.source(name)
        except RowRuleParameterMissing as error:
            missing = error
            continue
        # A shorter time limit than that of `source.execute`: the caller is waiting.
        execute("SELECT 1", source.database, source.catalog, Limits(_TIMEOUT_S, 1))
        return
    if missing:
        raise missing


def _reach_model(settings: Settings) -> None:
    """Raise where the embedded model is not installed, or the endpoint gives no answer but errors of its own."""
    if settings.uses_embedded_model:
        if find_spec("xllamacpp") is None:
            raise EmbeddedModelUnavailable("it is not installed: pip install 'datasphinx[local]'")
        return
    if not settings.llm_model:
        raise ConfigurationError("DATASPHINX_LLM_MODEL", "it is not set")
    import httpx

    from agent.models.chat import OPENAI_URL, is_this_machine

    url = (settings.llm_base_url or OPENAI_URL).rstrip("/")
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    shown = without_secrets(without_password(url))
    try:
        # What it answers is not looked at: not every endpoint lists its models, and not for every key.
        direct = is_this_machine(url)
        answer = httpx.get(
            f"{url}/models", headers=headers, timeout=_TIMEOUT_S, trust_env=not direct, verify=_authorities()
        )
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ModelUnreachable(shown, without_secrets(str(error), (key,)) or type(error).__name__) from None
    if answer.status_code in _BROKEN:
        raise ModelUnreachable(shown, f"it answers with status {answer.status_code}")


@lru_cache(maxsize=1)
def _authorities() -> ssl.SSLContext:
    """Return the certificates of all authorities: read for each check anew, they would take more and more memory."""
    import httpx

    return httpx.create_ssl_context()


def _open_record(services: Services) -> None:
    if services.store:
        services.store.head()


def _open_threads(threads: Threads) -> None:
    with threads.saver():
        pass


def _open_files(services: Services) -> None:
    try:
        services.registry.datasets()
    except OSError as error:
        raise RecordUnavailable(str(services.settings.data_dir), error.strerror or type(error).__name__) from error
