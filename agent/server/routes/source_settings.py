"""Routes: the configured sources for operators, who test, add and remove them."""

import logging
import re
import shutil
import time
from pathlib import PurePath
from typing import Annotated

from fastapi import Path, Request
from pydantic import SecretStr
from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from typing_extensions import TypedDict

from datasphinx.agent.core.failure import server_directories, shows_paths
from datasphinx.agent.core.redact import without_paths, without_secrets
from datasphinx.agent.core.replaced_file import replaced_file
from datasphinx.agent.engines import engine_of_file
from datasphinx.agent.errors import (
    Conflict,
    DatasphinxError,
    Forbidden,
    InputInvalid,
    Refused,
    SourceNotFound,
)
from datasphinx.agent.messages import Message
from datasphinx.agent.proposals import user_of
from datasphinx.agent.server.background import run_in_thread
from datasphinx.agent.server.errors import accepted_language, new_router
from datasphinx.agent.server.live_sources import LiveSources
from datasphinx.agent.server.new_sources import NewSource
from datasphinx.agent.server.readiness import attempt, query_source
from datasphinx.agent.server.routes.files import Uploaded
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.services import Services
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.account_check import SourceCheck, check_source
from datasphinx.agent.types import ErrorInfo

logger = logging.getLogger("datasphinx")


class SourceRow(TypedDict):
    """A configured source; its URL has no password, and directories only for users of this machine itself."""

    name: str
    engine: str
    description: str
    url: str
    may_remove: bool


class SourceRows(TypedDict):
    """The configured sources of the tenant, and whether it may add and remove sources."""

    sources: list[SourceRow]
    may_edit: bool


class CheckedSource(TypedDict):
    """The result of a test: the dialect, the number of tables, the rights besides read access, and the duration."""

    dialect: str
    tables: int
    can_write: bool
    rights_known: bool
    rights: list[str]
    advice: str
    warnings: list[str]
    seconds: float


class SourceState(TypedDict):
    """Whether a source answers a query, and the error if it does not; `tables` is null if they were not read."""

    ok: bool
    error: ErrorInfo | None
    tables: int | None
    seconds: float


router = new_router(prefix="/operate/sources", tags=["sources"])
SourceName = Annotated[str, Path(max_length=1000)]


@router.get("")
def configured_sources(request: Request) -> SourceRows:
    """The configured sources; none of them is connected to."""
    services, live_sources = current_tenant().services, _live_sources(request)
    may_edit = not _is_restricted(services)
    return {
        "sources": [
            _row(name, source, services, may_edit and _reason_to_keep(name, services, live_sources) is None)
            for name, source in services.settings.sources.items()
        ],
        "may_edit": may_edit,
    }


@router.post("/test")
async def test_source(new: NewSource) -> CheckedSource:
    """Connect to a new source, read its schema and the rights of its account; nothing is stored."""
    services = _editable()
    started = time.perf_counter()
    check = await run_in_thread(lambda: _check(new, services)[1])
    return {
        "dialect": check.dialect,
        "tables": check.tables,
        "can_write": check.can_write,
        "rights_known": check.grants.known,
        "rights": list(check.grants.beyond_reading),
        "advice": check.advice,
        "warnings": list(check.warnings),
        "seconds": round(time.perf_counter() - started, 3),
    }


@router.post("", status_code=201)
async def add_source(new: NewSource, request: Request) -> SourceRow:
    """Test a source and add it to `datasphinx.toml`; the next request of each process on this file can use it."""
    services, live_sources = _editable(), _live_sources(request)

    def work() -> SourceSettings:
        _require_new(new.name, services)
        source, check = _check(new, services)
        if check.can_write and not new.allow_writable_account:
            raise Refused("account_can_write", source=check.url, rights=", ".join(check.grants.beyond_reading))
        live_sources.file.add(new.name, source)
        live_sources.update()
        return source

    source = await run_in_thread(work)
    logger.info("[SOURCES] %s added %s", user_of(services), new.name)
    return _row(new.name, source, services, True)


