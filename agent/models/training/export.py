"""Writes a trained adapter as a GGUF file that llama.cpp applies to the base model.

The names and the form of the file follow llama.cpp's `convert_lora_to_gguf.py`.
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
"""Numbers that share a scale in Q8_0."""

Weights = Mapping[str, NDArray[np.float32]]


def export_adapter(weights: Weights, path: Path, *, scale: float, heads: int, key_heads: int) -> None:
    """Write `weights`, as `adapter_weights` names them, to `path`: in 8 bits (Q8_0), or 16 where rows do not fit that.

    Args:
        weights: `a` of shape (rank, inputs) and `b` of shape (outputs, rank) for each adapted layer.
        path: the GGUF file to write.
        scale: what the product of both is multiplied by.
        heads: how many attention heads the base has.
        key_heads: how many of them have keys and values of their own.

    Raises:
        KeyError: a name is none of a Llama block.
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
            weight = _interleaved(weight, heads if kind.endswith("q_proj") else key_heads)
        kept = eight if weight.shape[1] % _BLOCK == 0 else sixteen
        tensor = f"blk.{block}.{_NAMES[kind]}.weight.lora_{matrix}"
        writer.add_tensor(tensor, quantize(weight, kept), raw_dtype=kept)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_adapter(path: Path, *, heads: int, key_heads: int) -> dict[str, NDArray[np.float32]]:
    """Return the matrices that `export_adapter` wrote to `path`, by their names in training; 8 bits stay lost.

    Raises:
        OSError: the file cannot be read.
        KeyError, ValueError: it is none of ours.
    """
    from gguf import GGUFReader
    from gguf.quants import dequantize

    layers = {short: layer for layer, short in _NAMES.items()}
    weights = {}
    for tensor in GGUFReader(path).tensors:
        _, block, short, _, matrix = tensor.name.split(".")
        weight = dequantize(tensor.data, tensor.tensor_type)
        if matrix == "lora_b" and short in ("attn_q", "attn_k"):
            weight = _in_halves(weight, heads if short == "attn_q" else key_heads)
        weights[f"model.layers.{block}.{layers[short]}.{matrix.removeprefix('lora_')}"] = weight
    return weights


def _interleaved(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Return the rows of each head in the order in which llama.cpp turns them: pairs side by side, not in halves."""
    rows, inputs = weight.shape
    halves = weight.reshape(heads, 2, rows // heads // 2, inputs)
    return halves.swapaxes(1, 2).reshape(rows, inputs)


def _in_halves(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undo `_interleaved`."""
    rows, inputs = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, inputs).swapaxes(1, 2).reshape(rows, inputs)
