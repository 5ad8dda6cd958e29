"""Write and read an adapter as a GGUF file that llama.cpp applies to the base model.

Tensor names and metadata follow `convert_lora_to_gguf.py` of llama.cpp.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_BLOCK = 32
"""Number of values that share a scale in Q8_0."""

Weights = Mapping[str, NDArray[np.float32]]

_INTERLEAVED = {"llama": True, "qwen2": False}
"""By architecture, whether llama.cpp rotates adjacent rows of queries and keys, where transformers rotates halves."""


@dataclass(frozen=True)
class Architecture:
    """The architecture of a base model: its name in GGUF, and its numbers of query heads and of key and value heads."""

    name: str
    heads: int
    key_heads: int

    @classmethod
    def of(cls, config: Any) -> "Architecture":
        """Return the architecture of the configuration that transformers reads from a GGUF file.

        Raises:
            ValueError: adapters of this architecture cannot be exported.
        """
        if config.model_type not in _INTERLEAVED:
            raise ValueError(f"architecture {config.model_type!r}: only {', '.join(_INTERLEAVED)} can be trained")
        return cls(config.model_type, config.num_attention_heads, config.num_key_value_heads)

    def interleaved_heads(self, layer: str) -> int | None:
        """Return the number of heads in `layer` if its rows have another order in GGUF; None otherwise.

        `layer` is a name in a block, such as `self_attn.q_proj`.
        """
        heads = {"self_attn.q_proj": self.heads, "self_attn.k_proj": self.key_heads}
        return heads.get(layer) if _INTERLEAVED[self.name] else None


def export_adapter(weights: Weights, path: Path, *, scale: float, base: str, architecture: Architecture) -> None:
    """Write `weights`, named as by `adapter_weights`, to `path`: in 8 bits (Q8_0), or 16 if the row size requires it.

    Args:
        weights: `a` of shape (rank, inputs) and `b` of shape (outputs, rank) for each adapted layer.
        path: the GGUF file to write.
        scale: the factor of the product of both.
        base: the name of the base model.
        architecture: the architecture of the base model.

    Raises:
        KeyError: a name does not belong to a block of the base model.
        OSError: the file cannot be written.
    """
    from gguf import GGMLQuantizationType, GGUFWriter
    from gguf.quants import quantize

    eight, sixteen = GGMLQuantizationType.Q8_0, GGMLQuantizationType.F16
    writer = GGUFWriter(path, architecture.name)
    rank = next(weight.shape[0] for name, weight in weights.items() if name.endswith(".a"))
    writer.add_string("general.type", "adapter")
    writer.add_string("general.name", f"datasphinx SQL adapter for {base}")
    writer.add_string("general.license", "apache-2.0")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", scale * rank)
    for name, weight in weights.items():
        layer, _, matrix = name.rpartition(".")
        block, _, kind = layer.removeprefix("model.layers.").partition(".")
        heads = architecture.interleaved_heads(kind)
        if matrix == "b" and heads:
            weight = _interleave(weight, heads)
        quantization = eight if weight.shape[1] % _BLOCK == 0 else sixteen
        tensor = f"blk.{block}.{_NAMES[kind]}.weight.lora_{matrix}"
        writer.add_tensor(tensor, quantize(weight, quantization), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_adapter(path: Path, architecture: Architecture) -> dict[str, NDArray[np.float32]]:
    """Return the matrices in `path`, written by `export_adapter`, by training name, with the precision of the file.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: the file was not written by `export_adapter`, or belongs to another architecture.
    """
    from gguf import GGUFReader
    from gguf.quants import dequantize

    layers = {short: layer for layer, short in _NAMES.items()}
    weights = {}
    reader = GGUFReader(path)
    written_for = reader.fields["general.architecture"].contents()
    if written_for != architecture.name:
        raise ValueError(f"{path} is an adapter for the architecture {written_for!r}, not {architecture.name!r}")
    for tensor in reader.tensors:
        _, block, short, _, matrix = tensor.name.split(".")
        weight = dequantize(tensor.data, tensor.tensor_type)
        heads = architecture.interleaved_heads(layers[short])
        if matrix == "lora_b" and heads:
            weight = _deinterleave(weight, heads)
        weights[f"model.layers.{block}.{layers[short]}.{matrix.removeprefix('lora_')}"] = weight
    return weights


def _interleave(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Reorder the rows of each head for the rotary embedding of llama.cpp: adjacent pairs instead of halves."""
    rows, inputs = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, inputs)
    return halves.swapaxes(1, 2).reshape(rows, inputs)


def _deinterleave(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Invert `_interleave`."""
    rows, inputs = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, inputs).swapaxes(1, 2).reshape(rows, inputs)
