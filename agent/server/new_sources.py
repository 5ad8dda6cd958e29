"""Sources that an operator adds over HTTP: their fields, and the URLs that are accepted.

An operator is trusted with the databases that the server reaches, but not with the server itself: options of drivers
that read or execute files, connections without a host, and files outside of the allowed folders are refused.
"""

import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, WithJsonSchema, model_validator
from sqlalchemy import URL

from datasphinx.agent.core.canonical import plain
from datasphinx.agent.core.failure import error_of, failure_of
from datasphinx.agent.core.redact import without_secrets
from datasphinx.agent.engines import engines
from datasphinx.agent.errors import ConfigurationError, DatasphinxError, InputInvalid, SourceNotFound
from datasphinx.agent.messages import Message
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.settings import Settings, SourceSettings
from datasphinx.agent.sql.database import parse_url

_HOST = r"^([A-Za-z0-9][A-Za-z0-9._-]*|[0-9A-Fa-f:.]+)\Z"
"""A name or an address; no folder of a Unix socket."""

_FORMS = tuple(name for name, engine in engines().items() if engine.has_form)


def _with_form(name: str) -> str:
    if name not in _FORMS:
        raise ValueError(Message("engine_not_editable", choices=", ".join(_FORMS)))
    return name


EngineName = Annotated[str, AfterValidator(_with_form), WithJsonSchema({"enum": [*_FORMS], "type": "string"})]
"""An engine whose URL can be built from fields."""


class NewSource(BaseModel):
    """A source to test or to add: its URL, or an engine with its fields."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    name: str = Field(pattern=r"^\w[\w .-]{0,62}$", description="Letters, digits, spaces, `_`, `.` and `-`.")
    description: str = Field("", max_length=500, description="What the data is about.")
    allow_writable_account: bool = Field(False, description="Accept an account that has more than read access.")
    url: SecretStr | None = Field(None, min_length=1, max_length=2000, description="SQLAlchemy URL.")
    engine: EngineName | None = Field(None, description="Instead of a URL, an engine with the other fields.")
    file: str | None = Field(None, min_length=1, max_length=1000, description="Path of a SQLite or DuckDB file.")
    host: str | None = Field(None, max_length=255, description="Name or address of the server.")
    port: int | None = Field(None, ge=1, le=65_535)
    database: str | None = Field(None, min_length=1, max_length=200)
    user: str | None = Field(None, min_length=1, max_length=200)
    password: SecretStr | None = Field(None, max_length=1000)

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        server = (self.host, self.port, self.database, self.user, self.password)
        unused = server if self._is_file else (self.file,)
        if (self.url is None) == (self.engine is None) or any(each is not None for each in unused):
            raise ValueError(Message("url_or_engine"))
        if self.url is not None and any(each is not None for each in server):
            raise ValueError(Message("url_or_engine"))
        if self.host is not None and not re.match(_HOST, self.host):
            # As part of a URL it could contain other parts.
            raise ValueError(Message("host_invalid"))
        return self

    def source(self, settings: Settings) -> SourceSettings:
        """Return the settings of the source. Raise InputInvalid if the URL or a field of it is not accepted here."""
        url = _accepted_url(self._url(), settings)
        return SourceSettings(
            url=SecretStr(url), description=self.description, allow_writable_account=self.allow_writable_account
        )

    def without_password(self, error: DatasphinxError) -> DatasphinxError:
        """Return `error` without the password of the source."""
        source = SourceSettings(url=SecretStr(self._url()))
        secrets = secrets_of(Settings.model_construct(sources={self.name: source}))
        return error_of(plain(failure_of(error), lambda text: without_secrets(text, secrets)))

    @property
    def _is_file(self) -> bool:
        return self.engine is not None and engines()[self.engine].in_worker

    def _url(self) -> str:
        if self.url is not None:
            return self.url.get_secret_value()
        password = self.password.get_secret_value() if self.password else None
        database = self.file if self._is_file else self.database
        url = URL.create(self.engine or "", self.user, password, self.host, self.port, database)
        return url.render_as_string(hide_password=False)


def _accepted_url(text: str, settings: Settings) -> str:
    """Return `text` if an operator may add this URL; the path of a file becomes absolute.

    Raises:
        InputInvalid: it is not a URL, or it is not accepted.
    """
    try:
        url, kind = parse_url(text)
    except SourceNotFound as error:
        # Its text quotes the URL, in which the password cannot be found.
        raise InputInvalid("url", error.reason) from None
    except ConfigurationError as error:
        raise InputInvalid("url", error.reason) from None
    if kind.url_options is None:
        choices = ", ".join(name for name, each in engines().items() if each.url_options is not None)
        raise InputInvalid("url", Message("engine_not_editable", choices=choices))
    if refused := sorted(set(url.query) - kind.url_options):
        raise InputInvalid("url", Message("url_options_refused", options=", ".join(refused)[:200]))
    if kind.in_worker:
        return _accepted_file(url, settings).set(drivername=kind.name).render_as_string(hide_password=False)
    if not re.match(_HOST, url.host or ""):
        raise InputInvalid("host", Message("host_invalid"))
    return url.set(drivername=kind.name).render_as_string(hide_password=False)


def _accepted_file(url: URL, settings: Settings) -> URL:
    """Return the URL with the absolute path of its file, without symbolic links.

    Raises:
        InputInvalid: the file is not below the working directory, or is one of the server's own.
    """
    try:
        path = Path(url.database or "").resolve()
        own = [settings.data_dir.resolve(), settings.cache_dir.resolve()]
    except (OSError, ValueError, RuntimeError):
        raise InputInvalid("file", Message("file_not_allowed")) from None
    if url.host or not path.is_relative_to(Path.cwd()) or any(path.is_relative_to(folder) for folder in own):
        raise InputInvalid("file", Message("file_not_allowed"))
    return URL.create(url.drivername, database=str(path))
