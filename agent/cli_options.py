"""Options that several commands share."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on standard output.")]
ModelName = Annotated[str | None, typer.Option(help="Model name at the endpoint.")]
LogJson = Annotated[
    bool | None, typer.Option("--log-json", help="Write the log to standard error as JSON lines with the trace id.")
]
BaseUrl = Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible endpoint.")]
