"""Chat models of providers that are not OpenAI-compatible, by langchain's `init_chat_model`."""

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel

from agent.errors import ConfigurationError, DriverMissing
from agent.messages import Message
from agent.settings import Settings


def provider_chat(settings: Settings, max_retries: int) -> BaseChatModel:
    """Return the chat model of `settings.provider`; without a key in the settings, its package finds the key itself.

    Raises:
        DriverMissing: langchain is not installed.
        ConfigurationError: the package of the provider is not installed, or its own configuration is incomplete.
    """
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise DriverMissing("langchain", "providers") from error
    options: dict[str, Any] = {"timeout": settings.llm_timeout_s, "max_retries": max_retries}
    if settings.llm_temperature is not None:
        options["temperature"] = settings.llm_temperature
    if settings.llm_api_key:
        options["api_key"] = settings.llm_api_key
    try:
        chat: BaseChatModel = init_chat_model(settings.llm_model, **options)
    except Exception as error:
        # The packages of providers raise errors of many types for a missing key, region or project.
        reason = Message("provider_unavailable", provider=settings.provider, error=" ".join(str(error).split())[:300])
        raise ConfigurationError("DATASPHINX_LLM_MODEL", reason) from error
    return chat
