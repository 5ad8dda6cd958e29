"""The tools `sources` and `schema`, and the texts about a source, which are also resources."""

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
        None, description="A source that the tool `sources` lists; it may be left out if there is one."
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
    table_count: int = Field(description="The number of tables of the source.")


async def list_sources(arguments: NoArguments, call: Call) -> SourceList:
    """Return the sources of the tenant."""
    return SourceList.model_validate(sources())


async def show_schema(arguments: SchemaQuery, call: Call) -> Schema:
    """Describe the named tables, or list those that a text refers to, or all.

    Raises:
        InputInvalid: a table does not exist.
        DatasphinxError: as for `open_source`.
    """
    source = await open_source(call.services, arguments.source)

    def work(_: Cancellation) -> Schema:
        keys = list(source.shown_catalog.tables)
        if arguments.tables is not None:
            return _schema(source, *table_description(source, arguments.tables))
        if arguments.search is not None:
            shown = set(keys)
            ranked = source.index.rank(source.knowledge.expanded(arguments.search), fuzzy=1)
            keys = [key for key in ranked if key in shown][:_MAX_MATCHES]
        return _schema(source, *table_list(source, keys))

    return await cancellable(work)


def _schema(source: Source, keys: list[str], description: str) -> Schema:
    catalog = source.shown_catalog
    return Schema(dialect=catalog.dialect, tables=keys, description=description, table_count=len(catalog.tables))


def table_list(source: Source, keys: Iterable[str] | None = None) -> tuple[list[str], str]:
    """Return the tables `keys`, by default all, and a line for each with its columns; as many as are not too long."""
    catalog = source.shown_catalog
    lines = compact_lines(catalog, catalog.tables if keys is None else keys, source.database.quote, _LIST_TOKENS)
    return list(lines), "\n".join(lines.values())


def table_description(source: Source, names: Iterable[str]) -> tuple[list[str], str]:
    """Return the keys of the tables with these names, and their description as in prompts.

    Raises:
        InputInvalid: a table does not exist or is not shown.
    """
    catalog, keys, unknown = source.shown_catalog, dict[str, None](), []
    for name in names:
        found = [key for key in (catalog.key_of(name), *catalog.keys_named(name)) if key]
        keys |= dict.fromkeys(found)
        unknown += [] if found else [one_line(name)]
    if unknown:
        raise InputInvalid("tables", Message("tables_not_in_source", tables=", ".join(unknown)))
    return list(keys), describe(catalog, {key: catalog.tables[key].column_names for key in keys}, source.database.quote)


def knowledge_of(source: Source) -> str:
    """Return the business knowledge about the tables that the tenant may read."""
    return knowledge_text(source.knowledge, source.shown_catalog.tables)