@router.post("/files", status_code=201)
async def add_file(form: Uploaded, request: Request) -> SourceRow:
    """Store an uploaded SQLite or DuckDB file, test it, and add it as a source that is named after it."""
    services, live_sources = _editable(), _live_sources(request)
    name = re.sub(r"[^\w .-]|^\W", "_", PurePath(form.name).stem)[:63]

    def work() -> SourceSettings:
        engine = engine_of_file(form.file.file)
        if engine is None:
            raise InputInvalid("file", Message("file_not_database"))
        _require_new(name, services)
        path = services.settings.data_dir.resolve() / "databases" / f"{name}.{engine.name}"
        form.file.file.seek(0)
        with replaced_file(path) as new:
            with new.open("wb") as stored:
                shutil.copyfileobj(form.file.file, stored)
            check_source(name, _source_of_file(engine.name, new), services.settings.statement_limits)
            # Of two uploads at once, the one that is added keeps its file.
            source = _source_of_file(engine.name, path)
            live_sources.file.add(name, source)
        live_sources.update()
        return source

    source = await run_in_thread(work)
    logger.info("[SOURCES] %s added %s", user_of(services), name)
    return _row(name, source, services, True)


@router.post("/{name:path}/test")
async def test_configured_source(name: SourceName, request: Request) -> SourceState:
    """Run a query on a configured source."""
    services, language = current_tenant().services, accepted_language(request.scope)
    if name not in services.settings.sources:
        raise SourceNotFound(name[:200], _configured(services))
    started = time.perf_counter()

    def count_tables() -> int | None:
        source = query_source(name, [services], services.settings)
        return len(source.shown_catalog.tables) if source else None

    tables, error = await run_in_thread(lambda: attempt(count_tables, services.settings, language))
    return {
        "ok": error is None,
        "error": error,
        "tables": tables,
        "seconds": round(time.perf_counter() - started, 3),
    }


@router.delete("/{name:path}", status_code=204)
def remove_source(name: SourceName, request: Request) -> None:
    """Remove a source from `datasphinx.toml`; the database and its knowledge folder are not changed."""
    services, live_sources = _editable(), _live_sources(request)
    if name not in services.settings.sources:
        raise SourceNotFound(name[:200], _configured(services))
    if reason := _reason_to_keep(name, services, live_sources):
        raise Conflict("source_fixed", source=name, reason=reason)
    live_sources.file.remove(name)
    live_sources.update()
    logger.info("[SOURCES] %s removed %s", user_of(services), name)


def _source_of_file(engine: str, path: PurePath) -> SourceSettings:
    return SourceSettings(url=SecretStr(str(URL.create(engine, database=str(path)))))


def _row(name: str, source: SourceSettings, services: Services, may_remove: bool) -> SourceRow:
    engine = source.url.get_secret_value().partition(":")[0].partition("+")[0]
    return {
        "name": name,
        "engine": engine,
        "description": source.description,
        "url": _shown_url(source, services),
        "may_remove": may_remove,
    }


def _live_sources(request: Request) -> LiveSources:
    live_sources: LiveSources = request.app.state.live_sources
    return live_sources


def _editable() -> Services:
    """Return the services of the tenant of the request. Raise Forbidden if it may query certain sources only."""
    services = current_tenant().services
    if _is_restricted(services):
        raise Forbidden("sources_not_editable", tenant=services.tenant)
    return services


def _require_new(name: str, services: Services) -> None:
    if name in services.settings.sources:
        raise Conflict("source_name_taken", source=name)


def _is_restricted(services: Services) -> bool:
    own = services.settings.tenants.get(services.tenant)
    return own is not None and own.sources is not None


def _check(new: NewSource, services: Services) -> tuple[SourceSettings, SourceCheck]:
    """Return the settings of a new source, and the result of its check. No error contains the password."""
    source = new.source(services.settings)
    try:
        return source, check_source(new.name, source, services.settings.statement_limits)
    except DatasphinxError as error:
        raise new.without_password(error) from None


def _reason_to_keep(name: str, services: Services, live_sources: LiveSources) -> Message | None:
    """Return why a source cannot be removed, None if it can."""
    settings = services.settings
    tenants = [
        tenant for tenant, own in settings.tenants.items() if name in (own.sources or ()) or name in own.knowledge
    ]
    if live_sources.is_fixed(name):
        return Message("source_in_environment", file=live_sources.file.path.name)
    if name == settings.source:
        return Message("source_is_default")
    return Message("source_of_tenants", tenants=", ".join(tenants)) if tenants else None


def _configured(services: Services) -> Message:
    return Message("only_configured_sources", choices=", ".join(services.settings.sources) or "–")


def _shown_url(source: SourceSettings, services: Services) -> str:
    """Return the URL without password, or the files; without directories, unless the client may see them."""
    try:
        url = make_url(source.url.get_secret_value()).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        url = ""
    shown = ", ".join(each.path for each in source.files.values()) or without_secrets(url)
    return shown if shows_paths(services.settings) else without_paths(shown, server_directories(services.settings))
