"""Connects the model that the settings name."""

from agent.errors import ConfigurationError
from agent.models.client import ModelClient
from agent.settings import Settings

_ANY_KEY = "not-needed"
"""Servers of one's own mostly want no key, but the client insists on one."""


def connect_model(settings: Settings) -> ModelClient:
    """Return a client for the configured endpoint, or for the embedded model where none is configured.

    Raises:
        ConfigurationError: an endpoint is configured without a model's name.
        DriverMissing, EmbeddedModelUnavailable: no endpoint is configured and the embedded model cannot be had.
    """
    from langchain_openai import ChatOpenAI

    if settings.uses_embedded_model:
        from agent.models.local import EMBEDDED_MODEL_NAME, embedded_endpoint

        chat = ChatOpenAI(
            model=EMBEDDED_MODEL_NAME,
            base_url=embedded_endpoint(settings.cache_dir),
            api_key=_ANY_KEY,
            temperature=0,
            timeout=settings.llm_timeout_s,
            max_completion_tokens=256,
            disable_streaming=True,
        )
        return ModelClient(chat, settings, name=EMBEDDED_MODEL_NAME, profile="embedded")
    if not settings.llm_model:
        raise ConfigurationError(
            "DATASPHINX_LLM_MODEL", "an endpoint is configured, but not which of its models to use"
        )
    chat = ChatOpenAI(
        model=settings.llm_model,
        base_url=settings.llm_base_url,
        api_key=settings.llm_api_key or _ANY_KEY,
        temperature=settings.llm_temperature,
        timeout=settings.llm_timeout_s,
        disable_streaming=True,
    )
    return ModelClient(chat, settings, name=settings.llm_model)
