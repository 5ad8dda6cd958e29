"""Routes: the chat in a frame of another site, the script of its element, and its tokens."""

from fastapi import APIRouter
from fastapi.responses import FileResponse
from typing_extensions import TypedDict

from datasphinx.agent.server.embed_tokens import TOKEN_S, EmbedTokens
from datasphinx.agent.server.routes.page import PAGE_HEADERS, WEB, page_policy, page_route
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.settings import EmbedSettings


class EmbedToken(TypedDict):
    """A token for one visitor of a site, and the seconds for which it is valid."""

    token: str
    expires_in: int


def embed_routes(settings: EmbedSettings, tokens: EmbedTokens) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["embed"])
    # Only the configured origins may show the page in a frame.
    policy = page_policy(" ".join(settings.origins))
    router.routes.append(page_route("/embed", {**PAGE_HEADERS, "Content-Security-Policy": policy}))

    @router.get("/embed.js", include_in_schema=False)
    def script() -> FileResponse:
        """The script that defines the element `<datasphinx-chat>`."""
        headers = {**PAGE_HEADERS, "Cross-Origin-Resource-Policy": "cross-origin"}
        return FileResponse(WEB / "embed.js", media_type="text/javascript; charset=utf-8", headers=headers)

    @router.post("/embed/token")
    def token() -> EmbedToken:
        """Issue a token for a visitor of a site, whose backend sends its API key. It permits questions only."""
        return {"token": tokens.issue(current_tenant().name), "expires_in": TOKEN_S}

    return router
