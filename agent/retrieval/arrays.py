"""Files of named arrays (NumPy's .npz), written atomically and read without unpickling."""

import json
import os
import struct
import tempfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib.format import read_array, write_array
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]

_MAX_BYTES = 512 * 1024 * 1024
"""Upper limit for the unpacked size of a file."""
READ_ERRORS = (
    OSError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, RuntimeError, MemoryError, BadZipFile,
    struct.error, zlib.error,
)  # fmt: skip
"""Exceptions raised when a file is missing, damaged or in another format."""


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write `arrays` to `path` atomically, readable only by the owner.

    Raises:
        OSError: the directory is not writable, or the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file, ZipFile(file, "w") as archive:
            for entry, array in arrays.items():
                with archive.open(f"{entry}.npy", "w", force_zip64=True) as target:
                    write_array(target, np.asarray(array), allow_pickle=False)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays stored by `write_arrays`, after verifying their checksums.

    Raises:
        FileNotFoundError: the file does not exist.
        READ_ERRORS: the file is damaged, unpacks to more than 512 MB, or belongs to another user.
    """
    if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
        raise ValueError("the file belongs to another user")
    with ZipFile(path) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > _MAX_BYTES:
            raise ValueError("the unpacked file is too large")
        return {entry.filename.removesuffix(".npy"): _read(archive, entry) for entry in entries}


def _read(archive: ZipFile, entry: ZipInfo) -> NDArray[Any]:
    if entry.compress_type != ZIP_STORED:
        raise ValueError("the entry is compressed")
    # Reading the whole entry verifies its checksum, so damaged content is never parsed.
    content = BytesIO(archive.read(entry))
    array = read_array(content, allow_pickle=False)
    if content.read(1):
        raise ValueError("the entry has data after the array")
    return array


def pack_json(value: Any) -> NDArray[np.uint8]:
    """Return `value`, any JSON value, as compressed bytes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return np.frombuffer(zlib.compress(text.encode("utf-8", "surrogatepass"), 1), np.uint8)


def unpack_json(content: NDArray[np.uint8]) -> Any:
    """Return the value stored by `pack_json`.

    Raises:
        READ_ERRORS: the bytes are in another format, or unpack to more than 512 MB.
    """
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(content.tobytes(), _MAX_BYTES)
    if not unpacker.eof:
        raise ValueError("the text is truncated or too large")
    return json.loads(text.decode("utf-8", "surrogatepass"))


def array_1d(arrays: Arrays, name: str, dtype: type[np.generic], length: int | None = None) -> NDArray[Any]:
    """Return the one-dimensional array `name`.

    Raises:
        KeyError: the array is missing.
        TypeError: its type, shape or length is different.
    """
    array = arrays[name]
    if array.dtype != dtype or array.ndim != 1 or (length is not None and len(array) != length):
        raise TypeError(f"{name} has an unexpected type, shape or length")
    return array


def check_numbers(numbers: NDArray[Any], below: int) -> None:
    """Check that all `numbers` are at least 0 and less than `below`.

    Raises:
        ValueError: a number is out of range.
    """
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < below:
        raise ValueError("a number is out of range")


def check_starts(starts: NDArray[Any], end: int) -> None:
    """Check that `starts` ascend from 0 to `end`.

    Raises:
        ValueError: they do not.
    """
    if not len(starts) or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError("the offsets are not in order")
