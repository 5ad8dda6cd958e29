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
from starlette.responses import HTMLResponse
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.responses import FileResponse


WEB = Path(__file__).resolve().parents[2] / "web"
_FIRST_MODULE, _OTHER_MODULES = "js/main.js", "js/app.js"
_IMPORT = re.compile(r'^(?:import\b|\} from\b)[^"()]*"\./([\w-]+\.js)";$', re.MULTILINE)
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


def page_policy(ancestors: str = "'none'") -> str:
    """Return the policy of the page; `ancestors` are the origins, separated by spaces, that may show it in a frame."""
    return "; ".join((*_POLICY, f"frame-ancestors {ancestors}"))


PAGE_HEADERS = {
    "Content-Security-Policy": page_policy(),
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


def modules(first: str) -> list[str]:
    """Return the modules that `first` imports statically, in the order of discovery, and `first` before them."""
    found = [first]
    for name in found:
        imported = _IMPORT.findall((WEB / name).read_text(encoding="utf-8"))
        found.extend(path for path in dict.fromkeys(f"js/{each}" for each in imported) if path not in found)
    return found


def page_route(path: str, headers: dict[str, str]) -> Route:
    """Return the route of the page at `path`.

    Its files have their version in the path, so that browsers keep them. It names all modules, which browsers would
    find one after the other; those that the question field works without have a low priority.
    """
    first = modules(_FIRST_MODULE)
    links = [f'<link rel="modulepreload" href="static/{each}">' for each in first]
    others = [each for each in modules(_OTHER_MODULES) if each not in first]
    links += [f'<link rel="modulepreload" href="static/{each}" fetchpriority="low">' for each in others]
    html = page_html().replace("</head>", "\n".join([*links, "</head>"]))
    html = html.replace('="static/', f'="static/v-{version()}/')

    def page(request: Request) -> HTMLResponse:
        return HTMLResponse(html, headers=headers)

    return Route(path, page, methods=["GET"], include_in_schema=False, middleware=[Middleware(GZipMiddleware)])


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

    app.router.routes.append(page_route("/", PAGE_HEADERS))

    @app.get("/docs", include_in_schema=False, response_class=FileResponse)
    def docs() -> "FileResponse":
        """Swagger UI."""
        headers = {**PAGE_HEADERS, "Content-Security-Policy": "; ".join(_DOCS_POLICY)}
        return FileResponse(WEB / "docs.html", headers=headers)

    app.mount("/static/swagger", GZipMiddleware(_Assets(packages=[("fastapi_offline", "static")])), name="swagger")
    files = GZipMiddleware(_Assets(directory=WEB))
    app.mount("/static/v-{version}", files, name="versioned")
    app.mount("/static", files, name="static")
