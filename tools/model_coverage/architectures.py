"""Architectures of transformers at tiny sizes: the fields of the configuration, and the sizes of the inputs."""

from __future__ import annotations

from typing import Any

TEXT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 1000,
}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
"""Special tokens inside the small vocabulary, for types whose own lie outside."""
GROUPED = {**TEXT, "num_key_value_heads": 2, "head_dim": 16}
OLD_GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 1000}
BOTH_STACKS = {
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "vocab_size": 1000,
}
IMAGE = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 64,
    "patch_size": 16,
}
SPEECH = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
}
SHORT = {"seq_len": 32}
SCANNED = {"seq_len": 16}
"""A scan over the sequence is unrolled in the graph."""
SMALL_IMAGE = {"image": 64}

Architecture = tuple[dict[str, Any], dict[str, int]]

ENCODERS: dict[str, Architecture] = {
    "bert": (TEXT, SHORT),
    "roberta": (TEXT, SHORT),
    "xlm-roberta": (TEXT, SHORT),
    "distilbert": ({"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 1000}, SHORT),
    "albert": ({**TEXT, "embedding_size": 32}, SHORT),
    "electra": ({**TEXT, "embedding_size": 32}, SHORT),
    "deberta-v2": ({**TEXT, "relative_attention": True}, SHORT),
    "mpnet": (TEXT, SHORT),
    "squeezebert": ({**TEXT, "embedding_size": 64}, SHORT),
    "modernbert": ({**TEXT, **TOKENS, "cls_token_id": 1, "sep_token_id": 2}, SHORT),
    "nystromformer": ({**TEXT, "num_landmarks": 8, "segment_means_seq_len": 32}, SHORT),
    "convbert": ({**TEXT, "embedding_size": 64}, SHORT),
    "longformer": ({**TEXT, "attention_window": 16}, SHORT),
    "big_bird": ({**TEXT, "attention_type": "original_full"}, SHORT),
}
DECODERS: dict[str, Architecture] = {
    "gpt2": (OLD_GPT, SHORT),
    "gptj": ({**OLD_GPT, "rotary_dim": 8}, SHORT),
    "codegen": ({**OLD_GPT, "rotary_dim": 8}, SHORT),
    "gpt_neox": (TEXT, SHORT),
    "opt": ({**{k: v for k, v in TEXT.items() if k != "intermediate_size"}, "ffn_dim": 128}, SHORT),
    "bloom": ({"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 1000}, SHORT),
    "falcon": ({k: v for k, v in TEXT.items() if k != "intermediate_size"}, SHORT),
    "mpt": ({"d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 1000}, SHORT),
    "llama": (GROUPED, SHORT),
    "mistral": (GROUPED, SHORT),
    "mixtral": ({**GROUPED, "num_local_experts": 4}, SHORT),
    "qwen2": ({**TEXT, "num_key_value_heads": 2}, SHORT),
    "qwen3": (GROUPED, SHORT),
    "qwen3_moe": (
        {**TEXT, "num_key_value_heads": 2, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
        SHORT,
    ),
    "gemma": (GROUPED, SHORT),
    "gemma2": (GROUPED, SHORT),
    "gemma3_text": (GROUPED, SHORT),
    "phi": (TEXT, SHORT),
    "phi3": ({**TEXT, **TOKENS}, SHORT),
    "olmo2": ({**TEXT, **TOKENS}, SHORT),
    "stablelm": ({**TEXT, "num_key_value_heads": 4}, SHORT),
    "starcoder2": ({**TEXT, "num_key_value_heads": 2}, SHORT),
    "granite": ({**TEXT, "num_key_value_heads": 2}, SHORT),
    "cohere": ({**TEXT, **TOKENS, "num_key_value_heads": 2}, SHORT),
    "smollm3": ({**TEXT, **TOKENS, "num_key_value_heads": 2}, SHORT),
    "mamba": ({"hidden_size": 64, "num_hidden_layers": 2, "state_size": 8, "vocab_size": 1000}, SCANNED),
    "t5": ({"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 1000}, SHORT),
    "bart": (BOTH_STACKS, SHORT),
    "pegasus": (BOTH_STACKS, SHORT),
    "m2m_100": (BOTH_STACKS, SHORT),
    "whisper": (
        {**BOTH_STACKS, **TOKENS, "decoder_start_token_id": 1, "max_source_positions": 100, "num_mel_bins": 80},
        {},
    ),
}
"""Models that generate text, those with an encoder included."""
OTHERS: dict[str, Architecture] = {
    "vit": (IMAGE, {}),
    "deit": (IMAGE, {}),
    "beit": (IMAGE, {}),
    "dinov2": ({k: v for k, v in IMAGE.items() if k != "intermediate_size"}, {}),
    "swin": ({"embed_dim": 24}, {}),
    "swinv2": ({"embed_dim": 24, "image_size": 64}, {}),
    "convnext": ({}, SMALL_IMAGE),
    "resnet": ({}, SMALL_IMAGE),
    "regnet": ({}, SMALL_IMAGE),
    "mobilenet_v2": ({}, SMALL_IMAGE),
    "mobilevit": ({}, SMALL_IMAGE),
    "segformer": ({}, SMALL_IMAGE),
    "poolformer": ({}, SMALL_IMAGE),
    "levit": ({}, {}),
    "wav2vec2": (SPEECH, {}),
    "hubert": (SPEECH, {}),
    "wavlm": (SPEECH, {}),
    "audio-spectrogram-transformer": (
        {**{k: v for k, v in IMAGE.items() if k != "image_size"}, "max_length": 128, "num_mel_bins": 32},
        {},
    ),
}

STEPS = ("prefill", "decode")
