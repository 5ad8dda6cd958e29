"""Files in the shared database: a JSON description of each file, and its content in parts."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, column, delete, literal_column, select, table, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningInsert

from datasphinx.agent.errors import Unavailable
from datasphinx.agent.messages import Message
from datasphinx.agent.storage.database import SharedDatabase

_PART_BYTES = 1 << 20
_files = table("datasphinx_files", *map(column, ("owner", "id", "body", "bytes", "sha256", "kept_at")))
_parts = table("datasphinx_file_parts", *map(column, ("owner", "id", "number", "content")))
_NEW = insert(_files)
_PUT: ReturningInsert[Any] = _NEW.on_conflict_do_update(
    index_elements=[_files.c.owner, _files.c.id], set_={"body": _NEW.excluded.body}
).returning(literal_column("xmax = 0"))
"""Returns whether the row was inserted, not updated."""
_CONTENT = select(_parts.c.content).where(
    _parts.c.owner == bindparam("owner_is"),
    _parts.c.id == bindparam("id_is"),
    _parts.c.number == bindparam("number_is"),
)


class SharedFiles:
    """The files of one owner, by ids derived from their content. Thread-safe.

    Every method raises `Unavailable` if the database is unreachable or reports an error.
    """

    def __init__(self, database: SharedDatabase, owner: str) -> None:
        self._database, self._owner = database, owner

    def put(self, file_id: str, body: dict[str, Any], path: Path) -> None:
        """Store the description of a file, and its content if it is new, in one transaction."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        facts = {"bytes": path.stat().st_size, "sha256": digest, "kept_at": datetime.now(UTC).isoformat()}
        row = {"owner": self._owner, "id": file_id, "body": json.dumps(body), **facts}
        with self._database.long_transaction() as connection:
            if connection.execute(_PUT, row).scalar_one():
                with path.open("rb") as file:
                    for number, content in enumerate(iter(lambda: file.read(_PART_BYTES), b"")):
                        part = {"owner": self._owner, "id": file_id, "number": number, "content": content}
                        connection.execute(insert(_parts), part)

    def bodies(self) -> dict[str, dict[str, Any]]:
        """Return the description of every file by its id."""
        with self._database.transaction() as connection:
            rows = connection.execute(select(_files.c.id, _files.c.body).where(_files.c.owner == self._owner)).all()
        return {file_id: json.loads(body) for file_id, body in rows}

    def body(self, file_id: str) -> dict[str, Any] | None:
        """Return the description of a file; None if there is no such file."""
        with self._database.transaction() as connection:
            body = connection.execute(select(_files.c.body).where(*self._matches(file_id))).scalar()
        return json.loads(body) if body else None

    def read(self, file_id: str, target: Path) -> bool:
        """Write the content of a file to `target`; return whether the file exists."""
        with self._database.long_transaction() as connection:
            # One snapshot for all parts, even if the file is deleted while it is read.
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            row = connection.execute(select(_files.c.bytes, _files.c.sha256).where(*self._matches(file_id))).first()
            if row is None:
                return False
            if self._write(connection, file_id, row.bytes, target) != row.sha256:
                raise Unavailable(
                    "threads_unavailable", url=self._database.name, reason=Message("file_damaged", file=file_id)
                )
        return True

    def delete(self, file_id: str) -> bool:
        """Delete a file; return whether it existed."""
        with self._database.transaction() as connection:
            return connection.execute(delete(_files).where(*self._matches(file_id))).rowcount > 0

    def _matches(self, file_id: str) -> tuple[Any, Any]:
        return _files.c.owner == self._owner, _files.c.id == file_id

    def _write(self, connection: Connection, file_id: str, size: int, target: Path) -> str:
        digest = hashlib.sha256()
        with target.open("wb") as file:
            for number in range(-(-size // _PART_BYTES)):
                part = {"owner_is": self._owner, "id_is": file_id, "number_is": number}
                content: bytes = connection.execute(_CONTENT, part).scalar_one()
                digest.update(content)
                file.write(content)
        return digest.hexdigest()
