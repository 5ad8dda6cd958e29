"""Routes: uploaded files and their datasets."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from pathlib import PurePath
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Form, Path, Query, Request, UploadFile
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlglot import exp

from datasphinx.agent.core.cancellation import Cancellation
from datasphinx.agent.datasets.limits import LoadProgress, ProgressEvent, ignore_progress, progress_events
from datasphinx.agent.datasets.notes import ordered
from datasphinx.agent.datasets.options import DETECT, LoadOptions, problem_of
from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.errors import DatasphinxError, InputInvalid, NotFound, TooLarge
from datasphinx.agent.formatting.formats import answer_table
from datasphinx.agent.messages import Language, Message
from datasphinx.agent.server.background import cancellable
from datasphinx.agent.server.errors import accepted_language, new_router
from datasphinx.agent.server.routes.events import EventStream, event_response, stream_of
from datasphinx.agent.server.runnable import plain_json
from datasphinx.agent.server.tenants import current_tenant
from datasphinx.agent.services import Services
from datasphinx.agent.tools.tool import select

router = new_router(tags=["datasets"])

DatasetId = Annotated[str, Path(pattern=r"^ds_[0-9a-f]{16}$")]
_MAX_NAME_CHARS = 255
_MAX_PREVIEW_ROWS = 50
_MAX_PREVIEW_COLUMNS = 100
_MAX_OPTIONS_CHARS = 100_000
_LOAD_EVENTS: dict[int | str, dict[str, Any]] = {200: stream_of("progress", "output", "problem")}


class _Form(NamedTuple):
    """An uploaded file with its clean name, and how to read it."""

    file: UploadFile
    name: str
    options: LoadOptions


async def _form(
    file: UploadFile,
    sheet: Annotated[
        str | None, Form(max_length=_MAX_NAME_CHARS, description="Sheet of a workbook; default: the first.")
    ] = None,
    header_row: Annotated[
        int | None,
        Form(ge=0, le=10_000_000, description="Number of the header row, from 1; 0: no header; default: detected."),
    ] = None,
    options: Annotated[
        str | None,
        Form(max_length=_MAX_OPTIONS_CHARS, description="How to read the file, as JSON; see the schema LoadOptions."),
    ] = None,
) -> _Form:
    limit = current_tenant().services.settings.max_upload_bytes
    last_part = PurePath((file.filename or "file").replace("\\", "/")).name
    # The last characters are kept: the extension sets the format.
    name = ("".join(char if char.isprintable() else "_" for char in last_part) or "file")[-_MAX_NAME_CHARS:]
    if (file.size or 0) > limit:
        raise TooLarge(
            "file_too_large",
            file=name,
            what=Message("unit_bytes"),
            limit=limit,
            remedy=Message("split_or_raise", setting="DATASPHINX_MAX_UPLOAD_BYTES"),
            hint="",
        )
    return _Form(file, name, _load_options(options, {"sheet": sheet or None, "header_row": header_row}))


Uploaded = Annotated[_Form, Depends(_form)]


@router.post("/files", status_code=201)
async def upload(form: Uploaded) -> dict[str, Any]:
    """Upload a spreadsheet, CSV, Parquet or JSON lines file and create a dataset from it."""
    registry = current_tenant().services.registry
    return await cancellable(lambda stop: _create(registry, form, ignore_progress, stop))


@router.post("/files/events", response_class=EventStream, responses=_LOAD_EVENTS)
async def upload_events(request: Request, form: Uploaded) -> EventStream:
    """Upload a file as with `/files` and get events with the progress; closing the connection cancels the load."""
    registry = current_tenant().services.registry
    return _load_response(lambda progress, stop: _create(registry, form, progress, stop), request)


@router.get("/datasets")
def datasets() -> dict[str, list[dict[str, Any]]]:
    """All datasets, in the order of their file names."""
    return {"datasets": [dataset.to_json() for dataset in current_tenant().services.registry.datasets()]}


class NewDataset(BaseModel):
    """A stored file, and how to read it."""

    model_config = ConfigDict(extra="forbid")

    file_id: str = Field(pattern=r"^file_[0-9a-f]{16}$", description="Id of an uploaded file.")
    options: LoadOptions = Field(DETECT, description="How to read it.")


@router.post("/datasets", status_code=201)
async def create(new: NewDataset) -> dict[str, Any]:
    """Create a dataset from an uploaded file with other options. What is left out is detected."""
    registry = current_tenant().services.registry
    dataset = await cancellable(lambda stop: registry.create(new.file_id, new.options, cancellation=stop))
    return dataset.to_json()


@router.post("/datasets/events", response_class=EventStream, responses=_LOAD_EVENTS)
async def create_events(request: Request, new: NewDataset) -> EventStream:
    """Create a dataset as with `/datasets` and get events with the progress; closing the connection cancels it."""
    registry = current_tenant().services.registry
    return _load_response(
        lambda progress, stop: registry.create(new.file_id, new.options, progress, stop).to_json(), request
    )


@router.get("/datasets/{dataset_id}/preview")
async def preview(
    dataset_id: DatasetId, request: Request, rows: Annotated[int, Query(ge=1, le=_MAX_PREVIEW_ROWS)] = 8
) -> dict[str, Any]:
    """A dataset with its first rows, and notes on how it was read in the language of Accept-Language."""
    services, language = current_tenant().services, accepted_language(request.scope)
    return await cancellable(lambda stop: _preview(services, dataset_id, rows, language, stop))


@router.delete("/datasets/{dataset_id}", status_code=204)
def delete(dataset_id: DatasetId) -> None:
    """Remove a dataset and its file."""
    services = current_tenant().services
    file_id = services.registry.dataset(dataset_id).file_id
    services.dataset_sources.forget(dataset_id)
    services.registry.delete_dataset(dataset_id)
    _delete_unused(services.registry, file_id)


def _load_options(text: str | None, fields: dict[str, Any]) -> LoadOptions:
    """Return the options of a form, in JSON and in fields. Raise InputInvalid if they contradict each other."""
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        options = LoadOptions.model_validate_json(text or "{}").content()
        return LoadOptions.model_validate({**options, **given})
    except ValidationError as error:
        raise InputInvalid("options", problem_of(error)) from None


def _load_response(work: Callable[[LoadProgress, Cancellation], dict[str, Any]], request: Request) -> EventStream:
    return event_response(_load_events(work), request.scope, current_tenant().services.settings.request_timeout_s)


async def _load_events(
    work: Callable[[LoadProgress, Cancellation], dict[str, Any]],
) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
    """Yield the progress of a load in whole percents of each stage, and the result of `work`."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[ProgressEvent | None]()
    report = progress_events(lambda progress: loop.call_soon_threadsafe(queue.put_nowait, progress))
    working = asyncio.create_task(cancellable(lambda stop: work(report, stop)))
    working.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while progress := await queue.get():
            yield "progress", {**progress}
        yield "output", await working
    finally:
        working.cancel()


