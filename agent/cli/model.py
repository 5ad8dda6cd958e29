"""`datasphinx model`: list and download the sizes of the embedded model, and check the configured models."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from datasphinx.agent.cli.options import AsJson, BaseUrl, ModelName, settings_of
from datasphinx.agent.cli.text import echo, json_text
from datasphinx.agent.types import EmbeddedModel

if TYPE_CHECKING:
    from datasphinx.agent.llm.ability import Ability
    from datasphinx.agent.settings import ModelPrice, Settings

_HELP = "List and download the sizes of the embedded model, and check the configured models."

model_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=_HELP)

_Name = Annotated[EmbeddedModel, typer.Argument(metavar="NAME", help="base or large.")]

_ROWS = {
    "handles_json": "answers in JSON correctly",
    "words_answers": "words answers with its statements",
    "validates": "judges statements correctly",
}
"""Titles of the values that are yes, no or unknown."""
_WORDS = {True: "yes", False: "no", None: "unknown"}


@dataclass(frozen=True)
class ModelCheck:
    """What one configured model can do."""

    endpoint: str
    model: str
    roles: tuple[str, ...]
    """The roles of `llm_models` that use it, and "default" for all others."""
    price: "ModelPrice | None"
    """The prices per million tokens; None if unknown."""
    ability: "Ability"

    def as_json(self) -> dict[str, object]:
        """Return the check as a JSON object."""
        return {
            "endpoint": self.endpoint,
            "model": self.model,
            "roles": list(self.roles),
            "price": self.price.model_dump() if self.price else None,
            **asdict(self.ability),
        }


def check_models(settings: "Settings", *, fresh: bool) -> "Iterator[ModelCheck]":
    """Yield the checks of all configured models, each requested at least once; with `fresh`, all are measured again.

    Raises:
        ConfigurationError: no endpoint is configured, or a setting is wrong.
    """
    from datasphinx.agent.errors import ConfigurationError

    models: dict[tuple[str | None, str | None], list[str]] = {}
    of_role: dict[str, Settings] = {"default": settings}
    of_role |= {role: settings.for_role(role) for role in settings.llm_models}
    for role, own in of_role.items():
        if not own.uses_embedded_model:
            models.setdefault((own.llm_base_url, own.llm_model), []).append(role)
    if not models:
        raise ConfigurationError("DATASPHINX_LLM_BASE_URL", "it is not set")
    for roles in models.values():
        yield _check(of_role[roles[0]], tuple(roles), fresh=fresh)


def _check(settings: "Settings", roles: tuple[str, ...], *, fresh: bool) -> ModelCheck:
    from datasphinx.agent.connect import connect_model
    from datasphinx.agent.errors import ModelRejected, ModelUnreachable
    from datasphinx.agent.generation.ability import measured
    from datasphinx.agent.llm.ability import Ability, load_ability
    from datasphinx.agent.llm.prices import price_of

    client = connect_model(settings.model_copy(update={"llm_profile": "standard"}))
    known = None if fresh else load_ability(settings.cache_dir, client.failures.url, client.name)
    try:
        client.check()
        ability = known or measured(client, Ability(), settings)
    except (ModelUnreachable, ModelRejected):
        raise
    except Exception as error:
        raise client.failures.of(error) from error
    price = price_of(client.name, settings.llm_base_url, settings.prices)
    return ModelCheck(client.failures.url, client.name, roles, price, ability)


@model_app.command("list")
def list_tiers(as_json: AsJson = False) -> None:
    """List the sizes of the embedded model, marking the one in use, and whether each is downloaded.

    Exit codes: 0 the list is printed, 2 a setting is wrong.
    """
    from datasphinx.agent.embedded.tiers import TIERS
    from datasphinx.agent.embedded.weights import weights_path

    settings = settings_of()
    used = settings.embedded_model if settings.uses_embedded_model else None
    downloaded = {name: weights_path(settings.cache_dir, tier.weights).is_file() for name, tier in TIERS.items()}
    if as_json:
        models = [
            {
                "name": name,
                "model": tier.title,
                "bytes": tier.weights.size,
                "memory_mb": tier.memory_mb,
                "shop_right": tier.shop_right,
                "downloaded": downloaded[name],
                "in_use": name == used,
            }
            for name, tier in TIERS.items()
        ]
        echo(json_text({"models": models}))
        return
    rows = [("", "NAME", "MODEL", "DOWNLOAD", "MEMORY", "RIGHT", "DOWNLOADED")]
    for name, tier in TIERS.items():
        size, memory = f"{tier.weights.size / 1e6:.0f} MB", f"{tier.memory_mb} MB"
        words = f"{tier.shop_right} of 60", _WORDS[downloaded[name]]
        rows.append(("*" if name == used else "", name, tier.title, size, memory, *words))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    echo("\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows))
    echo("RIGHT: questions on the sample shop that are answered correctly with three candidates.")
    if not settings.uses_embedded_model:
        echo("An endpoint is configured, so none of them is used.")


@model_app.command()
def pull(name: _Name) -> None:
    """Download the weights of a size of the embedded model; an interrupted download is resumed.

    Exit codes: 0 the weights are in the cache folder, 2 a setting is wrong, 5 they cannot be downloaded.
    """
    from datasphinx.agent.embedded.tiers import TIERS
    from datasphinx.agent.embedded.weights import embedded_weights

    echo(str(embedded_weights(settings_of().cache_dir, TIERS[name].weights)))


@model_app.command()
def check(
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure again instead of using cached results.")] = False,
    as_json: AsJson = False,
    model: ModelName = None,
    base_url: BaseUrl = None,
) -> None:
    """Check that the configured models answer, and print what each of them can do.

    Results are measured once for each endpoint and model, and cached. Without an endpoint, the embedded model is used,
    which needs no check.

    Exit codes: 0 all models answer, 2 a setting is wrong or no endpoint is configured, 3 an endpoint rejects requests,
    5 an endpoint is unreachable or sends no chat completion.
    """
    checks = list(check_models(settings_of(llm_model=model, llm_base_url=base_url), fresh=fresh))
    if as_json:
        echo(json_text({"models": [check.as_json() for check in checks]}))
        return
    echo("\n\n".join(_table(check) for check in checks))


def _table(check: ModelCheck) -> str:
    """Return what one model can do as text for a terminal."""
    rows = [(title, _WORDS[getattr(check.ability, name)], "") for name, title in _ROWS.items()]
    rows.append(("price", *_price(check)))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{title:<{widths[0]}}  {value:<{widths[1]}}  {text}".rstrip() for title, value, text in rows]
    head = f"{check.model} at {check.endpoint} ({', '.join(check.roles)}), measured {check.ability.measured_at}"
    return "\n".join([head, *lines])


def _price(check: ModelCheck) -> tuple[str, str]:
    price = check.price
    if price is None:
        return "unknown", "cost limits have no effect; set DATASPHINX_PRICES"
    cached = "" if price.cached_input is None else f", {price.cached_input:g} cached input"
    return "known", f"{price.input:g} input, {price.output:g} output{cached}, in US dollars per million tokens"
