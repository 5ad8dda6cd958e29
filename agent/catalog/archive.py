"""Files of named arrays (NumPy's .npz): written at once or not at all, and read without running anything in them."""

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
"""Nothing that is worth reading unpacks to more."""
UNUSABLE = (
    OSError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, RuntimeError, MemoryError, BadZipFile,
    struct.error, zlib.error,
)  # fmt: skip
"""What reading a file that is missing, broken or foreign raises."""


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write `arrays` to `path`, readable by the owner alone, at once or not at all.

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file, ZipFile(file, "w") as archive:
            for entry, array in arrays.items():
                with archive.open(f"{entry}.npy", "w", force_zip64=True) as opened:
                    write_array(opened, np.asarray(array), allow_pickle=False)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return what `write_arrays` wrote. Checksums are compared, so that damage anywhere in the file shows here.

    Raises:
        FileNotFoundError: there is no such file.
        UNUSABLE: it is broken, unpacks to more than 512 MB, or is another user's.
    """
    if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
        raise ValueError("the file is another user's")
    with ZipFile(path) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > _MAX_BYTES:
            raise ValueError("the file unpacks to far too much")
        return {entry.filename.removesuffix(".npy"): _read(archive, entry) for entry in entries}


def _read(archive: ZipFile, entry: ZipInfo) -> NDArray[Any]:
    if entry.compress_type != ZIP_STORED:
        raise ValueError("not as it was written")
    # All of it first, which compares its checksum: what is damaged is not even parsed.
    content = BytesIO(archive.read(entry))
    array = read_array(content, allow_pickle=False)
    if content.read(1):
        raise ValueError("something follows the array")
    return array


def packed(value: Any) -> NDArray[np.uint8]:
    """Return `value`, anything that JSON can say, as compressed bytes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return np.frombuffer(zlib.compress(text.encode("utf-8", "surrogatepass"), 1), np.uint8)


def unpacked(content: NDArray[np.uint8]) -> Any:
    """Return what `packed` took.

    Raises:
        UNUSABLE: these are other bytes, or they unpack to more than 512 MB.
    """
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(content.tobytes(), _MAX_BYTES)
    if not unpacker.eof:
        raise ValueError("the text is cut, or far too large")
    return json.loads(text.decode("utf-8", "surrogatepass"))


def flat(arrays: Arrays, name: str, dtype: type[np.generic], length: int | None = None) -> NDArray[Any]:
    """Return the array `name` of one dimension.

    Raises:
        KeyError: there is none.
        TypeError: it has another type, shape or length.
    """
    array = arrays[name]
    if array.dtype != dtype or array.ndim != 1 or (length is not None and len(array) != length):
        raise TypeError(f"{name} is not what was written")
    return array


def check_numbers(numbers: NDArray[Any], below: int) -> None:
    """Check that all of `numbers` are from 0 to under `below`.

    Raises:
        ValueError: one is not.
    """
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < below:
        raise ValueError("a number points out of its range")


def check_starts(starts: NDArray[Any], end: int) -> None:
    """Check that `starts` climb from 0 to `end`.

    Raises:
        ValueError: they do not.
    """
    if not len(starts) or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
        raise ValueError("the parts do not follow each other")