def _create(registry: Registry, form: _Form, progress: LoadProgress, stop: Cancellation) -> dict[str, Any]:
    while True:
        stop.check()
        form.file.file.seek(0)
        file_id = registry.add_stream(form.file.file, form.name)
        try:
            dataset = registry.create(file_id, form.options, progress, stop)
        except NotFound:
            # Another upload of the same file failed and has deleted the file meanwhile.
            continue
        except DatasphinxError:
            _delete_unused(registry, file_id)
            raise
        return {"file_id": file_id, "name": form.name, "bytes": form.file.size, "datasets": [dataset.to_json()]}


def _preview(
    services: Services, dataset_id: str, rows: int, language: Language, cancellation: Cancellation
) -> dict[str, Any]:
    dataset = services.registry.dataset(dataset_id)
    source = services.datasets([dataset_id])
    columns = [exp.column(column.name, quoted=True) for column in dataset.schema[:_MAX_PREVIEW_COLUMNS]]
    result = select(columns, source.catalog.tables[dataset_id], source, cancellation, rows)
    notes = [warning.message(language) for warning in ordered(dataset.report.warnings)]
    table = answer_table("preview", result)
    shown = {name: table[name] for name in ("columns", "rows", "formats")}
    body = {**dataset.to_json(), **shown, "notes": notes}
    return plain_json(body)


def _delete_unused(registry: Registry, file_id: str) -> None:
    """Delete a file without datasets."""
    if file_id not in {dataset.file_id for dataset in registry.datasets()}:
        # A concurrent request may have deleted it already.
        with suppress(NotFound):
            registry.delete_file(file_id)
