"""What a Python user asks: databases, files and DataFrames, told apart, and whether one question can reach them all."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.datasets.registry import Registry
from agent.errors import SourceNotFound, SourcesNotTogether
from agent.services import Services
from agent.source_settings import SourceSettings
from agent.sql.engines import parse_url
from agent.sql.redact import without_password

Asked = Any
"""A SQLAlchemy URL, the name of a configured source, the path of a file, or a pandas DataFrame."""


@dataclass(frozen=True)
class AskedSources:
    """What is asked: databases by name, or files and DataFrames; nothing stands for the configured sources."""

    databases: dict[str, SourceSettings]
    files: tuple[Path, ...]
    frames: tuple[Any, ...]

    @property
    def are_tables(self) -> bool:
        """True where files or DataFrames are asked."""
        return bool(self.files or self.frames)

    def registered(self, registry: Registry) -> dict[str, list[str]]:
        """Return the `files` and `datasets` of a question to the analyst, by their ids in `registry`.

        Raises:
            FileTooLarge: a file or a DataFrame is larger than the settings allow.
            FileUnreadable: a column of a DataFrame cannot be stored.
            DriverMissing: the extra `analyst` is not installed.
        """
        files = [registry.add_file(path) for path in self.files]
        frames = [registry.create_from_frame(frame, f"frame_{at}") for at, frame in enumerate(self.frames, 1)]
        return {"files": files, "datasets": [dataset.dataset_id for dataset in frames]}


def read_sources(sources: Asked | Sequence[Asked], services: Services) -> AskedSources:
    """Return `sources`, one or several, told apart; names are those in the settings of `services`.

    Raises:
        SourceNotFound: one is neither a URL, a configured source, an existing file nor a DataFrame.
        SourcesNotTogether: they are databases of several engines, or databases and files.
        ConfigurationError, DriverMissing: the engine of a URL is not known, or its driver not installed.
    """
    several: list[Any] = list(sources) if isinstance(sources, list | tuple) else [sources]
    databases: dict[str, SourceSettings] = {}
    files: list[Path] = []
    frames: list[Any] = []
    kinds: list[tuple[str, str]] = []
    for source in several:
        if _is_frame(source):
            frames.append(source)
            kinds.append((f"a DataFrame of {len(source)} rows", ""))
        elif path := _file(source, services):
            files.append(path)
            kinds.append((str(path), ""))
        else:
            settings = _database(source, services)
            databases[source if "://" not in source else f"database_{len(databases) + 1}"] = settings
            kinds.append((without_password(source), parse_url(settings.url.get_secret_value())[1].dialect))
    for label, kind in kinds:
        if kind != kinds[0][1]:
            raise SourcesNotTogether(kinds[0][0], label)
    return AskedSources(databases, tuple(files), tuple(frames))


def _is_frame(source: Asked) -> bool:
    # Who has a DataFrame has imported pandas, and who has none need not install it.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def _file(source: Asked, services: Services) -> Path | None:
    is_name = isinstance(source, str) and ("://" in source or source in services.settings.sources)
    if is_name or not isinstance(source, str | Path):
        return None
    path = Path(source).expanduser()
    return path if path.is_file() else None


def _database(source: Asked, services: Services) -> SourceSettings:
    if not isinstance(source, str):
        shown = str(source) if isinstance(source, Path) else type(source).__name__
        raise SourceNotFound(shown, "that is neither an existing file, a URL, a configured source nor a DataFrame")
    try:
        return services.settings_of(source)
    except SourceNotFound as error:
        raise SourceNotFound(error.source, f"{error.reason}; and there is no such file") from None
