"""What a model was measured to be able to do, and the cache of that on disk."""

import json
import logging
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from datasphinx.agent.core.canonical import digest
from datasphinx.agent.core.replaced_file import replaced_file
from datasphinx.agent.core.version import package_version

logger = logging.getLogger("datasphinx")


@dataclass(frozen=True, kw_only=True)
class Ability:
    """What one model at one endpoint can do. A value is None if it was not measured."""

    measured_at: str = ""
    """UTC time of the measurement in ISO format."""
    handles_json: bool | None = None
    """Whether the model answers small questions with known answers correctly in JSON."""
    words_answers: bool | None = None
    """Whether it also does if it is asked how the answer is worded."""
    validates: bool | None = None
    """Whether the model judges correct and incorrect statements correctly."""


_ABILITY = TypeAdapter(Ability)
_NAMES = {field.name for field in fields(Ability)}


def load_ability(cache_dir: Path, endpoint: str, model: str) -> Ability | None:
    """Return the cached ability of this version of the client; None if there is none or the file is invalid."""
    try:
        stored = json.loads(_path(cache_dir, endpoint, model).read_text(encoding="utf-8"))
        if not isinstance(stored, dict) or stored.keys() != _NAMES:
            return None
        return _ABILITY.validate_python(stored)
    except (OSError, ValueError, ValidationError):
        return None


def store_ability(cache_dir: Path, endpoint: str, model: str, ability: Ability) -> None:
    """Write `ability` to the cache; concurrent processes never read a part of it. A failure is logged only."""
    path = _path(cache_dir, endpoint, model)
    try:
        with replaced_file(path) as new:
            new.write_text(json.dumps(asdict(ability), ensure_ascii=False, indent=1), encoding="utf-8")
    except OSError as error:
        logger.warning("[MODEL] the measurement of the model is not cached: %s", error)


def _path(cache_dir: Path, endpoint: str, model: str) -> Path:
    return cache_dir / "abilities" / f"{digest(json.dumps([endpoint, model, package_version()]))}.json"
