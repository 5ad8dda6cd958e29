"""Errors as problem details (RFC 9457): a status, the stable code of the error, and its text."""

import logging
import uuid
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import Scope

from agent.errors import DatasphinxError, InputInvalid, InternalError, KeyMissing, LimitReached
from agent.failure import client_failure, error_info
from agent.messages import Language
from agent.service.headers import security_headers
from agent.service.metrics import Metrics
from agent.settings import Settings
from agent.sql.redact import without_paths

logger = logging.getLogger("datasphinx")

MEDIA_TYPE = "application/problem+json"

_STATUS = {
    "key_missing": 401,
    "origin_refused": 403,
    "source_not_found": 404,
    "thread_unknown": 404,
    "trace_unknown": 404,
    "file_unknown": 404,
    "dataset_unknown": 404,
    "chart_unknown": 404,
    "run_unknown": 404,
    "thread_busy": 409,
    "nothing_asked": 409,
    "nothing_answered": 409,
    "request_too_large": 413,
    "file_too_large": 413,
    "archive_suspicious": 413,
    "file_unreadable": 415,
    "limit_reached": 429,
    "internal_error": 500,
    "configuration": 500,
    "driver_missing": 501,
    "model_unreachable": 503,
    "model_rejected": 503,
    "embedded_model_silent": 503,
    "embedded_model_unavailable": 503,
    "source_unreachable": 503,
    "source_busy": 503,
    "record_unavailable": 503,
    "threads_unavailable": 503,
    "examples_unavailable": 503,
    "request_timeout": 504,
}
"""The status of an error by its code; any other is the fault of what was sent: 422."""

_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "description": "urn:datasphinx: and the code."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened and what to do, as Accept-Language wants it."},
        "code": {"type": "string", "description": "The stable code of the error."},
        "instance": {"type": "string", "description": "The path that was asked."},
        "errors": {"type": "array", "items": {"type": "object"}, "description": "What is wrong with an input."},
    },
}
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": _SCHEMA}}}
    for status in (400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 501, 503, 504)
}
"""The answers with a problem, as the OpenAPI document has them."""


def status_of(code: str) -> int:
    """Return the status of an error with this code."""
    return _STATUS.get(code, 422)


def problem(error: DatasphinxError, scope: Scope) -> JSONResponse:
    """Return the response for `error` to the request of `scope`."""
    failure = client_failure(error, scope["app"].state.settings)
    text = error_info(failure, _language(scope))["message"]
    response = _response(status_of(error.code), error.code, text, scope)
    if isinstance(error, KeyMissing):
        response.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, LimitReached):
        response.headers["Retry-After"] = str(error.seconds)
    return response


def add_handlers(app: FastAPI, metrics: Metrics, settings: Settings) -> None:
    """Have `app` answer every error with a problem, which `metrics` count, without the paths in `settings`."""
    app.state.metrics, app.state.settings = metrics, settings
    app.add_exception_handler(DatasphinxError, _of_domain)
    app.add_exception_handler(RequestValidationError, _of_input)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_defect)


async def _of_domain(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DatasphinxError)
    return problem(error, request.scope)


async def _of_input(request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with an input without repeating it: it may be long, or hold what UTF-8 cannot."""
    assert isinstance(error, RequestValidationError)
    found = [{key: item.get(key) for key in ("type", "loc", "msg")} for item in error.errors()]
    name = ".".join(map(str, found[0]["loc"])) if found else "body"
    invalid = InputInvalid(name, str(found[0]["msg"]) if found else "it is wrong")
    return _response(422, invalid.code, invalid.message(_language(request.scope)), request.scope, errors=found)


async def _of_http(request: Request, error: Exception) -> JSONResponse:
    """Give what FastAPI and LangServe raise the same form; LangServe's own errors of an input come as a list."""
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code)
    code = "input_invalid" if error.status_code == 422 else phrase.name.lower()
    detail = without_paths(error.detail) if isinstance(error.detail, str) else phrase.phrase
    response = _response(error.status_code, code, detail, request.scope)
    response.headers.update(error.headers or {})
    return response


async def _of_defect(request: Request, error: Exception) -> JSONResponse:
    """Show no more of a defect than where the log has it."""
    broken = InternalError(type(error).__name__, uuid.uuid4().hex)
    logger.error("[SERVER] %s failed trace_id=%s", request.url.path, broken.trace_id)
    response = problem(broken, request.scope)
    # What goes wrong here is answered in front of all that else puts them on.
    response.headers.update(security_headers(request.url.path))
    return response


def _response(
    status: int, code: str, detail: str, scope: Scope, *, errors: Sequence[dict[str, Any]] = ()
) -> JSONResponse:
    metrics: Metrics = scope["app"].state.metrics
    metrics.problem(code)
    body: dict[str, Any] = {
        "type": f"urn:datasphinx:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail.encode("utf-8", "replace").decode(),
        "code": code,
        "instance": scope.get("raw_path", b"").decode("latin-1") or scope["path"],
    }
    return JSONResponse(body | ({"errors": list(errors)} if errors else {}), status, media_type=MEDIA_TYPE)


def _language(scope: Scope) -> Language:
    """Return the first language of Accept-Language that there are texts in."""
    wanted = next((value for name, value in scope.get("headers", ()) if name == b"accept-language"), b"")
    for part in wanted.decode("latin-1").split(","):
        match part.strip()[:2].lower():
            case "ru":
                return "ru"
            case "zh":
                return "zh"
            case "en":
                return "en"
    return "en"
