"""The result of a probe: what an endpoint and a model were observed to support, and its cache on disk."""

import json
import logging
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from datasphinx.agent.core.canonical import digest
from datasphinx.agent.core.version import package_version

logger = logging.getLogger("datasphinx")


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What one model at one endpoint supports. A value is None if it was not measured or the measurement failed."""

    measured_at: str
    """UTC time of the probe in ISO format."""
    temperature: bool | None = None
    """Whether requests may contain the configured temperature."""
    system_role: bool | None = None
    """Whether requests may contain system messages."""
    consecutive_messages: bool | None = None
    """Whether consecutive messages may have one role; otherwise roles must alternate."""
    non_streaming: bool | None = None
    """Whether requests without streaming are accepted."""
    streaming: bool | None = None
    """Whether a reply is streamed on request."""
    json_schema: bool | None = None
    """Whether `response_format` with a JSON schema is accepted."""
    follows_schema: bool | None = None
    """Whether an answer conforms to the requested schema without its text in the prompt."""
    json_object: bool | None = None
    """Whether `response_format` for any JSON object is accepted."""
    tools: bool | None = None
    """Whether the model calls tools in the endpoint's own format."""
    parallel_tool_calls: bool | None = None
    """Whether the model calls several tools in one reply."""
    usage: bool | None = None
    """Whether replies report the number of tokens."""
    reasoning: tuple[str, ...] = ()
    """The fields and marks of replies that contained reasoning, such as `reasoning_content` or `<think>`."""
    latency_ms: float | None = None
    """Duration of the first successful request in milliseconds."""
    handles_json: bool | None = None
    """Whether the model answers small questions with known answers correctly in JSON."""
    words_answers: bool | None = None
    """Whether it also does if it is asked how the answer is worded."""
    validates: bool | None = None
    """Whether the model judges correct and incorrect statements correctly."""
    observations: Mapping[str, str]
    """By name of a value, what was observed: an error text or a part of a reply, without secrets."""


_RESULT = TypeAdapter(ProbeResult)
_NAMES = {field.name for field in fields(ProbeResult)}


def load_probe(cache_dir: Path, endpoint: str, model: str) -> ProbeResult | None:
    """Return the cached result of this version of the client; None if there is none or the file is invalid."""
    try:
        stored = json.loads(_path(cache_dir, endpoint, model).read_text(encoding="utf-8"))
        if not isinstance(stored, dict) or stored.keys() != _NAMES:
            return None
        return _RESULT.validate_python(stored)
    except (OSError, ValueError, ValidationError):
        return None


def store_probe(cache_dir: Path, endpoint: str, model: str, result: ProbeResult) -> None:
    """Write `result` to the cache; concurrent processes never read a part of it. A failure is logged only."""
    path = _path(cache_dir, endpoint, model)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(asdict(result), file, ensure_ascii=False, indent=1)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        logger.warning("[MODEL] the result of the probe is not cached: %s", error)


def _path(cache_dir: Path, endpoint: str, model: str) -> Path:
    return cache_dir / "probes" / f"{digest(json.dumps([endpoint, model, package_version()]))}.json"
