"""Error responses: status, code and text of an error.

They are problem details (RFC 9457), and for the routes under /v1 errors in the form of OpenAI's API.
"""

import logging
import uuid
from collections.abc import Sequence
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.types import Scope

from datasphinx.agent.core.failure import shown_error
from datasphinx.agent.core.redact import without_paths
from datasphinx.agent.errors import (
    DatasphinxError,
    InputInvalid,
    InternalError,
    LimitReached,
)
from datasphinx.agent.messages import LANGUAGES, Language
from datasphinx.agent.server.headers import SECURITY_HEADERS, route_path
from datasphinx.agent.services import Services

if TYPE_CHECKING:
    from datasphinx.agent.server.metrics import Metrics

logger = logging.getLogger("datasphinx")

MEDIA_TYPE = "application/problem+json"

_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "description": "urn:datasphinx: and the code."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "The problem and its remedy, in the language of Accept-Language."},
        "code": {"type": "string", "description": "The stable code of the error."},
        "instance": {"type": "string", "description": "The path of the request."},
        "errors": {"type": "array", "items": {"type": "object"}, "description": "The invalid fields of an input."},
    },
}
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": _SCHEMA}}}
    for status in (400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 501, 503, 504)
}
"""The problem responses in the OpenAPI document, by status."""

OPENAI_PATH = "/v1/"
"""The beginning of the paths whose errors have the form of OpenAI's API."""
_OPENAI_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"enum": ["invalid_request_error", "rate_limit_error", "server_error"]},
                "param": {"type": ["string", "null"], "description": "The invalid field of the request."},
                "code": {"type": "string", "description": "The stable code of the error."},
            },
        }
    },
}
DOCUMENTED_OPENAI: dict[int | str, dict[str, Any]] = {
    status: {**response, "content": {"application/json": {"schema": _OPENAI_SCHEMA}}}
    for status, response in DOCUMENTED.items()
}
"""The error responses of the routes under `OPENAI_PATH` in the OpenAPI document, by status."""


def new_router(prefix: str = "", tags: list[str | Enum] | None = None) -> APIRouter:
    """Return a router whose routes have the problem responses in the OpenAPI document."""
    return APIRouter(prefix=prefix, tags=tags, responses=DOCUMENTED)


_CHALLENGES = {
    "key_missing": "Bearer",
    "token_invalid": 'Bearer error="invalid_token"',
    "role_missing": 'Bearer error="insufficient_scope"',
    "review_not_permitted": 'Bearer error="insufficient_scope"',
}
"""The header `WWW-Authenticate` by code (RFC 6750, section 3)."""


def problem(error: DatasphinxError, scope: Scope) -> JSONResponse:
    """Return the response for `error` to the request of `scope`; its form depends on the path."""
    shown = shown_error(error, scope["app"].state.services.settings, accepted_language(scope))
    response = _response(error.http_status, error.code, shown["message"], scope)
    if challenge := _CHALLENGES.get(error.code):
        response.headers["WWW-Authenticate"] = challenge
    if isinstance(error, LimitReached):
        response.headers["Retry-After"] = str(error.seconds)
    return response


def add_handlers(app: FastAPI, metrics: "Metrics", services: Services) -> None:
    """Add handlers to `app` that turn each error into a problem response, counted in `metrics`.

    The directories in the settings of `services` are removed from the texts.
    """
    app.state.metrics, app.state.services = metrics, services
    app.add_exception_handler(DatasphinxError, _handle_domain_error)
    app.add_exception_handler(RequestValidationError, _handle_invalid_input)
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_exception_handler(Exception, _handle_defect)


async def _handle_domain_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DatasphinxError)
    return problem(error, request.scope)


async def _handle_invalid_input(request: Request, error: Exception) -> JSONResponse:
    """Report the invalid fields without their values, which may be long or contain lone surrogates."""
    assert isinstance(error, RequestValidationError)
    errors = [{key: item.get(key) for key in ("type", "loc", "msg")} for item in error.errors()]
    invalid = invalid_input(error, "body")
    return _response(422, invalid.code, invalid.message(accepted_language(request.scope)), request.scope, errors=errors)


def invalid_input(error: ValidationError | RequestValidationError, whole: str) -> InputInvalid:
    """Return the error for the first invalid field, without its value; `whole` names the input as a whole."""
    first = error.errors()[0]
    return InputInvalid(".".join(map(str, first["loc"]))[:200] or whole, str(first["msg"]))


async def _handle_http_exception(request: Request, error: Exception) -> JSONResponse:
    """Convert exceptions of FastAPI and Starlette."""
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code)
    code = "input_invalid" if error.status_code == 422 else phrase.name.lower()
    detail = without_paths(error.detail)
    response = _response(error.status_code, code, detail, request.scope)
    response.headers.update(error.headers or {})
    return response


async def _handle_defect(request: Request, error: Exception) -> JSONResponse:
    """Return only the trace id of a defect; the details are in the log."""
    error_shown = InternalError(type(error).__name__, uuid.uuid4().hex)
    logger.error("[SERVER] %s failed trace_id=%s", request.url.path, error_shown.trace_id)
    response = problem(error_shown, request.scope)
    # This handler runs outside of the SecurityHeaders middleware.
    response.headers.update(SECURITY_HEADERS)
    return response


def _response(
    status: int, code: str, detail: str, scope: Scope, *, errors: Sequence[dict[str, Any]] = ()
) -> JSONResponse:
    metrics: Metrics = scope["app"].state.metrics
    metrics.problem(code)
    detail = detail.encode("utf-8", "replace").decode()
    if route_path(scope).startswith(OPENAI_PATH):
        # OpenAI's API has no status 422.
        status = 400 if status == 422 else status
        kind = "rate_limit_error" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
        fields = [str(part) for part in errors[0]["loc"] if part != "body"] if errors else []
        error = {"message": detail, "type": kind, "param": ".".join(fields) or None, "code": code}
        return JSONResponse({"error": error}, status)
    body: dict[str, Any] = {
        "type": f"urn:datasphinx:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "instance": scope.get("raw_path", b"").decode("latin-1") or scope["path"],
    }
    return JSONResponse(body | ({"errors": list(errors)} if errors else {}), status, media_type=MEDIA_TYPE)


def accepted_language(scope: Scope) -> Language:
    """Return the first supported language of Accept-Language, by default English."""
    header = next((value for name, value in scope.get("headers", ()) if name == b"accept-language"), b"")
    tags = [part.strip()[:2].lower() for part in header.decode("latin-1").split(",")]
    return next((language for tag in tags for language in LANGUAGES if language == tag), "en")
