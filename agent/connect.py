"""Connections to the configured model, and the selection of the model-specific implementations."""

import ssl
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models.chat_models import BaseChatModel

from datasphinx.agent.clarify.review import AmbiguityReviewer, review_ambiguity
from datasphinx.agent.errors import ConfigurationError, InputInvalid, ModelRejected, ModelUnreachable
from datasphinx.agent.generation.ability import adapt
from datasphinx.agent.generation.estimator import AgreementConfidence, ConfidenceEstimator
from datasphinx.agent.generation.follow_ups import FollowUps
from datasphinx.agent.generation.writing import SqlWriter
from datasphinx.agent.linking import IndexLinker, Linker, StandardLinker
from datasphinx.agent.llm.ability import Ability, load_ability
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.llm.schemas import AmbiguityReview, NarratedAnswer, SQLValidation
from datasphinx.agent.messages import Message
from datasphinx.agent.settings import ModelRole, Settings
from datasphinx.agent.types import EmbeddedOptions

_PLACEHOLDER_KEY = "not-needed"
"""The client requires a key, which most local servers ignore."""

_MAX_STATEMENT_TOKENS = 192
"""Token limit for answers of the embedded model; the longest statements of its training set are shorter."""

_MAX_RETRIES = 1
"""Repetitions of a request after a timeout or while the endpoint is overloaded."""

OPENAI_URL = "https://api.openai.com/v1"
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class ModelRoles:
    """The implementations of the model's tasks, and the tasks that the model cannot do."""

    linker: Linker
    sql_writer: SqlWriter
    ambiguity_reviewer: AmbiguityReviewer | None
    """Finds the readings of a question; None for a model that cannot list them, whose first reading applies."""
    planner: ModelClient
    """The model that chooses the steps of an analysis."""
    validator: ModelClient
    """The model that checks statements, if `checks_sql`."""
    text_writer: ModelClient | None
    """The model that writes texts about rows, if there is one that can."""
    follow_ups: FollowUps = FollowUps()
    """Reads questions of a conversation before the statement is written."""
    checks_sql: bool = True
    """Whether the validator can check a statement against the question."""
    confidence: ConfidenceEstimator = AgreementConfidence()
    """Estimates the confidence in a statement."""
    spec_confidence: ConfidenceEstimator = AgreementConfidence()
    """Estimates the confidence in a query of the analyst."""
    calls_tools: bool = True
    """Whether the planner can choose the tools of an analysis; otherwise it only writes query specs."""


def roles_of(model_of: Callable[[ModelRole], ModelClient], settings: Settings) -> ModelRoles:
    """Return the implementations for the models of the roles, which are measured once if unknown."""
    generator, validator = model_of("generate"), model_of("validate")
    narrator, reviewer = model_of("narrate"), model_of("review")
    for model in (generator, validator, narrator, reviewer):
        try:
            if model.ability:
                adapt(model, model.ability, settings)
        except (ModelUnreachable, ModelRejected):
            if model is generator:
                raise
            # Without this role, a question can still be answered: only its calls fail.
    standard = ModelRoles(
        StandardLinker(generator, settings.schema_token_budget),
        SqlWriter(generator),
        partial(review_ambiguity, reviewer) if reviewer.can_answer(AmbiguityReview) else None,
        planner=generator,
        validator=validator,
        text_writer=narrator if narrator.can_answer(NarratedAnswer) else None,
        checks_sql=validator.can_answer(SQLValidation),
    )
    if generator.profile == "standard":
        return standard
    from datasphinx.agent.embedded.ambiguity_reviewer import EmbeddedAmbiguityReviewer
    from datasphinx.agent.embedded.calibration import shipped_calibration
    from datasphinx.agent.embedded.follow_ups import FollowUpsByWords
    from datasphinx.agent.embedded.sql_writer import EmbeddedSqlWriter
    from datasphinx.agent.embedded.tiers import TIERS

    options, tier = generator.embedded or EmbeddedOptions(), TIERS[settings.embedded_model]
    roles = replace(
        standard,
        linker=IndexLinker(),
        sql_writer=EmbeddedSqlWriter(generator, options),
        ambiguity_reviewer=EmbeddedAmbiguityReviewer(generator, options).review,
        follow_ups=FollowUpsByWords(),
        calls_tools=False,
    )
    if not options.adapter:
        # The calibrations are those of the model with its adapter.
        return roles
    statement, spec = (shipped_calibration(tier.name, task) for task in ("statement", "query_spec"))
    return replace(roles, confidence=statement or roles.confidence, spec_confidence=spec or roles.spec_confidence)


def connect_model(settings: Settings, embedded: EmbeddedOptions | None = None) -> ModelClient:
    """Return a client for the configured endpoint, or for the embedded model if no endpoint is configured.

    `embedded` configures the decoding of the embedded model; by default, all its parts are enabled, with as many
    candidates as the settings say.

    Raises:
        ConfigurationError: an endpoint is configured without the name of a model.
        DriverMissing: the package for the embedded model is not installed.
        Unavailable: no endpoint is configured and the embedded model cannot be loaded.
    """
    if settings.uses_embedded_model:
        from datasphinx.agent.embedded.chat import EmbeddedChat
        from datasphinx.agent.embedded.server import embedded_endpoint
        from datasphinx.agent.embedded.tiers import TIERS

        options = embedded or EmbeddedOptions()
        tier, name = settings.embedded_model, TIERS[settings.embedded_model].model
        embedded_endpoint(settings.cache_dir, tier, adapter=options.adapter)
        embedded_chat = EmbeddedChat(
            model=name,
            cache_dir=settings.cache_dir,
            tier=tier,
            adapter=options.adapter,
            max_tokens=_MAX_STATEMENT_TOKENS,
            timeout=settings.max_question_s,
        )
        return ModelClient(embedded_chat, settings, name=name, embedded=options)
    if not settings.llm_model:
        raise ConfigurationError("DATASPHINX_LLM_MODEL", "an endpoint is configured, but none of its models")
    url = settings.llm_base_url or OPENAI_URL
    chat = _chat(settings, settings.llm_model, url)
    client = ModelClient(chat, settings, name=settings.llm_model, endpoint=url)
    if settings.llm_profile == "auto":
        client.ability = load_ability(settings.cache_dir, url, client.name) or Ability()
    return client


