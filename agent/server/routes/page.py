"""The HTML pages: the application at `/`, Swagger UI at `/docs`, LangServe's playgrounds, and their assets."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.responses import FileResponse, HTMLResponse

    from agent.server.runnable import ServedGraph

WEB = Path(__file__).resolve().parents[2] / "web"
_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
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
    # Revalidated on each request, so that the page and its modules are of the same version.
    "Cache-Control": "no-cache",
}
# The MIME tables of the system may map scripts to text/plain, which browsers do not execute.
_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


def add_page(app: "FastAPI") -> None:
    """Add the page at `/`, Swagger UI at `/docs`, and their assets under `/static`.

    None of them contains data, so none requires a key. Swagger UI comes from the package `fastapi-offline`.
    """
    from fastapi.responses import FileResponse, HTMLResponse, Response
    from fastapi.staticfiles import StaticFiles

    class Assets(StaticFiles):
        def file_response(self, full_path: "os.PathLike[str] | str", *args: object, **kwargs: object) -> Response:
            response: Response = super().file_response(full_path, *args, **kwargs)  # type: ignore[arg-type]
            media_type = _TYPES.get(Path(full_path).suffix)
            response.headers.update({**PAGE_HEADERS, **({"content-type": media_type} if media_type else {})})
            return response

    html = page_html()

    @app.get("/", include_in_schema=False, response_class=HTMLResponse)
    def page() -> "HTMLResponse":
        """The page."""
        return HTMLResponse(html, headers=PAGE_HEADERS)

    @app.get("/docs", include_in_schema=False, response_class=FileResponse)
    def docs() -> "FileResponse":
        """Swagger UI."""
        headers = {**PAGE_HEADERS, "Content-Security-Policy": "; ".join(_DOCS_POLICY)}
        return FileResponse(WEB / "docs.html", headers=headers)

    app.mount("/static/swagger", Assets(packages=[("fastapi_offline", "static")]), name="swagger")
    app.mount("/static", Assets(directory=WEB), name="static")


_FORM_FIELDS = ("question", "source", "datasets", "output_type", "clarify")
"""Inputs that start a conversation. The playground cannot continue one."""


def add_playground(app: "FastAPI", served: "ServedGraph") -> None:
    """Add LangServe's playground of a graph.

    LangServe's own route would render the whole input schema, and its form fails on types that may be null.
    """
    # FastAPI resolves the annotation of the route at run time.
    from fastapi import Request, Response
    from langserve.playground import serve_playground

    class Form:
        """The schema of the form, with the interface that `serve_playground` expects."""

        @staticmethod
        def model_json_schema() -> dict[str, Any]:
            return _form_schema(served.get_input_schema().model_json_schema())

    path = f"/{served.graph}/playground"

    async def playground(file_path: str, request: Request) -> Response:
        base_url = request.scope.get("root_path", "").rstrip("/") + path
        form: Any = Form
        output: Any = served.get_output_schema()
        return await serve_playground(served, form, output, (), base_url, file_path, False, False, "default")

    playground.__annotations__.update(request=Request)
    app.get(path + "/{file_path:path}", include_in_schema=False, response_model=None)(playground)


def _form_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an input schema that the form shows, without null: the form does not send empty inputs."""
    properties = {}
    for name in _FORM_FIELDS:
        if field := schema["properties"].get(name):
            shared = {key: value for key, value in field.items() if key not in ("anyOf", "default")}
            (form,) = (option for option in field["anyOf"] if option.get("type") != "null")
            properties[name] = {**shared, **form}
    return {"title": schema["title"], "type": "object", "properties": properties, "required": ["question"]}
