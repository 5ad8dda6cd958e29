"""Commands and options that no longer exist: they name their replacement when they are used."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

_EXPERIMENTS = "use `python -m benchmarks.experiments` in a checkout"
REMOVED = {
    "examples": "write verified queries into the knowledge folder; they are the few-shot examples",
    "source test": "use `datasphinx source check`, or `datasphinx doctor` for all sources",
    "model use": "set DATASPHINX_EMBEDDED_MODEL",
    "knowledge draft": "prompts have comments, codes of small tables and likely joins without an entry",
    "knowledge export": "the YAML files of the knowledge folder are the portable form",
    "eval compare": _EXPERIMENTS,
    "eval clarification": "use `python -m benchmarks.clarification` in a checkout",
    "eval run --without": "use --candidates 1, or `python -m benchmarks.embedded --without training` in a checkout",
    **dict.fromkeys((f"eval run --{name}" for name in ("dataset", "data", "match", "method", "shots")), _EXPERIMENTS),
    "eval run --out": "the report on standard output has the wrong answers",
    "eval replay --out": "the report on standard output has the wrong answers",
    "ask --sheet": "use --load sheet=NAME",
    "ask --header-row": "use --load header_row=NUMBER",
    "ask --type": "use --load types=VALUE",
}
"""Their replacement, by the words of the command and the option."""


class NamingReplacements(TyperGroup):
    """The group of all commands."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an option in `REMOVED` is a usage error with the replacement."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            option, of = getattr(error, "option_name", None), getattr(error, "ctx", None)
            if not (option and of):
                raise
            words, above = [option], of
            while above.parent:
                words, above = [above.info_name, *words], above.parent
            if replacement := REMOVED.get(" ".join(words).removeprefix("admin ")):
                of.fail(f"{option} is no longer an option: {replacement}.")
            raise


def add_removed(groups: dict[str, typer.Typer]) -> None:
    """Add the commands of `REMOVED` to the groups of their name, hidden; "" is the name of the group of all."""
    for words, replacement in REMOVED.items():
        group, _, name = words.rpartition(" ")
        if not name.startswith("--"):
            settings = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
            groups[group].command(name, hidden=True, context_settings=settings)(_refusing(words, replacement))


def _refusing(words: str, replacement: str) -> Callable[[typer.Context], None]:
    def refuse(context: typer.Context) -> None:
        context.fail(f"`datasphinx {words}` is no longer a command: {replacement}.")

    return refuse
