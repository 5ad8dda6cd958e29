"""Route: the sources that questions can use."""

from fastapi import APIRouter
from sqlalchemy.engine import make_url
from typing_extensions import TypedDict

from agent.schema.describe import one_line
from agent.server.tenants import current_tenant, has_role
from agent.services import Services
from agent.sources.names import source_label

router = APIRouter(tags=["sources"])


class SourceShown(TypedDict):
    """A source: its name in a question, and its dialect."""

    name: str
    dialect: str


class Sources(TypedDict):
    """All sources, and what the key or token may do: review and make proposals, and run statements."""

    sources: list[SourceShown]
    may_review: bool
    may_run_sql: bool
    may_propose: bool


@router.get("/sources")
def sources() -> Sources:
    """The sources that a question can name; if it names none, one of them is chosen."""
    services = current_tenant().services
    has_knowledge = any(source.knowledge for source in services.settings.sources.values())
    shown = [_describe(services, name) for name in services.choices]
    return {
        "sources": shown,
        "may_review": has_knowledge and has_role("review"),
        "may_run_sql": services.settings.run_sql,
        "may_propose": has_knowledge,
    }


def _describe(services: Services, name: str) -> SourceShown:
    url = make_url(services.settings_of(name).url.get_secret_value())
    return {"name": one_line(source_label(name, services.settings), 200), "dialect": url.get_backend_name()}
