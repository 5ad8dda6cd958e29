"""An example of a package that adds a database engine, a file reader and an importer of knowledge to datasphinx."""

from collections.abc import Iterator, Sequence
from configparser import ConfigParser, Error
from pathlib import Path
from typing import Any, ClassVar

from sqlalchemy import URL

from datasphinx.agent.engines.sqlite import SQLite
from datasphinx.agent.knowledge.imports import Imported
from datasphinx.agent.schema.catalog import Catalog


class LittleSQL(SQLite):
    """SQLite under another name: `littlesql:///path/to/file.db`."""

    name: ClassVar[str] = "littlesql"

    def connection_url(self, url: URL) -> URL:
        """Return the URL for the driver of SQLite."""
        return url.set(drivername="sqlite")


def read_ini(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each section of an INI file, with its name and its options."""
    parser = ConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (Error, UnicodeError) as error:
        raise ValueError(f"it is not an INI file: {error}") from error
    for name in parser.sections():
        yield {"section": name, **parser[name]}


def import_words(files: Sequence[Path], catalog: Catalog) -> Imported:
    """Return a term for each line `word; definition; SQL condition` of the files."""
    imported = Imported("words", files[0].stem)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            word, definition, condition = map(str.strip, line.split(";"))
            body = {"definition": definition, "condition": condition}
            imported.add("term", word, body, subject=word)
    return imported
