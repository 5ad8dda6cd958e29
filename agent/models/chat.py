"""Connects the model that the settings name."""

import warnings
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models.chat_models import BaseChatModel

from agent.errors import ConfigurationError
from agent.models.client import ModelClient
from agent.models.embedded import EmbeddedOptions
from agent.settings import Settings

_ANY_KEY = "not-needed"
"""Servers of one's own mostly want no key, but the client insists on one."""

_LONGEST_STATEMENT = 192
"""Tokens that the embedded model may write; the longest statements that it is trained on have fewer."""

OPENAI_URL = "https://api.openai.com/v1"
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def connect_model(
    settings: Settings, embedded: EmbeddedOptions | None = None, *, logprobs: bool = False
) -> ModelClient:
    """Return a client for the configured endpoint, or for the embedded model where none is configured.

    `embedded` says how that is decoded; left out: with all its parts, and as many candidates as the settings say.
    With `logprobs` the perplexity of answers is measured where the endpoint allows it.

    Raises:
        ConfigurationError: an endpoint is configured without a model's name.
        DriverMissing, EmbeddedModelUnavailable: no endpoint is configured and the embedded model cannot be had.
    """
    if settings.uses_embedded_model:
        from agent.models.local import EMBEDDED_MODEL_NAME, embedded_endpoint

        options = embedded or EmbeddedOptions(candidates=settings.embedded_candidates)
        url = embedded_endpoint(settings.cache_dir, adapter=options.adapter)
        # It is here and at work: on a busy machine it needs longer, and asked again it would only begin anew.
        patience = {"timeout": settings.max_question_s, "max_retries": 0}
        chat = _chat(settings, EMBEDDED_MODEL_NAME, url, max_completion_tokens=_LONGEST_STATEMENT, **patience)
        return ModelClient(chat, settings, name=EMBEDDED_MODEL_NAME, embedded=options, logprobs=logprobs)
    if not settings.llm_model:
        raise ConfigurationError(
            "DATASPHINX_LLM_MODEL", "an endpoint is configured, but not which of its models to use"
        )
    url = settings.llm_base_url or OPENAI_URL
    chat = _chat(settings, settings.llm_model, url, temperature=settings.llm_temperature)
    return ModelClient(chat, settings, name=settings.llm_model, endpoint=url, logprobs=logprobs)


def _chat(settings: Settings, model: str, url: str, **options: Any) -> BaseChatModel:
    from langchain_openai import ChatOpenAI

    # Where a schema is refused the client asks in another way; advice to call functions instead helps nobody then.
    warnings.filterwarnings("ignore", message=r"(This model does not support|Invalid schema for) OpenAI's structured")
    return ChatOpenAI(
        model=model,
        base_url=url,
        api_key=settings.llm_api_key or _ANY_KEY,
        disable_streaming=True,
        use_responses_api=False,
        **{"timeout": settings.llm_timeout_s, **_direct(url), **options},
    )


def _direct(url: str) -> dict[str, Any]:
    """Return the options for a server on this machine, which no proxy of the environment can reach."""
    if not is_this_machine(url):
        return {}
    from openai import DefaultHttpxClient

    return {"openai_proxy": None, "http_socket_options": (), "http_client": DefaultHttpxClient(trust_env=False)}


def is_this_machine(url: str) -> bool:
    """Return whether `url` leads to a server on this machine."""
    return urlsplit(url).hostname in _THIS_MACHINE
