"""The HTML pages: the application at `/`, Swagger UI at `/docs`, and their assets."""

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.responses import FileResponse


WEB = Path(__file__).resolve().parents[2] / "web"
_STYLES = ("page.css", "answers.css", "sidebar.css", "start.css", "editor.css")
_IMPORT = re.compile(r'^import (?:(\{[^}]*\}) from )?"\./([\w-]+)\.js";$', re.MULTILINE)
_COMMENT = re.compile(r"^ *(?:/\*\*(?s:.*?)\*/|//.*)\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    # Only the page's own policy `default` may turn text into markup.
    "require-trusted-types-for 'script'",
    "trusted-types default",
    "frame-ancestors 'none'",
)
_DOCS_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    # Swagger UI sets style attributes, and its style sheet contains images.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
)


def page_html() -> str:
    """Return the page with the codes of its languages: those with a file of texts, English first."""
    codes = sorted((path.stem for path in (WEB / "texts").glob("*.json")), key=lambda code: (code != "en", code))
    html = (WEB / "index.html").read_text(encoding="utf-8")
    return html.replace('<meta name="languages" content="en">', f'<meta name="languages" content="{" ".join(codes)}">')


PAGE_HEADERS = {
    "Content-Security-Policy": "; ".join(_POLICY),
    # Revalidated on each request: the page names the version of its files.
    "Cache-Control": "no-cache",
}
_CURRENT = "public, max-age=31536000, immutable"
"""`Cache-Control` of a file under the version of its contents."""
# The MIME tables of the system may map scripts to text/plain, which browsers do not execute.
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


@cache
def version() -> str:
    """Return the version of the page's files, a hash of their paths and contents when the process began."""
    found = xxhash.xxh3_64()
    for path in sorted(path for path in WEB.rglob("*") if path.is_file()):
        found.update(path.relative_to(WEB).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()


@cache
def script(name: str = "main") -> str:
    """Return one module made of the module `name` and all that it imports statically, each in a function of its own.

    It exports them by their names, without comments on lines of their own. None may import itself by way of others.
    """
    functions: dict[str, str] = {}

    def add(name: str) -> None:
        source = _COMMENT.sub("", (WEB / f"js/{name}.js").read_text(encoding="utf-8"))
        for _, imported in _IMPORT.findall(source):
            if imported not in functions:
                add(imported)
        exported = ", ".join(match[1] for match in _EXPORT.findall(source))
        body = _EXPORT.sub(r"\1", _IMPORT.sub(_taken, source))
        functions[name] = f"const ${name} = await (async () => {{\n{body}return {{ {exported} }};\n}})();\n"

    add(name)
    exports = ", ".join(f"${each} as {each}" for each in functions)
    return f"{''.join(functions.values())}export {{ {exports} }};\n"


def _taken(imported: re.Match[str]) -> str:
    names, module = imported.groups()
    return f"const {names.replace(' as ', ': ')} = ${module};" if names else ""


@cache
def style() -> str:
    """Return one style sheet made of those of the page."""
    return "".join((WEB / name).read_text(encoding="utf-8") for name in _STYLES)


def _page_route() -> Route:
    """Return the route of the page. Its files have their version in the path, so that browsers keep them."""
    html = page_html().replace('="static/', f'="static/v-{version()}/')

    def page(request: Request) -> HTMLResponse:
        return HTMLResponse(html, headers=PAGE_HEADERS)

    return Route("/", page, methods=["GET"], include_in_schema=False, middleware=[Middleware(GZipMiddleware)])


def _joined_route(path: str, content: str) -> Route:
    """Return the route of a file made of several, under the current version."""
    kind = _TYPES[Path(path).suffix]

    def joined(request: Request) -> Response:
        return Response(content, media_type=kind, headers={**PAGE_HEADERS, "Cache-Control": _CURRENT})

    address = f"/static/v-{version()}/{path}"
    return Route(address, joined, methods=["GET"], include_in_schema=False, middleware=[Middleware(GZipMiddleware)])


class _Assets(StaticFiles):
    """Files of the page; under the current version browsers keep them, under others they ask whether they changed."""

    def file_response(
        self, full_path: "os.PathLike[str] | str", stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Any:
        response = super().file_response(full_path, stat_result, scope, status_code)
        is_current = scope["path_params"].get("version") == version()
        media_type = _TYPES.get(Path(full_path).suffix)
        response.headers.update({**PAGE_HEADERS, **({"content-type": media_type} if media_type else {})})
        if is_current:
            response.headers["Cache-Control"] = _CURRENT
        return response


def add_page(app: "FastAPI") -> None:
    """Add the page at `/`, Swagger UI at `/docs`, and their assets under `/static`.

    None of them contains data, so none requires a key. Swagger UI comes from the package `fastapi-offline`.
    """
    from fastapi.responses import FileResponse

    app.router.routes.append(_page_route())

    @app.get("/docs", include_in_schema=False, response_class=FileResponse)
    def docs() -> "FileResponse":
        """Swagger UI."""
        headers = {**PAGE_HEADERS, "Content-Security-Policy": "; ".join(_DOCS_POLICY)}
        return FileResponse(WEB / "docs.html", headers=headers)

    for path, content in {"js/all.js": script(), "all.css": style()}.items():
        app.router.routes.append(_joined_route(path, content))
    app.mount("/static/swagger", GZipMiddleware(_Assets(packages=[("fastapi_offline", "static")])), name="swagger")
    files = GZipMiddleware(_Assets(directory=WEB))
    app.mount("/static/v-{version}", files, name="versioned")
    app.mount("/static", files, name="static")
