"""The tools `datasphinx_sources` and `datasphinx_schema`."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.errors import InputInvalid
from datasphinx.agent.knowledge.prompt import knowledge_text
from datasphinx.agent.messages import Message
from datasphinx.agent.schema.describe import compact_lines, describe, one_line
from datasphinx.agent.server.background import cancellable
from datasphinx.agent.server.mcp.call import Call
from datasphinx.agent.server.routes.sources import SourceShown, sources
from datasphinx.agent.server.statements import open_source
from datasphinx.agent.sources.source import Source

_MAX_MATCHES = 20
_LIST_TOKENS = 8_000
"""Maximum size of a list of tables, in tokens."""

_Text = Annotated[str, Field(min_length=1, max_length=1_000)]


class NoArguments(BaseModel):
    """No arguments."""

    model_config = ConfigDict(extra="forbid")


class SourceList(BaseModel):
    """The databases that a question or a statement can use."""

    sources: list[SourceShown]


class SchemaQuery(BaseModel):
    """Tables to find or to describe."""

    model_config = ConfigDict(extra="forbid")

    source: str | None = Field(
        None, description="A source that the tool `datasphinx_sources` lists; it may be left out if there is one."
    )
    search: _Text | None = Field(None, description="Words or a question; the tables that they refer to are listed.")
    tables: Annotated[list[_Text], Field(min_length=1, max_length=_MAX_MATCHES)] | None = Field(
        None, description="Names of tables to describe with types, keys, comments and typical values."
    )


class Schema(BaseModel):
    """Tables of a source."""

    dialect: str = Field(description="The SQL dialect of the source.")
    tables: list[str] = Field(description="The names of the described tables, as statements quote them.")
    description: str = Field(description="The tables with their columns; keys follow after `->`.")
    knowledge: str = Field(description="The metrics, terms, joins and rules that concern the described tables only.")
    table_count: int = Field(description="The number of tables of the source.")


async def list_sources(arguments: NoArguments, call: Call) -> SourceList:
    """Return the sources of the tenant."""
    return SourceList.model_validate(sources())


async def show_schema(arguments: SchemaQuery, call: Call) -> Schema:
    """Describe the named tables, or list those that a text refers to, or all.

    Raises:
        InputInvalid: a table does not exist.
    """
    source = await open_source(call.services, arguments.source)

    def work(_: Cancellation) -> Schema:
        catalog = source.shown_catalog
        keys = list(catalog.tables)
        if arguments.tables is not None:
            keys, description = _described(source, arguments.tables)
        else:
            if arguments.search is not None:
                shown = set(keys)
                ranked = source.index.rank(source.knowledge.expanded(arguments.search), fuzzy=1)
                keys = [key for key in ranked if key in shown][:_MAX_MATCHES]
            lines = compact_lines(catalog, keys, source.database.quote, _LIST_TOKENS)
            keys, description = list(lines), "\n".join(lines.values())
        return Schema(
            dialect=catalog.engine.dialect,
            tables=keys,
            description=description,
            knowledge=knowledge_text(source.knowledge, keys),
            table_count=len(catalog.tables),
        )

    return await cancellable(work)


def _described(source: Source, names: Iterable[str]) -> tuple[list[str], str]:
    """Return the keys of the tables, and their description as in prompts. Raise InputInvalid if one is not shown."""
    catalog, keys, unknown = source.shown_catalog, dict[str, None](), []
    for name in names:
        found = [key for key in (catalog.key_of(name), *catalog.keys_named(name)) if key]
        keys |= dict.fromkeys(found)
        unknown += [] if found else [one_line(name)]
    if unknown:
        raise InputInvalid("tables", Message("tables_not_in_source", tables=", ".join(unknown)))
    return list(keys), describe(catalog, {key: catalog.tables[key].column_names for key in keys}, source.database.quote)
