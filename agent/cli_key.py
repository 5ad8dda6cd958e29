"""`datasphinx key`: parsing and printing only."""

import json
import re
from typing import Annotated

import typer

from agent.cli_options import AsJson
from agent.service_settings import TENANT

key_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make keys for the server.")


def _tenant(name: str) -> str:
    if not re.fullmatch(TENANT, name):
        raise typer.BadParameter("a name has small letters of English, digits, - and _, 63 at most.")
    return name


@key_app.callback()
def _keys() -> None:
    """Make keys for the server."""


@key_app.command()
def new(
    tenant: Annotated[str, typer.Argument(callback=_tenant, help="The tenant that the key belongs to.")],
    as_json: AsJson = False,
) -> None:
    """Print a new key, once, and its hash to put into the settings; nothing is kept.

    Exit code 0.
    """
    from agent.service.keys import hash_of, new_key

    key = new_key()
    if as_json:
        typer.echo(json.dumps({"tenant": tenant, "key": key, "hash": hash_of(key)}))
        return
    typer.echo(f"key, for the tenant alone: {key}")
    typer.echo(f"DATASPHINX_API_KEYS='{json.dumps({tenant: [hash_of(key)]})}'")
