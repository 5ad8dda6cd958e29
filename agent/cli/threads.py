"""`datasphinx threads`: delete old conversations."""

from typing import Annotated

import typer

from datasphinx.agent.cli.options import AsJson, delete_old

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
    from datasphinx.agent.conversation.retention import prune_threads

    delete_old(prune_threads, "conversations", "thread_days", days, as_json)
