"""The LoRA adapter on the real weights: that it is loaded and counts, with adapters made here."""

from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest
from langchain_openai import ChatOpenAI

from datasphinx.agent.embedded import server as local
from datasphinx.agent.embedded.server import Endpoint, embedded_endpoint
from datasphinx.agent.embedded.tiers import TIERS

WIDTH, RANK = 896, 2
"""Of Qwen2.5-Coder-0.5B, and of the adapters."""


def write_adapter(path: Path, size: float) -> Path:
    """Write an adapter that adds random changes of this `size` to one layer; 0 changes nothing."""
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", RANK)
    random = np.random.default_rng(0)
    name = "blk.0.attn_q.weight"
    writer.add_tensor(f"{name}.lora_a", random.normal(size=(RANK, WIDTH)).astype(np.float32))
    writer.add_tensor(f"{name}.lora_b", (size * random.normal(size=(WIDTH, RANK))).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def said(endpoint: Endpoint) -> str:
    model = ChatOpenAI(
        model=TIERS["base"].model,
        base_url=endpoint.url,
        api_key=endpoint.key,
        timeout=60,
        max_tokens=20,
        temperature=0,
        seed=0,
    )
    return str(model.invoke("Name three colours.").content)


@pytest.fixture(scope="module")
def base_text(base_endpoint: Endpoint, user_cache: Path) -> str:
    """Text of a new server: the prompts that a server has read change the last digits of its probabilities."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "_servers", {})
        return said(embedded_endpoint(user_cache, adapter=False))


@pytest.mark.heavy
@pytest.mark.embedded
@pytest.mark.parametrize(("size", "is_same"), [(0.0, True), (30.0, False)])
def test_an_adapter_changes_what_it_says_and_no_more(
    base_text: str, user_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: float, is_same: bool
) -> None:
    monkeypatch.setattr(local, "_servers", {})
    adapter = write_adapter(tmp_path / "adapter.gguf", size)
    monkeypatch.setitem(TIERS, "base", replace(TIERS["base"], adapter=adapter))

    assert (said(embedded_endpoint(user_cache)) == base_text) is is_same
