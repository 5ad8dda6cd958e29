"""Resources: the schema and the business knowledge of each source."""

from collections.abc import Callable

from mcp.shared.uri_template import UriTemplate
from mcp_types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import InputInvalid
from datasphinx.agent.messages import Message
from datasphinx.agent.server.background import cancellable
from datasphinx.agent.server.mcp.schema import knowledge_of, table_description, table_list
from datasphinx.agent.server.routes.sources import sources
from datasphinx.agent.server.statements import open_source
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.sources.source import Source

_SCHEMA = UriTemplate.parse("datasphinx://{source}/schema")
_TABLE = UriTemplate.parse("datasphinx://{source}/schema/{table}")
_KNOWLEDGE = UriTemplate.parse("datasphinx://{source}/knowledge")
_TEXT = "text/plain"

_CONTENTS: tuple[tuple[UriTemplate, Callable[[Source, str], str]], ...] = (
    (_SCHEMA, lambda source, table: table_list(source)[1]),
    (_TABLE, lambda source, table: table_description(source, [table])[1]),
    (_KNOWLEDGE, lambda source, table: knowledge_of(source)),
)


def list_resources() -> ListResourcesResult:
    """Return the schema and the knowledge of each source of the tenant."""
    resources = []
    for source in sources()["sources"]:
        name = source["name"]
        resources += [
            Resource(
                uri=_SCHEMA.expand({"source": name}),
                name=f"{name} schema",
                description=f"The tables and columns of {name}, one table a line.",
                mime_type=_TEXT,
            ),
            Resource(
                uri=_KNOWLEDGE.expand({"source": name}),
                name=f"{name} knowledge",
                description=f"Metrics, terms, joins and the calendar of {name}.",
                mime_type=_TEXT,
            ),
        ]
    return ListResourcesResult(resources=resources)


def list_resource_templates() -> ListResourceTemplatesResult:
    """Return the template of the description of one table."""
    table = ResourceTemplate(
        uri_template=str(_TABLE),
        name="table",
        description="A table with the types, keys, comments and typical values of its columns.",
        mime_type=_TEXT,
    )
    return ListResourceTemplatesResult(resource_templates=[table])


async def read_resource(uri: str) -> ReadResourceResult:
    """Return the text of a resource.

    Raises:
        InputInvalid: there is no such resource.
        DatasphinxError: as for `open_source`.
    """
    matches = ((template.match(uri), content) for template, content in _CONTENTS)
    names, content = next(((names, content) for names, content in matches if names), (None, None))
    if names is None or content is None:
        raise InputInvalid("uri", Message("one_of", choices=", ".join(str(template) for template, _ in _CONTENTS)))
    source = await open_source(current_tenant().services, str(names["source"]))

    def work(_: Cancellation) -> str:
        return content(source, str(names.get("table", "")))

    text = await cancellable(work)
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=_TEXT)])
