"""Files in the shared database: what is known of them, and their content in parts."""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, column, delete, literal_column, select, table, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningInsert

from agent.errors import ThreadsUnavailable
from agent.shared.database import SharedDatabase

_PART = 1 << 20
_files = table("datasphinx_files", *map(column, ("owner", "id", "body", "bytes", "sha256", "kept_at")))
_parts = table("datasphinx_file_parts", *map(column, ("owner", "id", "number", "content")))
_NEW = insert(_files)
_PUT: ReturningInsert[Any] = _NEW.on_conflict_do_update(
    index_elements=[_files.c.owner, _files.c.id], set_={"body": _NEW.excluded.body}
).returning(literal_column("xmax = 0"))
"""Says whether the row is a new one."""
_CONTENT = select(_parts.c.content).where(
    _parts.c.owner == bindparam("of"), _parts.c.id == bindparam("named"), _parts.c.number == bindparam("at")
)


class SharedFiles:
    """The files of one owner by their ids, which come from what they are. Safe to share between threads.

    Every method raises `ThreadsUnavailable` where the database cannot be reached or refuses.
    """

    def __init__(self, database: SharedDatabase, owner: str) -> None:
        """Keep files for `owner`."""
        self._database, self._owner = database, owner

    def put(self, file_id: str, body: dict[str, Any], path: Path) -> None:
        """Keep what is known of a file, and its content where it is not there yet: both or nothing."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        facts = {"bytes": path.stat().st_size, "sha256": digest, "kept_at": datetime.now(UTC).isoformat()}
        row = {"owner": self._owner, "id": file_id, "body": json.dumps(body), **facts}
        with self._database.long_transaction() as connection:
            if connection.execute(_PUT, row).scalar_one():
                for number, content in enumerate(_read_parts(path)):
                    part = {"owner": self._owner, "id": file_id, "number": number, "content": content}
                    connection.execute(insert(_parts), part)

    def bodies(self) -> dict[str, dict[str, Any]]:
        """Return what is known of every file by its id."""
        with self._database.transaction() as connection:
            rows = connection.execute(select(_files.c.id, _files.c.body).where(_files.c.owner == self._owner)).all()
        return {file_id: json.loads(body) for file_id, body in rows}

    def body(self, file_id: str) -> dict[str, Any] | None:
        """Return what is known of a file; None where there is none."""
        with self._database.transaction() as connection:
            found = connection.execute(select(_files.c.body).where(*self._is(file_id))).scalar()
        return json.loads(found) if found else None

    def read(self, file_id: str, target: Path) -> bool:
        """Write the content of a file to `target`; return whether it is there."""
        with self._database.long_transaction() as connection:
            # All parts as they were at the first, also where somebody removes the file meanwhile.
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            known = connection.execute(select(_files.c.bytes, _files.c.sha256).where(*self._is(file_id))).first()
            if known is None:
                return False
            if self._write(connection, file_id, known.bytes, target) != known.sha256:
                raise ThreadsUnavailable(self._database.name, f"{file_id} is damaged")
        return True

    def delete(self, file_id: str) -> bool:
        """Remove a file; return whether there was one."""
        with self._database.transaction() as connection:
            return connection.execute(delete(_files).where(*self._is(file_id))).rowcount > 0

    def _is(self, file_id: str) -> tuple[Any, Any]:
        return _files.c.owner == self._owner, _files.c.id == file_id

    def _write(self, connection: Connection, file_id: str, size: int, target: Path) -> str:
        digest = hashlib.sha256()
        with target.open("wb") as file:
            for number in range(-(-size // _PART)):
                named = {"of": self._owner, "named": file_id, "at": number}
                content: bytes = connection.execute(_CONTENT, named).scalar_one()
                digest.update(content)
                file.write(content)
        return digest.hexdigest()


def _read_parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while content := file.read(_PART):
            yield content
