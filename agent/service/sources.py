"""Route: the databases that can be asked."""

from fastapi import APIRouter
from sqlalchemy.engine import make_url
from typing_extensions import TypedDict

from agent.catalog.describe import one_line
from agent.named_sources import source_label
from agent.service.tenant import asking
from agent.services import Services

router = APIRouter(tags=["sources"])


class SourceShown(TypedDict):
    """A database as it is shown: its name in a question, and its dialect."""

    name: str
    dialect: str


class Sources(TypedDict):
    """All databases that can be asked."""

    sources: list[SourceShown]


@router.get("/sources")
def sources() -> Sources:
    """The databases that a question can name, and that it is put to when it names none."""
    services = asking().services
    return {"sources": [_shown(services, name) for name in services.choices]}


def _shown(services: Services, name: str) -> SourceShown:
    url = make_url(services.settings_of(name).url.get_secret_value())
    return {"name": one_line(source_label(name, services.settings), 200), "dialect": url.get_backend_name()}
