"""Errors of a model's endpoint as errors of the project: not reachable or rejected, with a quotation and no keys."""

from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

from datasphinx.agent.core.redact import without_secrets
from datasphinx.agent.core.text import valid_text
from datasphinx.agent.errors import ModelRejected, ModelUnreachable
from datasphinx.agent.llm.rejections import ErrorReply, UnexpectedReply, error_text, openai_errors
from datasphinx.agent.messages import Message

_TIMEOUT_STATUS = 408
_REASON_CHARS = 300


class EndpointFailures:
    """Converts the errors of one endpoint; `url` is its URL without user, password and query."""

    def __init__(self, url: str, key: SecretStr | None) -> None:
        """Name the endpoint at `url` in errors, and replace `key` in quotations."""
        parts = urlsplit(url)
        self.url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        self._key = key.get_secret_value() if key else ""

    def of(self, error: Exception) -> ModelUnreachable | ModelRejected:
        """Return the error to raise for `error`: rejected if the same request would fail again, else unreachable."""
        if isinstance(error, ErrorReply):
            return ModelRejected(self.url, self.reason(error))
        status = getattr(error, "status_code", None)
        if isinstance(error, UnexpectedReply) or status in (404, 405):
            reason: str = self.reason(error)
            if status is None:
                reason = Message("no_chat_completion", quotation=reason)
            if lacks_version(self.url):
                reason = Message("path_without_version", reason=reason, path="/v1")
            return (ModelUnreachable if status is None else ModelRejected)(self.url, reason)
        openai = openai_errors()
        is_rejection = isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError)
        if isinstance(error, openai.RateLimitError):
            # The same status means both a temporary rate limit and an exhausted quota, which is permanent.
            is_rejection = error.code == "insufficient_quota"
        elif status is not None:
            is_rejection = status < 500 and status != _TIMEOUT_STATUS
        return (ModelRejected if is_rejection else ModelUnreachable)(self.url, self.reason(error))

    def reason(self, error: Exception) -> str:
        """Return the first line of the text of `error`, without the key."""
        if isinstance(error, openai_errors().APIStatusError):
            text = f"Error code: {error.status_code} - {error_text(error)}".removesuffix(" - ")
        else:
            text = str(getattr(error, "message", "") or error)
        text = valid_text(text).strip() or type(error).__name__
        return self.redact(text).splitlines()[0][:_REASON_CHARS].rstrip(".")

    def redact(self, text: str) -> str:
        """Return `text` without the key."""
        return without_secrets(text, (self._key,))


def lacks_version(url: str) -> bool:
    """Return whether the path of a base URL is empty, while most endpoints have theirs at /v1.

    >>> lacks_version("http://localhost:11434"), lacks_version("http://localhost:11434/v1")
    (True, False)
    """
    return urlsplit(url).path.strip("/") == ""
