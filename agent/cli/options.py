"""Options that several commands share, and settings with such options applied."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agent.settings import Settings

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
ModelName = Annotated[str | None, typer.Option(help="Model name at the endpoint.")]
LogJson = Annotated[
    bool | None, typer.Option("--log-json", help="Write the log to standard error as JSON lines with the trace id.")
]
OfSource = Annotated[
    str | None, typer.Option("--source", help="Name of the source; default: the first configured one, or the sample.")
]
BaseUrl = Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible endpoint.")]


def settings_of(**options: object) -> "Settings":
    """Return the settings, overridden by the `options` that are not None; configures the JSON log if it is enabled.

    Raises:
        ConfigurationError: a setting is wrong.
    """
    from agent.settings import load_settings

    settings = load_settings(**options)
    if settings.log_json:
        from agent.record.logs import configure_logs

        configure_logs(settings)
    return settings
