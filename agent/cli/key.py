"""`datasphinx key`: create API keys."""

import json
import re
from typing import Annotated

import typer

from datasphinx.agent.cli.options import AsJson

key_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Create API keys for the server.")


def _tenant(name: str) -> str:
    from datasphinx.agent.settings import TENANT

    if not re.fullmatch(TENANT, name):
        raise typer.BadParameter("a name has up to 63 characters: lower-case ASCII letters, digits, - and _.")
    return name


@key_app.callback()
def _keys() -> None:
    """Create API keys for the server."""


@key_app.command()
def new(
    tenant: Annotated[str, typer.Argument(callback=_tenant, help="Tenant of the key.")],
    as_json: AsJson = False,
) -> None:
    """Print a new key, and its hash for the settings. The key is not stored.

    Exit code 0.
    """
    from datasphinx.agent.server.keys import hash_of, new_key

    key = new_key()
    if as_json:
        typer.echo(json.dumps({"tenant": tenant, "key": key, "hash": hash_of(key)}))
        return
    typer.echo(f"key, for the tenant alone: {key}")
    typer.echo(f"DATASPHINX_API_KEYS='{json.dumps({tenant: [hash_of(key)]})}'")
