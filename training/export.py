"""Write and read an adapter as a GGUF file that llama.cpp applies to the base model.

Tensor names and metadata follow `convert_lora_to_gguf.py` of llama.cpp.
"""

from collections.abc import Mapping
from pathlib import Path

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


def export_adapter(weights: Weights, path: Path, *, scale: float, heads: int, key_heads: int) -> None:
    """Write `weights`, named as by `adapter_weights`, to `path`: in 8 bits (Q8_0), or 16 if the row size requires it.

    Args:
        weights: `a` of shape (rank, inputs) and `b` of shape (outputs, rank) for each adapted layer.
        path: the GGUF file to write.
        scale: the factor of the product of both.
        heads: the number of attention heads of the base model.
        key_heads: the number of key and value heads.

    Raises:
        KeyError: a name does not belong to a Llama block.
        OSError: the file cannot be written.
    """
    from gguf import GGMLQuantizationType, GGUFWriter
    from gguf.quants import quantize

    eight, sixteen = GGMLQuantizationType.Q8_0, GGMLQuantizationType.F16
    writer = GGUFWriter(path, "llama")
    rank = next(weight.shape[0] for name, weight in weights.items() if name.endswith(".a"))
    writer.add_string("general.type", "adapter")
    writer.add_string("general.name", "datasphinx SQL adapter for SmolLM2-135M-Instruct")
    writer.add_string("general.license", "apache-2.0")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", scale * rank)
    for name, weight in weights.items():
        layer, _, matrix = name.rpartition(".")
        block, _, kind = layer.removeprefix("model.layers.").partition(".")
        if matrix == "b" and kind in ("self_attn.q_proj", "self_attn.k_proj"):
            weight = _interleave(weight, heads if kind.endswith("q_proj") else key_heads)
        quantization = eight if weight.shape[1] % _BLOCK == 0 else sixteen
        tensor = f"blk.{block}.{_NAMES[kind]}.weight.lora_{matrix}"
        writer.add_tensor(tensor, quantize(weight, quantization), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_adapter(path: Path, *, heads: int, key_heads: int) -> dict[str, NDArray[np.float32]]:
    """Return the matrices in `path`, written by `export_adapter`, by training name, with the precision of the file.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: the file was not written by `export_adapter`.
    """
    from gguf import GGUFReader
    from gguf.quants import dequantize

    layers = {short: layer for layer, short in _NAMES.items()}
    weights = {}
    for tensor in GGUFReader(path).tensors:
        _, block, short, _, matrix = tensor.name.split(".")
        weight = dequantize(tensor.data, tensor.tensor_type)
        if matrix == "lora_b" and short in ("attn_q", "attn_k"):
            weight = _deinterleave(weight, heads if short == "attn_q" else key_heads)
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
