"""Whether questions can be answered: the model, the databases and the stores. For /readyz and `datasphinx doctor`."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from datasphinx.agent.conversation.threads import Threads
from datasphinx.agent.core.failure import shown_error
from datasphinx.agent.core.redact import without_password, without_secrets
from datasphinx.agent.errors import (
    ConfigurationError,
    DatasphinxError,
    InternalError,
    ModelUnreachable,
    RowRuleParameterMissing,
    SourceNotFound,
    Unavailable,
)
from datasphinx.agent.messages import Language, Message
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, SourceSettings
from datasphinx.agent.sources.files import database_of
from datasphinx.agent.sources.names import source_label
from datasphinx.agent.sources.source import Source
from datasphinx.agent.sql.execute import execute
from datasphinx.agent.types import ErrorInfo, Limits

TIMEOUT_S = 5
_QUERY = "SELECT 1"
_KNOWLEDGE_BUDGET_S = 0.5
_MAX_PROBLEMS = 20
_TRACE_ID = "readyz"
_UNAVAILABLE_STATUSES = (500, 502, 503, 504)

logger = logging.getLogger(__name__)

T = TypeVar("T")


def open_model(services: Services) -> None:
    """Build the client of the model; load the embedded one."""
    _reach_model(services.settings.for_role("generate"))
    services.models.open()


def ask_model(services: Services) -> None:
    """Open the model, and have it write a word unless it is the embedded one; see `open_model`."""
    open_model(services)
    settings = services.settings.for_role("generate")
    if not settings.uses_embedded_model:
        from datasphinx.agent.connect import connect_model

        connect_model(settings.model_copy(update={"llm_profile": "standard"})).check()


def readiness(
    services: Services, threads: Threads, sources: Mapping[str, Iterable[Services]], model: dict[str, Any]
) -> dict[str, Any]:
    """Return `status`, "ready" or "unavailable", and the result of each `check`.

    `model` is the check of the model. `sources` maps the name of each source to the services that may query it. A
    source is checked through the first of them with a value for each parameter of its row rules, since parameters can
    be set per tenant.
    """
    settings = services.settings
    checked = {
        source_label(name, settings): _check_source(name, services_of_source, settings)
        for name, services_of_source in sources.items()
    }
    report: dict[str, Any] = {
        "model": model,
        "sources": checked,
        "stores": {
            "record": check(services.store.head if services.store else lambda: None, settings),
            "threads": check(threads.check, settings),
            "files": check(partial(_open_files, services), settings),
        },
    }
    checks = [report["model"], *checked.values(), *report["stores"].values()]
    return {"status": "ready" if all(check["ok"] for check in checks) else "unavailable", **report}


def attempt(
    work: Callable[[], T], settings: Settings, language: Language = "en"
) -> tuple[T, None] | tuple[None, ErrorInfo]:
    """Return the result of `work` and no error, or else none and the error; a defect is raised."""
    try:
        return work(), None
    except DatasphinxError as error:
        return None, shown_error(error, settings, language)


def _told(work: Callable[[], T]) -> T:
    """Return the result of `work`, and make a defect an error of the project that tells its text."""
    try:
        return work()
    except DatasphinxError:
        raise
    except Exception as error:
        # Such as an ImportError of a package in a version that does not fit.
        logger.exception("A check failed trace_id=%s", _TRACE_ID)
        raise InternalError(str(error) or type(error).__name__, _TRACE_ID) from error


def check(work: Callable[[], object], settings: Settings, language: Language = "en") -> dict[str, Any]:
    """Return whether `work` ends without an error, as `{"ok": bool, "error": None or code and message}`."""
    _, error = attempt(lambda: _told(work), settings, language)
    return {"ok": error is None, "error": error}


def _check_source(name: str, services_of_source: Iterable[Services], settings: Settings) -> dict[str, Any]:
    """Return the check of a source, with the mistakes in its business knowledge, which is skipped where it is wrong."""
    source, error = attempt(lambda: _told(lambda: query_source(name, services_of_source, settings)), settings)
    report: dict[str, Any] = {"ok": error is None, "error": error}
    problems, unchecked = source.knowledge.problems(_KNOWLEDGE_BUDGET_S) if source else ([], 0)
    if problems or unchecked:
        shown = [str(problem) for problem in problems[:_MAX_PROBLEMS]]
        report["knowledge"] = {"problems": shown, "problem_count": len(problems), "unchecked": unchecked}
    return report


def query_source(name: str, services_of_source: Iterable[Services], settings: Settings) -> Source | None:
    """Return the source, after a query; None if its row rules need values that only tokens have.

    Raises:
        RowRuleParameterMissing: no services have a value for each parameter of its row rules.
        DatasphinxError: the source does not answer.
    """
    # A shorter time limit than that of `source.execute`: the caller is waiting.
    limits = Limits(TIMEOUT_S, 1)
    missing: RowRuleParameterMissing | None = None
    incomplete: SourceSettings | None = None
    for services in services_of_source:
        if _needs_token(services.settings_of(name), settings):
            incomplete = services.settings_of(name)
            continue
        try:
            source = services.source(name)
        except RowRuleParameterMissing as error:
            missing = error
            continue
        execute(_QUERY, source.database, source.catalog, limits)
        return source
    if incomplete:
        # No table is read, so the schema is not needed.
        database = database_of(incomplete)
        execute(_QUERY, database, Catalog(database.dialect, {}), limits)
        return None
    raise missing or SourceNotFound(name, Message("neither_url_nor_source", choices=""))


def _needs_token(source: SourceSettings, settings: Settings) -> bool:
    """Return whether a parameter of the row rules of `source` has its values in tokens, and none here."""
    names = settings.oidc.row_parameters if settings.oidc else {}
    missing = [name for name in names if name not in source.row_parameters]
    return any(re.search(rf":{re.escape(name)}\b", rule) for name in missing for rule in source.row_rules.values())


def _reach_model(settings: Settings) -> None:
    """Raise an error if the endpoint does not respond or has server errors."""
    if settings.uses_embedded_model:
        return
    if not settings.llm_model:
        raise ConfigurationError("DATASPHINX_LLM_MODEL", "it is not set")
    import httpx

    from datasphinx.agent.connect import OPENAI_URL, certificate_authorities, is_this_machine

    url = (settings.llm_base_url or OPENAI_URL).rstrip("/")
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    public_url = without_secrets(without_password(url))
    try:
        # The response is not examined: not every endpoint lists its models, or not for every key.
        direct = is_this_machine(url)
        response = httpx.get(
            f"{url}/models", headers=headers, timeout=TIMEOUT_S, trust_env=not direct, verify=certificate_authorities()
        )
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ModelUnreachable(public_url, without_secrets(str(error), (key,)) or type(error).__name__) from None
    if response.status_code in _UNAVAILABLE_STATUSES:
        raise ModelUnreachable(public_url, Message("http_status", status=response.status_code))


def _open_files(services: Services) -> None:
    try:
        services.registry.datasets()
    except OSError as error:
        raise Unavailable(
            "record_unavailable", store=str(services.settings.data_dir), reason=error.strerror or type(error).__name__
        ) from error
