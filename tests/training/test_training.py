"""Training on a tiny model: what is packed together counts as if alone, a stopped run goes on as if it had not been."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra `train` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `train` is not installed")

from training.adapter import TrainingPlan  # noqa: E402
from training.export import export_adapter, read_adapter  # noqa: E402
from training.groups import Example, Group  # noqa: E402
from training.low_rank import LowRankLinear, adapt, adapter_weights  # noqa: E402
from training.packing import (  # noqa: E402
    ATTENTION,  # noqa: E402
    IGNORED,
    packs_of,
)
from training.train import best_adapter, loss_of, train  # noqa: E402

PLAN = TrainingPlan(rank=4, learning_rate=1e-2, warmup_steps=1, steps=8, validate_every=4)
GROUP = Group(
    "tables: cats(name, age)",
    "pets",
    [
        Example("\nhow many?", "FROM cats SELECT COUNT(*)", "count"),
        Example("\nhow old is the oldest of them?", "FROM cats SELECT MAX(age)", "most"),
        Example("\nnames", "FROM cats SELECT name", "list"),
    ],
)


def encode(text: str) -> Sequence[int]:
    return list(text.encode())


def tiny_model(attention: str = ATTENTION) -> Any:
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=256,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation=attention,
    )
    return transformers.LlamaForCausalLM(config)


def one_by_one(group: Group) -> list[Group]:
    return [replace(group, examples=[example]) for example in group.examples]


def test_examples_that_share_a_beginning_count_as_if_each_stood_alone() -> None:
    model = tiny_model()
    (together,) = packs_of(GROUP, encode, 1000)
    alone = [next(packs_of(group, encode, 1000)) for group in one_by_one(GROUP)]
    learned = [int((pack.labels != IGNORED).sum()) for pack in alone]
    expected = sum(loss_of(model, pack, "cpu").item() * count for pack, count in zip(alone, learned, strict=True))
    assert loss_of(model, together, "cpu").item() == pytest.approx(expected / sum(learned), rel=1e-4)
    assert len(together.tokens) < sum(len(pack.tokens) for pack in alone)


def test_attention_in_a_pack_is_that_under_a_mask_for_each_example() -> None:
    (pack,) = packs_of(GROUP, encode, 1000)
    packed, plain = tiny_model(), tiny_model("sdpa")
    hidden = packed.model(pack.tokens[None], position_ids=pack.positions[None], use_cache=False, pack=pack)[0][0]
    for number in range(1, 4):
        seen = ((pack.owners == 0) | (pack.owners == number)).nonzero().squeeze(1)
        alone = plain.model(pack.tokens[None, seen], use_cache=False)[0][0]
        assert torch.allclose(hidden[seen], alone, atol=1e-5)


def test_gradients_in_a_pack_are_those_of_plain_layers_for_each_example() -> None:
    (pack,) = packs_of(GROUP, encode, 1000)
    packed, plain = tiny_model().double(), tiny_model("sdpa").double()
    inputs = packed.get_input_embeddings()(pack.tokens[None]).detach().requires_grad_()
    adapt(packed, 4, 2.0, torch.float64)
    hidden = packed.model(inputs_embeds=inputs, position_ids=pack.positions[None], use_cache=False, pack=pack)[0][0]
    examples = pack.owners > 0
    hidden[examples].square().sum().backward()
    expected = torch.zeros_like(inputs)
    for number in range(1, 4):
        seen = ((pack.owners == 0) | (pack.owners == number)).nonzero().squeeze(1)
        alone = inputs.detach()[:, seen].requires_grad_()
        plain.model(inputs_embeds=alone, use_cache=False)[0][0][examples[seen]].square().sum().backward()
        expected[:, seen] += alone.grad
    assert (inputs.grad - expected).abs().max() < 1e-3 * expected.abs().max()


def test_gradients_of_an_adapter_are_those_of_its_formula() -> None:
    layer = LowRankLinear(torch.nn.Linear(12, 7, bias=False), 3, 2.0)
    torch.nn.init.normal_(layer.b)
    x = torch.randn(2, 5, 12, requires_grad=True)
    expected = x @ layer.weight.T + 2.0 * (x @ layer.a.T) @ layer.b.T
    wanted = torch.autograd.grad(expected.square().sum(), (x, layer.a, layer.b))
    assert torch.allclose(layer(x), expected, atol=1e-5)
    found = torch.autograd.grad(layer(x).square().sum(), (x, layer.a, layer.b))
    assert all(torch.allclose(one, other, rtol=1e-4, atol=1e-3) for one, other in zip(found, wanted, strict=True))


def test_a_pack_says_where_its_examples_stand() -> None:
    (pack,) = packs_of(GROUP, encode, 1000)
    head = len(encode(GROUP.head))
    second = head + sum(len(encode(text)) for text in (GROUP.examples[0].tail, GROUP.examples[0].answer))
    assert pack.head == head
    assert pack.positions[second] == head
    assert pack.filled.sum() == len(pack.tokens) - head
    assert (pack.labels[:head] == IGNORED).all()


def test_packs_keep_to_their_size_and_leave_out_what_fits_in_none() -> None:
    sizes = [len(pack.tokens) for pack in packs_of(GROUP, encode, 70)]
    assert sizes
    assert max(sizes) <= 70
    assert list(packs_of(GROUP, encode, 30)) == []


def test_an_adapter_changes_nothing_before_it_is_trained() -> None:
    model, tokens = tiny_model("sdpa"), torch.arange(20)[None]
    before = model(input_ids=tokens).logits
    adapt(model, 4, 2.0, torch.float32)
    assert torch.allclose(model(input_ids=tokens).logits, before, atol=1e-5)
    assert {name.rpartition(".")[2] for name in adapter_weights(model)} == {"a", "b"}
    assert sum(isinstance(module, LowRankLinear) for module in model.modules()) == 14


def test_training_learns_keeps_the_best_and_writes_down_what_it_sees(tmp_path: Path) -> None:
    packs = list(packs_of(GROUP, encode, 1000))
    plan = replace(PLAN, steps=60, validate_every=20)
    figures = train(tiny_model(), packs, packs, tmp_path, plan)
    log = (tmp_path / "losses.jsonl").read_text().splitlines()
    assert len(log) == 3
    assert figures["step"] == 60
    assert figures["validation_loss"] < 0.95 * loss_of(tiny_model(), packs[0], "cpu").item()
    assert best_adapter(tmp_path).keys() == adapter_weights(_adapted()).keys()
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"checkpoint.pt", "best.pt", "losses.jsonl"}, "the training set lies in the same folder"


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    packs = [pack for group in one_by_one(GROUP) for pack in packs_of(group, encode, 1000)]
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    train(tiny_model(), packs, packs, whole, PLAN)
    stopped = train(tiny_model(), packs, packs, pieces, replace(PLAN, minutes=0.0))
    assert stopped["step"] == 1
    train(tiny_model(), packs, packs, pieces, PLAN)
    one, other = (torch.load(folder / "checkpoint.pt", weights_only=True)["adapter"] for folder in (whole, pieces))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_that_is_done_says_where_it_ended(tmp_path: Path) -> None:
    packs = list(packs_of(GROUP, encode, 1000))
    train(tiny_model(), packs, packs, tmp_path, PLAN)
    assert train(tiny_model(), packs, packs, tmp_path, PLAN) == {"step": PLAN.steps}


def test_the_learning_rate_warms_up_stays_and_falls() -> None:
    plan = TrainingPlan(learning_rate=1.0, warmup_steps=10, steps=100, decay=0.2)
    assert [plan.rate(step) for step in (0, 9, 50, 79)] == pytest.approx([0.1, 1.0, 1.0, 1.0])
    assert 0.1 <= plan.rate(99) < plan.rate(90) < 1.0


def test_an_adapter_is_written_as_llama_cpp_names_and_turns_it(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="the extra `train` is not installed")
    weights = {name: weight.detach().numpy() for name, weight in adapter_weights(_adapted()).items()}
    weights["model.layers.0.self_attn.q_proj.b"] = torch.arange(32 * 4).reshape(32, 4).float().numpy()
    path = tmp_path / "adapter.gguf"
    export_adapter(weights, path, scale=2.0, heads=4, key_heads=2)
    reader = gguf.GGUFReader(path)
    tensors = {tensor.name: tensor.data for tensor in reader.tensors}
    assert len(tensors) == 28
    assert tensors["blk.1.ffn_down.weight.lora_a"].shape == (4, 48)
    assert reader.fields["adapter.lora.alpha"].contents() == 8.0
    # Of a head's eight rows the first half and the second take turns.
    rows = tensors["blk.0.attn_q.weight.lora_b"][:8, 0] / 4
    assert rows.tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


def test_a_written_adapter_is_read_as_it_was_trained(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="the extra `train` is not installed")
    given = {name: torch.randn(weight.shape).numpy() for name, weight in adapter_weights(_adapted()).items()}
    export_adapter(given, tmp_path / "adapter.gguf", scale=2.0, heads=4, key_heads=2)
    read = read_adapter(tmp_path / "adapter.gguf", heads=4, key_heads=2)
    assert read.keys() == given.keys()
    assert all(abs(read[name] - given[name]).max() < 0.05 for name in given)


def test_a_run_may_begin_with_an_adapter(tmp_path: Path) -> None:
    packs = list(packs_of(GROUP, encode, 1000))
    train(tiny_model(), packs, packs, tmp_path / "first", replace(PLAN, steps=40, validate_every=40))
    begun = best_adapter(tmp_path / "first")
    plan = replace(PLAN, steps=1, learning_rate=0.0, validate_every=1)
    assert (
        train(tiny_model(), packs, packs, tmp_path / "second", plan, begun)["validation_loss"]
        < train(tiny_model(), packs, packs, tmp_path / "third", plan)["validation_loss"]
    )


def _adapted() -> Any:
    model = tiny_model()
    adapt(model, 4, 2.0, torch.float32)
    return model
