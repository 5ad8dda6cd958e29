"""What a packed workbook unpacks to, measured before anything reads it."""

import zipfile
import zlib
from pathlib import Path

from agent.datasets.limits import Loading
from agent.errors import FileEncrypted

_MAX_RATIO = 200
"""Worksheets shrink to a tenth, very regular ones to a fiftieth."""

_HARMLESS_BYTES = 50_000_000
_CHUNK = 1 << 20
_ENCRYPTED = 0x1


def refuse_bombs(path: Path, loading: Loading) -> None:
    """Unpack the members of the zip archive at `path` one after the other, keeping nothing, to see how large they are.

    Raises:
        ArchiveSuspicious: more than 200 bytes of each byte and 50 MB in all, or more than the limits allow.
        FileUnreadable: it is damaged.
        FileEncrypted: a member has a password.
        StatementCancelled: the loading is to stop.
    """
    allowed = min(loading.limits.max_unpacked_bytes, max(_HARMLESS_BYTES, _MAX_RATIO * path.stat().st_size))
    try:
        with zipfile.ZipFile(path) as archive:
            declared = sum(member.file_size for member in archive.infolist())
            if declared > allowed:
                raise loading.suspicious(declared, allowed)
            total = 0
            for member in archive.infolist():
                if member.flag_bits & _ENCRYPTED:
                    raise FileEncrypted(loading.file)
                total += _unpacked(archive, member, allowed - total, loading)
                if total > allowed:
                    raise loading.suspicious(total, allowed)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise loading.unreadable(f"it is damaged ({error or type(error).__name__})", path) from error


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, allowed: int, loading: Loading) -> int:
    """Return how many bytes `member` unpacks to, or somewhat more than `allowed`."""
    # The archive says itself how large a member is; the reader of workbooks does not stop there, nor does this.
    member.file_size = allowed + _CHUNK
    size = 0
    with archive.open(member) as file:
        while size <= allowed and (chunk := file.read(_CHUNK)):
            size += len(chunk)
            loading.cancellation.check()
    return size
