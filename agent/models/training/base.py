"""The base model for training: the very weights that the agent ships with, read back from their GGUF file."""

from pathlib import Path
from typing import Any

import torch

from agent.models.training.packed_attention import NAME
from agent.models.weights import embedded_weights


def load_base(cache_dir: Path) -> tuple[Any, Any]:
    """Return the model, in fp32, and its tokenizer, by transformers.

    The adapter is trained on the quantised weights as they are dequantised, so that it makes up for their rounding too.

    Raises:
        EmbeddedModelUnavailable: the weights cannot be had.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weights = embedded_weights(cache_dir)
    options: dict[str, Any] = {"gguf_file": weights.name}
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, **options)
    model = AutoModelForCausalLM.from_pretrained(
        weights.parent, dtype=torch.float32, attn_implementation=NAME, **options
    )
    return model, tokenizer


def device_and_type() -> tuple[str, torch.dtype]:
    """Return where to train and in what type to multiply: bf16 on a GPU or a CPU that multiplies it, else fp32."""
    if torch.cuda.is_available():
        return "cuda", torch.bfloat16
    multiplies = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
    return "cpu", torch.bfloat16 if multiplies else torch.float32
