"""Routes: files that are uploaded, and the datasets made of them."""

from contextlib import suppress
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, UploadFile
from starlette.concurrency import run_in_threadpool

from agent.datasets.registry import Registry
from agent.errors import DatasphinxError, FileTooLarge, FileUnknown
from agent.service.apart import cancellable
from agent.service.tenant import asking
from agent.services import Services
from agent.sql.limits import Cancellation

router = APIRouter(tags=["datasets"])

DatasetId = Annotated[str, Path(pattern=r"^ds_[0-9a-f]{16}$")]
_LONGEST_NAME = 255
_LAST_ROW = 10_000_000


@router.post("/files", status_code=201)
async def upload(
    file: UploadFile,
    sheet: Annotated[
        str | None, Form(max_length=_LONGEST_NAME, description="Of a workbook; left out: the first.")
    ] = None,
    header_row: Annotated[
        int | None, Form(ge=0, le=10_000_000, description="From 1; 0: none; left out: found.")
    ] = None,
) -> dict[str, Any]:
    """Keep a spreadsheet, CSV, Parquet or JSON lines file and make a dataset of it."""
    services = asking().services
    registry, limit = services.registry, services.settings.max_upload_bytes
    name = _plain(file.filename or "file")
    if (file.size or 0) > limit:
        raise FileTooLarge(name, "bytes", limit, "DATASPHINX_MAX_UPLOAD_BYTES")
    return await cancellable(lambda stop: _made(registry, file, name, sheet or None, header_row, stop))


@router.get("/datasets")
async def datasets() -> dict[str, list[dict[str, Any]]]:
    """All datasets, by the name of their file."""
    registry = asking().services.registry
    return {"datasets": [each.to_json() for each in await run_in_threadpool(registry.datasets)]}


@router.delete("/datasets/{dataset_id}", status_code=204)
async def delete(dataset_id: DatasetId) -> None:
    """Remove a dataset and its file."""
    services = asking().services
    await run_in_threadpool(lambda: _delete(services, dataset_id))


def _made(
    registry: Registry, file: UploadFile, name: str, sheet: str | None, header_row: int | None, stop: Cancellation
) -> dict[str, Any]:
    while True:
        stop.check()
        file.file.seek(0)
        file_id = registry.add_stream(file.file, name)
        try:
            dataset = registry.create(file_id, sheet, header_row, cancellation=stop)
        except FileUnknown:
            # Somebody who has sent the same file, and got no dataset of it, has removed it meanwhile.
            continue
        except DatasphinxError:
            _let_go(registry, file_id)
            raise
        return {"file_id": file_id, "name": name, "bytes": file.size, "datasets": [dataset.to_json()]}


def _delete(services: Services, dataset_id: str) -> None:
    registry = services.registry
    file_id = registry.dataset(dataset_id).file_id
    services.opened.forget(dataset_id)
    registry.delete_dataset(dataset_id)
    _let_go(registry, file_id)


def _let_go(registry: Registry, file_id: str) -> None:
    """Remove a file of which no dataset is left."""
    if file_id not in {each.file_id for each in registry.datasets()}:
        # Somebody else who deletes, or loads in vain, may have been faster.
        with suppress(FileUnknown):
            registry.delete_file(file_id)


def _plain(name: str) -> str:
    """Return the last part of a name as it can be kept and shown; its ending stays, since it tells what the file is."""
    clean = "".join(each if each.isprintable() else "_" for each in PurePath(name.replace("\\", "/")).name) or "file"
    return clean if len(clean) <= _LONGEST_NAME else clean[-_LONGEST_NAME:]
