"""Route: the sources that questions can use."""

from collections.abc import Mapping
from itertools import islice
from typing import Annotated

from fastapi import Query, Request
from sqlalchemy.engine import make_url
from typing_extensions import TypedDict

from datasphinx.agent.answers.starting_questions import StartingQuestion, starting_questions
from datasphinx.agent.knowledge.labels import meanings_of
from datasphinx.agent.proposals import may_explain
from datasphinx.agent.schema.catalog import Catalog, Column, ColumnKey, Table
from datasphinx.agent.schema.codes import codes_of
from datasphinx.agent.schema.describe import one_line
from datasphinx.agent.schema.personal import personal_content
from datasphinx.agent.server.errors import accepted_language, new_router
from datasphinx.agent.server.live_sources import may_edit_sources, may_run_sql
from datasphinx.agent.server.statements import listed_sources, resolve_source
from datasphinx.agent.server.tenants import current_tenant, has_role
from datasphinx.agent.services import Services
from datasphinx.agent.sources.names import SAMPLE

router = new_router(tags=["sources"])
_MAX_TABLES, _MAX_VALUES = 300, 5


class SourceShown(TypedDict):
    """A source: its name in a question, its dialect, and what its data is about."""

    name: str
    dialect: str
    description: str


class Sources(TypedDict):
    """All sources, and what the key or token may do: proposals, their review, statements, and editing the sources.

    `model` is the name of the model, None for the embedded one; `is_sample` whether the only source is the sample shop;
    `is_operator` whether the key or token has the role `operate`, as everybody has on a server without keys.
    """

    sources: list[SourceShown]
    is_sample: bool
    model: str | None
    is_operator: bool
    may_review: bool
    may_run_sql: bool
    may_propose: bool
    may_edit_sources: bool


@router.get("/sources")
def sources() -> Sources:
    """The sources that a question can name; if it names none, one of them is chosen."""
    services = current_tenant().services
    has_knowledge = any(source.knowledge for source in services.settings.sources.values())
    shown = [_describe(services, label, name) for label, name in listed_sources(services).items()]
    return {
        "sources": shown,
        "is_sample": services.choices == (SAMPLE,),
        "model": services.settings.llm_model,
        "is_operator": has_role("operate"),
        "may_review": has_knowledge and has_role("review"),
        "may_run_sql": may_run_sql(services.settings),
        "may_propose": has_knowledge,
        "may_edit_sources": may_edit_sources(services.settings) and has_role("operate"),
    }


class ColumnShown(TypedDict):
    """A column: its type, comment, and smallest, largest and frequent values in the sampled rows, if they are known.

    `meanings` has those of codes, from the business knowledge or the comment.
    `references` is the column that a foreign key refers to. Keys, and columns that look personal, have no `values`.
    """

    name: str
    type: str
    comment: str | None
    is_key: bool
    references: str | None
    values: list[str]
    meanings: dict[str, str]
    minimum: str | None
    maximum: str | None


class TableShown(TypedDict):
    """A table: its approximate number of rows, if it is known, and its columns."""

    name: str
    comment: str | None
    rows: int | None
    columns: list[ColumnShown]


class Tables(TypedDict):
    """The first 300 tables of a source, the number of all, and whether the meaning of a code may be added."""

    tables: list[TableShown]
    table_count: int
    may_explain: bool


class StartingQuestions(TypedDict):
    """Questions whose statements return rows."""

    questions: list[StartingQuestion]


SourceName = Annotated[str | None, Query(max_length=1000, description="Default: the first source.")]


@router.get("/sources/tables")
def tables(source: SourceName = None) -> Tables:
    """The tables of a source, without secret and hidden columns and without tables that its row rules deny."""
    services, name = current_tenant().services, _name(source)
    opened = services.source(name)
    catalog = opened.shown_catalog
    meanings = meanings_of(opened.knowledge.knowledge, catalog)
    shown = [_describe_table(table, catalog, meanings) for table in islice(catalog.tables.values(), _MAX_TABLES)]
    is_permitted = has_role("review") and may_explain(services, name)
    return {"tables": shown, "table_count": len(catalog.tables), "may_explain": is_permitted}


@router.get("/sources/questions")
def questions(request: Request, source: SourceName = None) -> StartingQuestions:
    """Up to six questions to start with, from the knowledge and the schema; each was verified to return rows."""
    opened = current_tenant().services.source(_name(source))
    return {"questions": starting_questions(opened, accepted_language(request.scope))}


def _name(name: str | None) -> str:
    """Return the source that a client means by `name`, by default the first one."""
    services = current_tenant().services
    return services.choices[0] if name is None else resolve_source(services, name)


def _describe_table(table: Table, catalog: Catalog, meanings: Mapping[ColumnKey, Mapping[str, str]]) -> TableShown:
    targets = {
        name: f"{key.target}.{target}"
        for key in table.foreign_keys
        for name, target in zip(key.columns, key.target_columns, strict=True)
    }

    def is_bare(column: Column) -> bool:
        return column.name in table.key_columns or bool(personal_content(catalog, table, column))

    columns = [
        ColumnShown(
            name=each.name,
            type=each.type,
            comment=each.comment,
            is_key=each.name in table.primary_key,
            references=targets.get(each.name),
            values=[] if is_bare(each) else list(each.examples[:_MAX_VALUES]),
            meanings={**codes_of(each), **meanings.get((table.key, each.name), {})},
            minimum=each.minimum,
            maximum=each.maximum,
        )
        for each in table.columns
        if not each.secret
    ]
    return {"name": table.key, "comment": table.comment, "rows": table.rows, "columns": columns}


def _describe(services: Services, label: str, name: str) -> SourceShown:
    settings = services.settings_of(name)
    dialect = make_url(settings.url.get_secret_value()).get_backend_name()
    return {"name": one_line(label, 200), "dialect": dialect, "description": settings.description}
