"""`datasphinx source` and `datasphinx init`: the databases in `datasphinx.toml` of the working directory."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasphinx.agent.cli.options import AsJson, note_untested, services_of, settings_of
from datasphinx.agent.cli.text import echo, json_text
from datasphinx.agent.errors import ANSWERED, DOMAIN, USAGE

if TYPE_CHECKING:
    from datasphinx.agent.settings import SourceSettings
    from datasphinx.agent.sources.account_check import SourceCheck
    from datasphinx.agent.sources.config_file import ConfigFile

source_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, add, check and remove databases.")

SourceName = Annotated[str, typer.Argument(help="Name of a source, or a SQLAlchemy URL.")]
NewName = Annotated[str | None, typer.Argument(help="Name of the new source; asked for on a terminal.")]
NewUrl = Annotated[str | None, typer.Argument(help="Its SQLAlchemy URL; asked for on a terminal.")]
Description = Annotated[str, typer.Option("--description", help="What the data is about, for the list of sources.")]
AllowWritable = Annotated[
    bool, typer.Option("--allow-writable-account", help="Accept an account that has more than read access.")
]
_HEAD = """\
# Settings of datasphinx; all of them are listed in docs/settings.md.
# Secrets belong in the environment or in the file .env: DATASPHINX_LLM_API_KEY=...
"""


@source_app.command("list")
def list_sources(as_json: AsJson = False) -> None:
    """List the configured databases, without connecting to them.

    Exit codes: 0 the list is printed, 2 a setting is wrong.
    """
    from datasphinx.agent.core.redact import without_password, without_secrets
    from datasphinx.agent.sources.config_file import ConfigFile

    settings = settings_of()
    file = ConfigFile()
    in_file = file.names()
    sources = []
    for name, own in settings.sources.items():
        place = str(file.path) if name in in_file else "environment"
        url = ", ".join(each.path for each in own.files.values()) or own.url.get_secret_value()
        sources.append({"name": name, "url": without_secrets(without_password(url)), "place": place})
    if as_json:
        echo(json_text({"sources": sources}))
        return
    for source in sources:
        echo(f"{source['name']}: {source['url']} ({source['place']})")
    if not sources:
        echo("No source is configured, so questions are about the sample shop. Add one: datasphinx source add")


@source_app.command()
def add(
    name: NewName = None,
    url: NewUrl = None,
    allow_writable_account: AllowWritable = False,
    description: Description = "",
) -> None:
    """Test a database and add it to `datasphinx.toml`; the rest of the file is kept.

    Exit codes: 0 added, 2 the name is in use or the URL is wrong, 3 the account has more than read access, 5 the
    database is unreachable. Only exit code 0 changes the file.
    """
    from datasphinx.agent.errors import Conflict
    from datasphinx.agent.sources.config_file import ConfigFile

    settings_of()
    name = _given(name, "Name of the source", "NAME")
    file = ConfigFile()
    if name in file.names():
        raise Conflict("source_name_taken", source=name)
    source = _tested(name, url, allow_writable_account).model_copy(update={"description": description})
    _add(file, name, source)
    echo(f"{name} is in {file.path}. Ask: datasphinx ask QUESTION --source {name}")


@source_app.command()
def remove(name: Annotated[str, typer.Argument(help="Name of a source.")]) -> None:
    """Remove a database from `datasphinx.toml`; the database itself and its knowledge folder are not changed.

    Exit codes: 0 removed, 2 the file has no such source.
    """
    from datasphinx.agent.sources.config_file import ConfigFile

    file = ConfigFile()
    file.remove(name)
    echo(f"{name} is removed from {file.path}.")


@source_app.command()
def check(name: SourceName, as_json: AsJson = False) -> None:
    """List the write privileges of a source's account, and check the settings of the source against its tables.

    Exit codes: 0 the account can only read, 2 a setting is wrong or there is no such source, 3 the account can do more,
    5 the source is unreachable.
    """
    from datasphinx.agent.sources.account_check import check_source, format_report

    services = services_of()
    settings = services.settings_of(name)
    note_untested(name, settings)
    result = check_source(name, settings, services.settings.statement_limits)
    echo(json_text(result.as_json()) if as_json else format_report(result))
    raise typer.Exit(DOMAIN if result.can_write else ANSWERED)


def init(name: NewName = None, url: NewUrl = None, allow_writable_account: AllowWritable = False) -> None:
    """Write a first `datasphinx.toml` with one database, and create the folder for business knowledge about it.

    Exit codes: 0 written, 2 the file exists or the URL is wrong, 3 the account has more than read access, 5 the
    database is unreachable. Only exit code 0 writes files.
    """
    from datasphinx.agent.sources.config_file import ConfigFile

    file = ConfigFile()
    if file.path.exists():
        echo(f"{file.path} exists. Add a database to it: datasphinx source add", error=True, color="red")
        raise typer.Exit(USAGE)
    name = _given(name, "Name of the database", "NAME")
    source = _tested(name, url, allow_writable_account)
    folder = Path("knowledge", name)
    file.path.write_text(_HEAD, encoding="utf-8")
    _add(file, name, source.model_copy(update={"knowledge": folder}))
    echo(f"written: {file.path.name}")
    folder.mkdir(parents=True, exist_ok=True)
    echo(f"Definitions of metrics and terms belong in {folder}; docs/knowledge.md shows some.")
    echo("Ask: datasphinx ask QUESTION, or start a conversation: datasphinx")


def _given(value: str | None, title: str, argument: str) -> str:
    """Return `value`, or on a terminal the text that the user enters."""
    if value is None and sys.stdin.isatty():
        value = typer.prompt(title)
    if not value:
        raise typer.BadParameter(f"{title} is missing.", param_hint=argument)
    return value


def _tested(name: str, url: str | None, allow_writable_account: bool) -> "SourceSettings":
    """Return the settings of a source that can be queried; without `url`, it is asked for on a terminal.

    The report of its check is printed.
    """
    from pydantic import SecretStr

    from datasphinx.agent.settings import SourceSettings
    from datasphinx.agent.sources.account_check import check_source, format_report

    url = _given(url, "SQLAlchemy URL, such as postgresql://user:password@host/database", "URL")
    source = SourceSettings(url=SecretStr(url), allow_writable_account=allow_writable_account)
    note_untested(name, source)
    result: SourceCheck = check_source(name, source, services_of().settings.statement_limits)
    echo(format_report(result))
    if result.can_write and not allow_writable_account:
        echo("Not added. Use such an account, or accept this one with --allow-writable-account.", error=True)
        raise typer.Exit(DOMAIN)
    return source


def _add(file: "ConfigFile", name: str, source: "SourceSettings") -> None:
    if file.add(name, source):
        echo(f"{file.path.name} contains the password, so only you may read it. Do not commit it.", error=True)
