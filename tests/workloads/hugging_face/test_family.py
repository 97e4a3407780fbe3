"""Models of transformers: where they come from, and the steps of generating text."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from pytest_ngraph import workloads
from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.counts import count

pytest.importorskip("transformers")

TEXT: dict[str, Scalar] = {
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
}
GPT2: dict[str, Scalar] = {"n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 100}
T5: dict[str, Scalar] = {"num_layers": 2, "d_model": 64, "num_heads": 4, "d_ff": 128, "d_kv": 16, "vocab_size": 100}
OPT: dict[str, Scalar] = {
    "num_hidden_layers": 2, "hidden_size": 64, "word_embed_proj_dim": 64, "num_attention_heads": 4, "ffn_dim": 128,
    "vocab_size": 100, "max_position_embeddings": 8,
}  # fmt: skip
WHISPER: dict[str, Scalar] = {
    "d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 100, "max_source_positions": 10,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip
BART: dict[str, Scalar] = {
    "encoder_layers": 1, "decoder_layers": 1, "d_model": 64, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 100, "max_position_embeddings": 8,
}  # fmt: skip
MAMBA: dict[str, Scalar] = {"num_hidden_layers": 2, "hidden_size": 64, "state_size": 8, "vocab_size": 100}
WINDOW: dict[str, Scalar] = {**TEXT, "num_key_value_heads": 2, "sliding_window": 6}
VIT: dict[str, Scalar] = {k: v for k, v in TEXT.items() if k != "vocab_size"} | {"image_size": 32, "patch_size": 8}
SEQ_LEN = 10


def _case(name: str, arguments: dict[str, Scalar] | None = None, batch_size: int = 2, **sizes: int) -> Case:
    return Case(
        workload=f"hf:{name}",
        compiler="identity",
        batch_size=batch_size,
        sizes=tuple(sorted(sizes.items())),
        model_args=tuple(sorted((arguments or {}).items())),
    )


def _run(built: Built) -> dict[str, object]:
    with torch.no_grad():
        outputs: dict[str, object] = built.module(*built.args, **built.kwargs)
    return outputs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a configuration and weights, as `save_pretrained` writes it."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(1)
    BertForSequenceClassification(BertConfig(**TEXT, num_labels=5)).save_pretrained(tmp_path / "bert")
    return tmp_path / "bert"


def test_a_folder_gives_its_architecture_with_random_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    built = workloads.build(_case(str(folder), seq_len=SEQ_LEN))
    assert type(built.module).__name__ == "BertForSequenceClassification"
    assert _run(built)["logits"].shape == (2, 5)  # type: ignore[attr-defined]


def test_the_file_of_a_configuration_is_enough(folder: Path) -> None:
    built = workloads.build(_case(str(folder / "config.json"), seq_len=SEQ_LEN))
    assert type(built.module).__name__ == "BertForSequenceClassification"


def test_pretrained_loads_the_weights_of_the_folder(folder: Path) -> None:
    from transformers import BertForSequenceClassification

    saved = BertForSequenceClassification.from_pretrained(folder).state_dict()
    loaded = workloads.build(_case(str(folder), {"pretrained": True})).module.state_dict()
    drawn = workloads.build(_case(str(folder))).module.state_dict()
    assert all(torch.equal(value, loaded[name]) for name, value in saved.items())
    assert not torch.equal(saved["classifier.weight"], drawn["classifier.weight"])


def test_untrained_weights_hide_no_branch_and_are_the_same_on_every_call() -> None:
    first, second = (workloads.build(_case("bert", TEXT)).module for _ in range(2))
    assert all(torch.equal(value, second.state_dict()[name]) for name, value in first.state_dict().items())
    assert not [name for name, value in first.named_parameters() if (value == value.flatten()[0]).all()]


def test_text_is_of_the_size_asked_for_and_inside_the_vocabulary() -> None:
    built = workloads.build(_case("bert", {**TEXT, "pad_token_id": 3}, seq_len=77))
    ids = built.kwargs["input_ids"]
    assert ids.shape == (2, 77)
    assert ids.max() < 100
    assert 3 not in ids  # a padding token in the middle would move the positions of RoBERTa and its like
    assert bool((built.kwargs["attention_mask"] == 1).all())
    assert built.tokens == 77


def test_a_text_that_may_end_in_one_of_several_tokens_has_none_of_them(tmp_path: Path) -> None:
    """Models that chat are published with a list of them."""
    from transformers import LlamaConfig

    ends = list(range(10, 90))
    LlamaConfig(**TEXT, eos_token_id=ends).save_pretrained(tmp_path / "llama")
    for step in ("prefill", "decode"):
        ids = workloads.build(_case(str(tmp_path / "llama"), {"step": step}, seq_len=SEQ_LEN)).kwargs["input_ids"]
        assert not {*ids.flatten().tolist()} & {*ends}


def test_images_have_the_size_of_the_configuration_or_that_of_the_case() -> None:
    assert workloads.build(_case("vit", VIT)).kwargs["pixel_values"].shape == (2, 3, 32, 32)
    small: dict[str, Scalar] = {"embedding_size": 8}
    assert workloads.build(_case("resnet", small, image=48)).kwargs["pixel_values"].shape == (2, 3, 48, 48)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("gpt2", GPT2), ("mistral", WINDOW), ("mamba", MAMBA), ("t5", T5)],
    ids=["keys and values", "sliding window", "recurrent state", "encoder and decoder"],
)
def test_a_decode_step_gives_what_a_longer_prompt_gives(name: str, arguments: dict[str, Scalar]) -> None:
    prefill = workloads.build(_case(name, {**arguments, "step": "prefill"}, seq_len=SEQ_LEN))
    decode = workloads.build(_case(name, {**arguments, "step": "decode"}, seq_len=SEQ_LEN))
    assert (prefill.step, decode.step, decode.tokens) == ("prefill", "decode", 1)
    model = prefill.module.get_submodule("model")
    text = "decoder_input_ids" if "decoder_input_ids" in prefill.kwargs else "input_ids"
    given = {key: value for key, value in prefill.kwargs.items() if key != text and key != "attention_mask"}
    longer = torch.cat([prefill.kwargs[text], decode.kwargs[text]], dim=1)
    with torch.no_grad():
        expected = model(**given, **{text: longer}, use_cache=False).logits[:, -1]
    assert torch.allclose(_run(decode)["logits"][:, -1], expected, atol=1e-5)  # type: ignore[index]


@pytest.mark.parametrize(("name", "arguments"), [("gpt2", GPT2), ("mamba", MAMBA)])
def test_a_decode_step_leaves_its_cache_alone(name: str, arguments: dict[str, Scalar]) -> None:
    built = workloads.build(_case(name, {**arguments, "step": "decode"}, seq_len=SEQ_LEN))
    before = {path: (tensor, tensor.clone()) for path, tensor in built.kwargs["cache"].items()}
    outputs = _run(built)
    assert before
    assert all(torch.equal(tensor, copy) for tensor, copy in before.values())
    assert outputs["cache"].keys() == before.keys()  # type: ignore[attr-defined]


def test_models_of_text_generate_and_others_do_not() -> None:
    assert workloads.build(_case("gpt2", GPT2)).step == "prefill"
    plain = workloads.build(_case("gpt2", {**GPT2, "step": "forward"}, seq_len=SEQ_LEN))
    assert (plain.step, plain.tokens) == ("", SEQ_LEN)
    assert _run(plain)["logits"].shape == (2, SEQ_LEN, 100)  # type: ignore[attr-defined]
    assert workloads.build(_case("bert", TEXT)).step == ""


def test_records_know_the_tokens_and_the_step() -> None:
    model = count(workloads.build(_case("gpt2", {**GPT2, "step": "decode"}, seq_len=SEQ_LEN)), 2)
    assert (model.tokens, model.step) == (1, "decode")


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (_case("bertt"), r"unknown transformers model 'bertt'\. Nearest: .*\bbert\b.*hf:owner/name"),
        (
            _case("bert", {**TEXT, "hiden_size": 3}),
            "unknown model argument of hf:bert 'hiden_size'. Did you mean 'hidd",
        ),
        (_case("bert", {**TEXT, "architecture": "BertForEverything"}), "unknown class of transformers for hf:bert"),
        (_case("bert", {"hidden_size": 63}), r"transformers does not make BertForMaskedLM of bert: .*63"),
        (_case("bert", {**TEXT, "step": "decode"}), "step=decode: BertForMaskedLM does not generate text"),
        (_case("gpt2", {"step": "encode"}), "unknown step of hf:gpt2 'encode'. Did you mean 'decode'"),
        (_case("bert", TEXT, seq_len=600), "seq_len=600: BertForMaskedLM has 512 positions"),
        (_case("bert", TEXT, sequence=32), "unknown size of hf:bert 'sequence'. Did you mean 'seq_len'"),
        (
            _case("vit", VIT, seq_len=7),
            "size seq_len=7: ViTForImageClassification takes nothing of that size. Leave it",
        ),
        (_case("bert", TEXT, image=32), "size image=32: BertForMaskedLM takes nothing of that size. Leave it out"),
        (_case("whisper", WHISPER, seq_len=7), "size seq_len=7: WhisperForCondi.* takes nothing of that size"),
        (_case("whisper", {**WHISPER, "step": "decode"}, seq_len=7), "size seq_len=7: WhisperForConditionalGen"),
        (_case("./missing"), r"unknown transformers model '\./missing'"),
    ],
    ids=[
        "type",
        "field",
        "class",
        "impossible",
        "no text",
        "step",
        "too long",
        "size",
        "no text to size",
        "no image",
        "sound",
        "after sound",
        "folder",
    ],
)
def test_what_cannot_be_built_says_what_can(case: Case, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        workloads.build(case)


@pytest.mark.parametrize(
    ("name", "arguments", "most", "why"),
    [
        ("gpt2", {**GPT2, "n_positions": 8, "step": "prefill"}, 8, "8 positions by its configuration"),
        ("gpt2", {**GPT2, "n_positions": 8, "step": "decode"}, 7, "8 positions.*, and the token that is decoded needs"),
        ("opt", {**OPT, "step": "decode"}, 7, "8 positions.*, and the token that is decoded needs one"),
        ("bart", {**BART, "step": "decode"}, 8, "8 positions by its configuration"),
        ("roberta", {**TEXT, "max_position_embeddings": 10}, 8, "10 positions.*, of which 2 are for padding"),
    ],
)
def test_the_longest_text_that_a_message_allows_runs(
    name: str, arguments: dict[str, Scalar], most: int, why: str
) -> None:
    assert _run(workloads.build(_case(name, arguments)))
    assert _run(workloads.build(_case(name, arguments, seq_len=most)))
    with pytest.raises(UsageError, match=rf"^seq_len={most + 1}: \w+ has {why}.*\. Give seq_len={most} at most\.$"):
        workloads.build(_case(name, arguments, seq_len=most + 1))


def test_a_model_that_computes_its_positions_decodes_after_as_many_as_its_configuration_has() -> None:
    arguments: dict[str, Scalar] = {**TEXT, "max_position_embeddings": 8, "step": "decode"}
    assert _run(workloads.build(_case("llama", arguments, seq_len=8)))


def test_a_folder_without_a_configuration_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no config\.json"):
        workloads.build(_case(str(tmp_path)))


def test_inputs_that_are_unknown_name_a_way_out() -> None:
    tiny: dict[str, Scalar] = {"d_model": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "context_length": 32}
    with pytest.raises(Unsupported, match=r"takes 'past_values'.*package\.module:function"):
        workloads.build(_case("patchtst", tiny))


def test_without_transformers_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(Unsupported, match=r'pip install "pytest-ngraph\[hf\]"'):
        workloads.build(_case("bert"))
