"""The class of an engine: its differences from others are attributes and methods, each with a default."""

from typing import ClassVar, Literal

EngineStatus = Literal["tested", "emulated", "untested"]
"""How an engine is tested: with the engine itself, with a compatible one, or not at all beyond the guard."""


class Engine:
    """A database engine. A default says what most engines do, or is the cautious choice."""

    name: ClassVar[str] = ""
    """Name of the engine, with which its URLs begin."""
    other_schemes: ClassVar[tuple[str, ...]] = ()
    """Other beginnings of its URLs."""
    dialect: ClassVar[str] = ""
    """The name of its dialect in sqlglot."""
    driver: ClassVar[str] = ""
    """The dialect and driver of SQLAlchemy, as in a URL."""
    sqlalchemy_dialect: ClassVar[tuple[str, str] | None] = None
    """Module and class of a dialect of SQLAlchemy that is part of this project."""
    packages: ClassVar[tuple[str, ...]] = ()
    """The packages of the driver and of the dialect of SQLAlchemy."""
    extra: ClassVar[str] = ""
    """The extra that installs these packages."""
    status: ClassVar[EngineStatus] = "untested"
    in_worker: ClassVar[bool] = False
    """Whether statements run in a worker process; True for embedded engines, which run in the calling process."""
