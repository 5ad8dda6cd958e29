"""The Dockerfile and the services of Docker Compose."""

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def instructions() -> list[tuple[str, str]]:
    """Every instruction of the Dockerfile with what follows it, on one line each."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    joined = re.sub(r"\\\n\s*", "", "\n".join(line for line in lines if line and not line.startswith("#")))
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in joined.splitlines()]


def last(instruction: str) -> str:
    """What stands behind the last of these instructions."""
    return [given for name, given in instructions() if name == instruction][-1]


def image_environment() -> dict[str, str]:
    """The variables of the last stage."""
    last_stage = [index for index, (name, _) in enumerate(instructions()) if name == "FROM"][-1]
    given = " ".join(given for name, given in instructions()[last_stage:] if name == "ENV")
    return dict(pair.split("=", 1) for pair in given.split())