class Models:
    """The clients of the models of all roles, connected at first use, and the implementations of their tasks.

    Thread-safe.
    """

    def __init__(
        self,
        settings: Settings,
        model: BaseChatModel | ModelClient | None = None,
        embedded: EmbeddedOptions | None = None,
    ) -> None:
        """Create the models of `settings`; see `Services` for the other arguments."""
        self.settings = settings
        self._model, self._embedded = model, embedded
        self._lock = threading.RLock()
        self._clients: dict[ModelRole | None, ModelClient] = {}
        self._named: dict[str, Models] = {}
        self._is_open = False

    def of(self, role: ModelRole | None = None) -> ModelClient:
        """Return the client of the model for `role`, by default that for all roles without their own."""
        own_role = role if self._model is None and role in self.settings.llm_models else None
        with self._lock:
            if own_role not in self._clients:
                self._clients[own_role] = self.new_client(own_role)
            return self._clients[own_role]

    def new_client(self, role: ModelRole | None) -> ModelClient:
        """Return a new client of the model for `role`."""
        if isinstance(self._model, ModelClient):
            return self._model
        if self._model is not None:
            return ModelClient(self._model, self.settings, name=self._model._llm_type, embedded=self._embedded)
        if role is None:
            return connect_model(self.settings, self.embedded)
        return connect_model(self.settings.for_role(role))

    def open(self) -> None:
        """Build the client of the model that writes statements, without a request; the embedded model is loaded."""
        if self._model is None and not self._is_open:
            connect_model(self.settings.for_role("generate"))
            self._is_open = True

    @property
    def roles(self) -> ModelRoles:
        """The implementations of the model's tasks."""
        with self._lock:
            return self._roles

    @cached_property
    def _roles(self) -> ModelRoles:
        return roles_of(self.of, self.settings)

    @property
    def embedded(self) -> EmbeddedOptions | None:
        """Decoding options of the embedded model; None if another model is used."""
        if isinstance(self._model, ModelClient):
            return self._model.embedded
        is_configured = self._model is None and self.settings.for_role("generate").uses_embedded_model
        if self._embedded or not is_configured:
            return self._embedded
        return EmbeddedOptions()

    def named(self, name: str) -> "Models":
        """Return the models with the model `name` for all roles.

        The settings have to name it: as `llm_model`, in `llm_models`, or in `prices`, which the endpoint of `llm_model`
        then offers.

        Raises:
            InputInvalid: they do not, or no endpoint is configured.
        """
        own = self.settings.model_copy(update={"llm_models": {}})
        known = {model: own.model_copy(update={"llm_model": model}) for model in own.prices}
        known |= {model.model: self.settings.for_role(role) for role, model in self.settings.llm_models.items()}
        known |= {own.llm_model: own} if own.llm_model else {}
        if name not in known or known[name].uses_embedded_model:
            raise InputInvalid("context.model", Message("one_of", choices=", ".join(sorted(known)) or "–"))
        with self._lock:
            if name not in self._named:
                self._named[name] = self._with_settings(name, known[name])
            return self._named[name]

    def _with_settings(self, name: str, settings: Settings) -> "Models":
        return Models(settings, self._model, self._embedded)


def _chat(settings: Settings, model: str, url: str) -> BaseChatModel:
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient

    from datasphinx.agent.llm.capabilities import Capabilities
    from datasphinx.agent.llm.endpoint import EndpointChat
    from datasphinx.agent.llm.rejections import prevent_retry

    is_local = is_this_machine(url)
    # A proxy configured in the environment cannot reach a loopback address.
    http: dict[str, Any] = {"trust_env": not is_local}
    options: dict[str, Any] = {"openai_proxy": None, "http_socket_options": ()} if is_local else {}
    if is_local and urlsplit(url).scheme == "http":
        # No certificate is checked. Each of the two clients would read those of all authorities, which takes long.
        http["verify"] = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        options["http_async_client"] = DefaultAsyncHttpxClient(**http)
    client = DefaultHttpxClient(event_hooks={"response": [prevent_retry]}, **http)
    # If an endpoint refuses a schema, ModelClient uses another format, so the advice in this warning does not apply.
    warnings.filterwarnings("ignore", message=r"(This model does not support|Invalid schema for) OpenAI's structured")
    return EndpointChat(
        model=model,
        base_url=url,
        api_key=settings.llm_api_key or _PLACEHOLDER_KEY,
        temperature=settings.llm_temperature,
        http_client=client,
        use_responses_api=False,
        capabilities=Capabilities(settings.llm_structured_output),
        timeout=settings.llm_timeout_s,
        max_retries=_MAX_RETRIES,
        **options,
    )


def is_this_machine(url: str) -> bool:
    """Return whether the host of `url` is a loopback address."""
    return urlsplit(url).hostname in _LOOPBACK_HOSTS


@lru_cache(maxsize=1)
def certificate_authorities() -> ssl.SSLContext:
    """Return the certificates of all authorities, cached because each reading leaks memory."""
    import httpx

    return httpx.create_ssl_context()
