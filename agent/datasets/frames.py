"""DataFrames: kept as Parquet, so that the same content is the same file."""

from pathlib import Path
from typing import Any

from agent.datasets.header import Header, column_names
from agent.datasets.limits import Loading, LoadLimits
from agent.datasets.workspace import workspace
from agent.text import valid_json, valid_text


def write_frame(frame: Any, name: str, folder: Path, limits: LoadLimits) -> Path:
    """Write a pandas DataFrame as Parquet into `folder` and return the path; an index with a name becomes a column.

    Raises:
        FileUnreadable: DuckDB cannot store a column of it.
        FileTooLarge: it does not fit into memory.
        DriverMissing: duckdb is not installed.
    """
    if any(label is not None for label in frame.index.names):
        frame = frame.reset_index()
    header = Header(tuple(valid_text(str(name)) for name in frame.columns), 0, 1)
    names, _ = column_names(header, range(len(header.names)))
    frame = frame.set_axis(names, axis=1)
    # Columns of any other type hold no text, or text that pandas has already encoded.
    mixed = [name for name in names if frame[name].dtype == object]
    frame = frame.assign(**{name: frame[name].map(valid_json) for name in mixed})
    path = folder / "frame.parquet"
    with workspace(folder / "frame.duckdb", [], Loading(name, limits)) as work:
        with work.frame("frame", frame):
            work.run("COPY (SELECT * FROM frame) TO ? (FORMAT parquet)", [str(path)])
    return path
