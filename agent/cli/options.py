"""Options that several commands share, and settings with such options applied."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from datasphinx.agent.cli.text import echo, json_text
from datasphinx.agent.messages import language_of, render

if TYPE_CHECKING:
    from datasphinx.agent.services import Services
    from datasphinx.agent.settings import Settings, SourceSettings
    from datasphinx.agent.sources.reflect import Progress

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
    """Return the settings, overridden by the `options` that are not None; configures the JSON log if it is enabled."""
    from datasphinx.agent.settings import load_settings

    settings = load_settings(**options)
    if settings.log_json:
        from datasphinx.agent.record.logs import configure_logs

        configure_logs(settings)
    return settings


def services_of(
    settings: "Settings | None" = None, *, question: str = "", progress: "Progress | None" = None
) -> "Services":
    """Return services for `settings`, by default those of the environment.

    When a source with an untested engine is opened, they print a line on standard error, in the language of `question`.
    """
    from datasphinx.agent.services import Services

    return Services(
        settings or settings_of(),
        progress=progress,
        opening=lambda name, source: note_untested(name, source, question),
    )


def require_one_kind(source: str | None, files: Sequence[Path] | None) -> None:
    """Raise Refused if both a source and files are given."""
    if source and files:
        from datasphinx.agent.core.redact import without_password
        from datasphinx.agent.errors import Refused

        raise Refused("sources_not_together", first=without_password(source), second=str(files[0]))


def knowledge_folder_of(services: "Services", name: str) -> Path:
    """Return the folder into which business knowledge about the configured source `name` is written.

    Raises:
        ConfigurationError: the source has no setting `knowledge`, or is not configured.
    """
    from datasphinx.agent.errors import ConfigurationError

    source = services.settings.sources.get(name)
    if source is None or source.knowledge is None:
        raise ConfigurationError(f"DATASPHINX_SOURCES: {name}.knowledge", "it is not set")
    return source.knowledge


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """Make an error of writing `path`, the value of `option`, one of usage."""
    try:
        yield
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be written: {error.strerror}.", param_hint=option) from error


def delete_old(
    prune: "Callable[[Settings, float], int]", name: str, setting: str, days: int | None, as_json: bool
) -> None:
    """Call `prune` with the time `days` ago, by default those of `setting`, and print how many `name` it deleted.

    Raises:
        BadParameter: the days are neither given nor a setting.
    """
    from datasphinx.agent.conversation.retention import DAY_S

    settings = settings_of()
    days = days or getattr(settings, setting)
    if days is None:
        raise typer.BadParameter(f"pass --days, or set DATASPHINX_{setting.upper()}.")
    count = prune(settings, time.time() - days * DAY_S)
    echo(json_text({"deleted": count}) if as_json else f"{name} deleted: {count}")


def note_untested(name: str, settings: "SourceSettings", question: str = "") -> None:
    """Print a line on standard error, in the language of `question`, if the engine of the source is untested."""
    from datasphinx.agent.engines import engine_called

    scheme = settings.url.get_secret_value().partition("://")[0]
    engine = engine_called(scheme)
    if engine and engine.status == "untested":
        echo(render("engine_untested", language_of(question), source=name, engine=scheme), error=True, color="yellow")
