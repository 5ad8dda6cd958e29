"""Files of named arrays (NumPy's .npz), written atomically and read without unpickling."""

import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from datasphinx.agent.core.replaced_file import replaced_file

Arrays = Mapping[str, NDArray[Any]]

READ_ERRORS = (
    OSError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, RuntimeError, MemoryError, BadZipFile,
    struct.error, zlib.error,
)  # fmt: skip
"""Exceptions raised when a file is missing, damaged or in another format."""


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write `arrays`, none of objects, to `path` atomically, readable only by the owner."""
    contents: dict[str, Any] = dict(arrays)
    with replaced_file(path) as new, new.open("wb") as file:
        np.savez(file, **contents)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays stored by `write_arrays`, after verifying their checksums.

    Raises:
        FileNotFoundError: the file does not exist.
        READ_ERRORS: the file is damaged, or belongs to another user.
    """
    if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
        raise ValueError("the file belongs to another user")
    with path.open("rb") as file, np.load(file) as archive:
        return dict(archive)


def pack_json(value: Any) -> NDArray[np.uint8]:
    """Return `value`, any JSON value, as compressed bytes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return np.frombuffer(zlib.compress(text.encode("utf-8", "surrogatepass"), 1), np.uint8)


def unpack_json(content: NDArray[np.uint8]) -> Any:
    """Return the value stored by `pack_json`. Raise READ_ERRORS if the bytes are in another format."""
    return json.loads(zlib.decompress(content.tobytes()).decode("utf-8", "surrogatepass"))
