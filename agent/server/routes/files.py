"""Routes: uploaded files and their datasets."""

from contextlib import suppress
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, UploadFile
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool

from agent.core.cancellation import Cancellation
from agent.datasets.options import DETECT, LoadOptions, problem_of
from agent.datasets.registry import Registry
from agent.errors import DatasphinxError, FileTooLarge, FileUnknown, InputInvalid
from agent.messages import Message
from agent.server.background import cancellable
from agent.server.tenants import current_tenant
from agent.services import Services

router = APIRouter(tags=["datasets"])

DatasetId = Annotated[str, Path(pattern=r"^ds_[0-9a-f]{16}$")]
_MAX_NAME_CHARS = 255
_MAX_OPTIONS_CHARS = 100_000


@router.post("/files", status_code=201)
async def upload(
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
) -> dict[str, Any]:
    """Upload a spreadsheet, CSV, Parquet or JSON lines file and create a dataset from it."""
    services = current_tenant().services
    registry, limit = services.registry, services.settings.max_upload_bytes
    name = _clean_name(file.filename or "file")
    if (file.size or 0) > limit:
        raise FileTooLarge(name, Message("unit_bytes"), limit, "DATASPHINX_MAX_UPLOAD_BYTES")
    load = _load_options(options, {"sheet": sheet or None, "header_row": header_row})
    return await cancellable(lambda stop: _create(registry, file, name, load, stop))


@router.get("/datasets")
async def datasets() -> dict[str, list[dict[str, Any]]]:
    """All datasets, in the order of their file names."""
    registry = current_tenant().services.registry
    return {"datasets": [dataset.to_json() for dataset in await run_in_threadpool(registry.datasets)]}


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


@router.delete("/datasets/{dataset_id}", status_code=204)
async def delete(dataset_id: DatasetId) -> None:
    """Remove a dataset and its file."""
    services = current_tenant().services
    await run_in_threadpool(lambda: _delete(services, dataset_id))


def _load_options(text: str | None, fields: dict[str, Any]) -> LoadOptions:
    """Return the options of a form: those in JSON, and those in fields of their own.

    Raises:
        InputInvalid: The options are invalid or contradict each other.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        options = LoadOptions.model_validate_json(text or "{}").content()
        return LoadOptions.model_validate({**options, **given})
    except ValidationError as error:
        raise InputInvalid("options", problem_of(error)) from None


def _create(
    registry: Registry, file: UploadFile, name: str, options: LoadOptions, stop: Cancellation
) -> dict[str, Any]:
    while True:
        stop.check()
        file.file.seek(0)
        file_id = registry.add_stream(file.file, name)
        try:
            dataset = registry.create(file_id, options, cancellation=stop)
        except FileUnknown:
            # Another upload of the same file failed and has deleted the file meanwhile.
            continue
        except DatasphinxError:
            _delete_unused(registry, file_id)
            raise
        return {"file_id": file_id, "name": name, "bytes": file.size, "datasets": [dataset.to_json()]}


def _delete(services: Services, dataset_id: str) -> None:
    registry = services.registry
    file_id = registry.dataset(dataset_id).file_id
    services.dataset_sources.forget(dataset_id)
    registry.delete_dataset(dataset_id)
    _delete_unused(registry, file_id)


def _delete_unused(registry: Registry, file_id: str) -> None:
    """Delete a file without datasets."""
    if file_id not in {dataset.file_id for dataset in registry.datasets()}:
        # A concurrent request may have deleted it already.
        with suppress(FileUnknown):
            registry.delete_file(file_id)


def _clean_name(name: str) -> str:
    """Return the last part of a path, printable and of limited length; the extension stays: it sets the format."""
    clean = "".join(char if char.isprintable() else "_" for char in PurePath(name.replace("\\", "/")).name) or "file"
    return clean if len(clean) <= _MAX_NAME_CHARS else clean[-_MAX_NAME_CHARS:]
