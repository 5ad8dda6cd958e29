"""Training on tiny models: what is packed together counts as if alone, a stopped run goes on as if it had not been."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra `train` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `train` is not installed")

from training import joined  # noqa: E402
from training.adapter import TrainingPlan  # noqa: E402
from training.export import Architecture, export_adapter, read_adapter  # noqa: E402
from training.groups import Example, Group  # noqa: E402
from training.low_rank import LowRankLinear, adapt, adapter_weights  # noqa: E402
from training.packing import (  # noqa: E402
    ATTENTION,  # noqa: E402
    IGNORED,
    Pack,
    packs_of,
)
from training.train import best_adapter, load_base, loss_of, loss_of_batch, train, vocabulary_of  # noqa: E402

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


LLAMA, QWEN = Architecture("llama", 4, 2), Architecture("qwen2", 4, 2)
architectures = pytest.mark.parametrize("architecture", ["llama", "qwen2"])


def tiny_model(attention: str = ATTENTION, architecture: str = "llama") -> Any:
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(
        architecture,
        vocab_size=256,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation=attention,
    )
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(weight, std=0.1)
    return model


def one_by_one(group: Group) -> list[Group]:
    return [replace(group, examples=[example]) for example in group.examples]


@architectures
def test_examples_that_share_a_beginning_count_as_if_each_stood_alone(architecture: str) -> None:
    model = tiny_model(architecture=architecture)
    (together,) = packs_of(GROUP, encode, 1000)
    alone = [next(packs_of(group, encode, 1000)) for group in one_by_one(GROUP)]
    learned = [int((pack.labels != IGNORED).sum()) for pack in alone]
    vocabulary = vocabulary_of([together])
    expected = sum(loss_of(model, pack, vocabulary).item() * count for pack, count in zip(alone, learned, strict=True))
    assert loss_of(model, together, vocabulary).item() == pytest.approx(expected / sum(learned), rel=1e-4)
    assert len(together.tokens) < sum(len(pack.tokens) for pack in alone)


@architectures
def test_examples_joined_in_rows_count_as_if_each_stood_alone(architecture: str) -> None:
    model = tiny_model(architecture=architecture)
    packs = [pack for group in (GROUP, *one_by_one(GROUP)) for pack in packs_of(group, encode, 1000)]
    learned = [int((pack.labels != IGNORED).sum()) for pack in packs]
    vocabulary = vocabulary_of(packs)
    expected = sum(loss_of(model, pack, vocabulary).item() * count for pack, count in zip(packs, learned, strict=True))
    model.set_attn_implementation(joined.ATTENTION)
    (step,) = joined.batches(packs, 4, 256, Random(1))
    batch = joined.joined(step, 4, 256)
    assert sum(map(len, step)) == len(packs) > len(step)
    assert loss_of_batch(model, batch, vocabulary).item() == pytest.approx(expected / sum(learned), rel=1e-4)


@architectures
def test_attention_in_a_pack_is_that_under_a_mask_for_each_example(architecture: str) -> None:
    (pack,) = packs_of(GROUP, encode, 1000)
    packed, plain = tiny_model(architecture=architecture), tiny_model("sdpa", architecture)
    hidden = packed.model(pack.tokens[None], position_ids=pack.positions[None], use_cache=False, pack=pack)[0][0]
    for number in range(1, 4):
        seen = ((pack.owners == 0) | (pack.owners == number)).nonzero().squeeze(1)
        alone = plain.model(pack.tokens[None, seen], use_cache=False)[0][0]
        assert torch.allclose(hidden[seen], alone, atol=1e-5)


@architectures
def test_gradients_in_a_pack_are_those_of_plain_layers_for_each_example(architecture: str) -> None:
    (pack,) = packs_of(GROUP, encode, 1000)
    packed, plain = tiny_model(architecture=architecture).double(), tiny_model("sdpa", architecture).double()
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


@pytest.mark.parametrize("bias", [False, True])
def test_gradients_of_an_adapter_are_those_of_its_formula(bias: bool) -> None:
    base = torch.nn.Linear(12, 7, bias=bias).requires_grad_(False)
    layer = LowRankLinear(base, 3, 2.0)
    torch.nn.init.normal_(layer.b)
    x = torch.randn(2, 5, 12, requires_grad=True)
    expected = base(x) + 2.0 * (x @ layer.a.T) @ layer.b.T
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


@architectures
def test_an_adapter_changes_nothing_before_it_is_trained(architecture: str) -> None:
    model, tokens = tiny_model("sdpa", architecture), torch.arange(20)[None]
    before = model(input_ids=tokens).logits
    adapt(model, 4, 2.0, torch.float32)
    assert torch.allclose(model(input_ids=tokens).logits, before, atol=1e-5)
    assert {name.rpartition(".")[2] for name in adapter_weights(model)} == {"a", "b"}
    assert sum(isinstance(module, LowRankLinear) for module in model.modules()) == 14


def test_a_narrower_data_type_leaves_the_positions_exact() -> None:
    model = tiny_model()
    before = model.model.rotary_emb.inv_freq.clone()
    adapt(model, 4, 2.0, torch.bfloat16)
    assert model.model.layers[0].self_attn.q_proj.weight.dtype == torch.bfloat16
    assert torch.equal(model.model.rotary_emb.inv_freq, before)


def test_training_learns_keeps_the_best_and_writes_down_what_it_sees(tmp_path: Path) -> None:
    packs = list(packs_of(GROUP, encode, 1000))
    plan = replace(PLAN, steps=60, validate_every=20)
    figures = train(tiny_model(), packs, packs, tmp_path, plan)
    log = (tmp_path / "losses.jsonl").read_text().splitlines()
    assert len(log) == 3
    assert figures["step"] == 60
    assert figures["validation_loss"] < 0.95 * loss_of(tiny_model(), packs[0], vocabulary_of(packs)).item()
    assert best_adapter(tmp_path).keys() == adapter_weights(_adapted()).keys()
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"checkpoint.pt", "best.pt", "losses.jsonl"}, "the training set lies in the same folder"


def test_training_in_rows_as_on_a_gpu_learns_too_and_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    packs = [pack for group in one_by_one(GROUP) for pack in packs_of(group, encode, 1000)]
    plan = replace(PLAN, rows=2, row_tokens=128, steps=30, validate_every=10)
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    figures = train(tiny_model(), packs, packs, whole, plan)
    assert figures["validation_loss"] < 0.95 * loss_of(tiny_model(), packs[0], vocabulary_of(packs)).item()
    train(tiny_model(), packs, packs, pieces, replace(plan, minutes=0.0))
    assert train(tiny_model(), packs, packs, pieces, plan)["validation_loss"] == pytest.approx(
        figures["validation_loss"]
    )


def test_training_needs_an_example(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has no example"):
        train(tiny_model(), [], [], tmp_path, PLAN)


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    packs = [pack for group in one_by_one(GROUP) for pack in packs_of(group, encode, 1000)]
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    train(tiny_model(), packs, packs, whole, PLAN)
    stopped = train(tiny_model(), packs, packs, pieces, replace(PLAN, minutes=0.0))
    assert stopped["step"] == 1
    train(tiny_model(), packs, packs, pieces, PLAN)
    one, other = (torch.load(folder / "checkpoint.pt", weights_only=True)["adapter"] for folder in (whole, pieces))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_that_was_killed_goes_on_from_a_checkpoint_between_validations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packs = [pack for group in one_by_one(GROUP) for pack in packs_of(group, encode, 1000)]
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    plan = replace(PLAN, validate_every=PLAN.steps, checkpoint_minutes=0.0)
    train(tiny_model(), packs, packs, whole, plan)
    losses = 0

    def killed(*given: Any) -> Any:
        nonlocal losses
        losses += 1
        if losses > 6:
            raise KeyboardInterrupt
        return loss_of(*given)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("training.train.loss_of", killed)
        train(tiny_model(), packs, packs, pieces, plan)
    assert not (pieces / "best.pt").exists()
    assert torch.load(pieces / "checkpoint.pt", weights_only=True)["step"] == 4
    train(tiny_model(), packs, packs, pieces, plan)
    one, other = (torch.load(folder / "checkpoint.pt", weights_only=True)["adapter"] for folder in (whole, pieces))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_may_end_by_its_total_duration(tmp_path: Path) -> None:
    packs = list(packs_of(GROUP, encode, 1000))
    metrics = train(tiny_model(), packs, packs, tmp_path, replace(PLAN, total_minutes=1e-9))
    assert metrics["step"] == 1
    assert metrics["progress"] >= 1
    assert (tmp_path / "best.pt").exists()
    again = train(tiny_model(), packs, packs, tmp_path, replace(PLAN, total_minutes=1e-9))
    assert again["step"] == 1, "the time of earlier runs counts"


def test_a_run_that_is_done_says_where_it_ended(tmp_path: Path) -> None:
    packs = list(packs_of(GROUP, encode, 1000))
    train(tiny_model(), packs, packs, tmp_path, PLAN)
    assert train(tiny_model(), packs, packs, tmp_path, PLAN) == {"step": PLAN.steps, "progress": 1.0}


def test_the_learning_rate_warms_up_stays_and_falls() -> None:
    plan = TrainingPlan(learning_rate=1.0, warmup_steps=10, steps=100, decay=0.2)
    assert [plan.rate(step) for step in (0, 9, 50, 79)] == pytest.approx([0.1, 1.0, 1.0, 1.0])
    assert 0.1 <= plan.rate(99) < plan.rate(90) < 1.0


def test_the_learning_rate_falls_by_time_if_the_duration_is_limited() -> None:
    plan = TrainingPlan(learning_rate=1.0, warmup_steps=1, steps=1000, decay=0.5, total_minutes=10)
    assert [plan.rate(20, minutes * 60) for minutes in (0, 5, 7.5, 10)] == pytest.approx([1.0, 1.0, 0.5, 0.1])
    assert plan.rate(750, 0) == pytest.approx(0.5)


def test_an_adapter_is_written_as_llama_cpp_names_and_turns_it(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="the extra `train` is not installed")
    weights = {name: weight.detach().numpy() for name, weight in adapter_weights(_adapted()).items()}
    weights["model.layers.0.self_attn.q_proj.b"] = torch.arange(32 * 4).reshape(32, 4).float().numpy()
    path = tmp_path / "adapter.gguf"
    export_adapter(weights, path, scale=2.0, base="tiny", architecture=LLAMA)
    reader = gguf.GGUFReader(path)
    tensors = {tensor.name: tensor.data for tensor in reader.tensors}
    assert len(tensors) == 28
    assert tensors["blk.1.ffn_down.weight.lora_a"].shape == (4, 48)
    assert reader.fields["adapter.lora.alpha"].contents() == 8.0
    # Of a head's eight rows the first half and the second take turns.
    rows = tensors["blk.0.attn_q.weight.lora_b"][:8, 0] / 4
    assert rows.tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


def test_an_adapter_of_qwen2_keeps_the_order_of_its_rows(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="the extra `train` is not installed")
    weights = {name: weight.detach().numpy() for name, weight in adapter_weights(_adapted("qwen2")).items()}
    weights["model.layers.0.self_attn.q_proj.b"] = torch.arange(32 * 4).reshape(32, 4).float().numpy()
    path = tmp_path / "adapter.gguf"
    export_adapter(weights, path, scale=2.0, base="tiny", architecture=QWEN)
    reader = gguf.GGUFReader(path)
    tensors = {tensor.name: tensor.data for tensor in reader.tensors}
    assert reader.fields["general.architecture"].contents() == "qwen2"
    assert len(tensors) == 28, "an adapter has no biases"
    assert (tensors["blk.0.attn_q.weight.lora_b"][:8, 0] / 4).tolist() == list(range(8))
    assert abs(read_adapter(path, QWEN)["model.layers.0.self_attn.q_proj.b"][:8, 0] / 4 - range(8)).max() == 0
    with pytest.raises(ValueError, match=r"architecture 'qwen2', not 'llama'"):
        read_adapter(path, LLAMA)


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(ValueError, match="'gpt2': only llama, qwen2"):
        Architecture.of(transformers.GPT2Config())


def test_a_base_is_read_as_its_file_says(tmp_path: Path) -> None:
    written = tiny_model("sdpa", "qwen2")
    model, tokenizer = load_base(write_qwen2(written, tmp_path / "tiny.gguf"))
    assert Architecture.of(model.config) == QWEN
    text = "<|im_start|>user\nhow many cats?<|im_end|>"
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert (ids[0], ids[-1]) == (tokenizer.vocab["<|im_start|>"], tokenizer.vocab["<|im_end|>"])
    pack = Pack(torch.tensor(ids), torch.arange(len(ids)), torch.tensor(ids), torch.zeros(len(ids), dtype=torch.long))
    pack.owners[1:] = 1
    hidden = model.model(pack.tokens[None], position_ids=pack.positions[None], use_cache=False, pack=pack)[0]
    assert torch.allclose(hidden, written.model(pack.tokens[None], use_cache=False)[0], atol=1e-4)


def write_qwen2(model: Any, path: Path) -> Path:
    """Write a model of the architecture `qwen2` as a GGUF file, with a tokenizer of bytes."""
    gguf = pytest.importorskip("gguf", reason="the extra `train` is not installed")
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    config = model.config
    bytes_ = list(bytes_to_unicode().values())
    tokens = [*bytes_[:252], "ab", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(512)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * 253 + [gguf.TokenType.CONTROL] * 3)
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(255)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_written_adapter_is_read_as_it_was_trained(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="the extra `train` is not installed")
    given = {name: torch.randn(weight.shape).numpy() for name, weight in adapter_weights(_adapted()).items()}
    export_adapter(given, tmp_path / "adapter.gguf", scale=2.0, base="tiny", architecture=LLAMA)
    read = read_adapter(tmp_path / "adapter.gguf", LLAMA)
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


def _adapted(architecture: str = "llama") -> Any:
    model = tiny_model(architecture=architecture)
    adapt(model, 4, 2.0, torch.float32)
    return model
