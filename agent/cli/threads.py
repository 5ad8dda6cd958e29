"""`datasphinx threads`: delete old conversations."""

import time
from typing import Annotated

import typer

from datasphinx.agent.cli.options import AsJson, settings_of
from datasphinx.agent.cli.text import echo, json_text

threads_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Delete old conversations.")


@threads_app.callback()
def _threads() -> None:
    """Delete old conversations."""


@threads_app.command()
def prune(
    days: Annotated[
        int | None, typer.Option(min=1, max=36_500, help="Days after the last run; default: DATASPHINX_THREAD_DAYS.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Delete the conversations of all tenants that have not been used for a number of days; print how many.

    Exit codes: 0 deleted, 2 the days are neither an option nor a setting, 5 the store cannot be used.
    """
    from datasphinx.agent.conversation.retention import DAY_S, prune_threads

    settings = settings_of()
    days = days or settings.thread_days
    if days is None:
        raise typer.BadParameter("pass --days, or set DATASPHINX_THREAD_DAYS.")
    count = prune_threads(settings, time.time() - days * DAY_S)
    echo(json_text({"deleted": count}) if as_json else f"conversations deleted: {count}")
