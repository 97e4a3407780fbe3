"""The two steps in which a model generates text: the prompt at once (prefill), then token by token (decode).

Both take and return the cache as named tensors, so that it is an input and an output of the graph and every compiler
can run the step. Transformers' caches are objects; a step fills a copy of one with the tensors that it gets.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_ngraph.workloads.hugging_face.inputs import Drawing, parameters

if TYPE_CHECKING:
    import torch

STEPS = ("prefill", "decode", "forward")
RECURRENT = "cache_params"
"""The name where the cache is a recurrent state. The next token then has nothing to attend to, and takes no mask."""
CACHE_ARGUMENTS = ("cache", "past_key_values", RECURRENT, "state")
"""How versions of transformers and types of model name the cache in `forward` and in its output."""
ALWAYS_NEW = ("keys", "values")
"""Tensors of a cache that a step replaces. It writes into all others in place, which an input must not suffer."""


def prefill(module: torch.nn.Module) -> torch.nn.Module:
    """Return a module that runs the prompt and returns the last token's logits and the cache.

    Its latency is the time to the first token.
    """
    import torch

    name = _cache_argument(module)
    takes = parameters(module)
    settings: dict[str, Any] = {"use_cache": True, **({"logits_to_keep": 1} if "logits_to_keep" in takes else {})}

    class Prefill(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = module

        def forward(self, **inputs: torch.Tensor) -> dict[str, Any]:
            outputs = self.model(**inputs, **settings)
            return {"logits": outputs.logits, "cache": named_tensors(outputs[name])}

    return Prefill().eval()


def decode(module: Any, drawing: Drawing) -> tuple[torch.nn.Module, dict[str, Any]]:
    """Return a module that runs one token after a prompt, with the cache in and out, and its inputs.

    The cache is the one that the prompt leaves.
    """
    import torch

    name = _cache_argument(module)
    prompt = drawing.inputs()
    with torch.no_grad():
        prompted = module(**prompt, use_cache=True)
    template = prompted[name]
    is_encoder_decoder = "decoder_input_ids" in prompt
    token = "decoder_input_ids" if is_encoder_decoder else "input_ids"

    class Decode(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = module

        def forward(self, cache: dict[str, torch.Tensor], **inputs: Any) -> dict[str, Any]:
            outputs = self.model(**inputs, **{name: _filled(template, cache)}, use_cache=True)
            return {"logits": outputs.logits, "cache": named_tensors(outputs[name])}

    inputs: dict[str, Any] = {token: drawing.tokens(1, module.config.get_text_config(decoder=True))}
    if is_encoder_decoder:
        inputs["encoder_outputs"] = (prompted.encoder_last_hidden_state,)
    elif "attention_mask" in prompt and name != RECURRENT:
        mask = prompt["attention_mask"]
        inputs["attention_mask"] = torch.ones(mask.shape[0], mask.shape[1] + 1, dtype=mask.dtype)
    return Decode().eval(), {**inputs, "cache": named_tensors(template)}


def named_tensors(cache: object) -> dict[str, torch.Tensor]:
    """Return the states in a cache by their path: `layers.0.keys`."""
    found: dict[str, torch.Tensor] = {}

    def note(path: str, tensor: torch.Tensor) -> torch.Tensor:
        found[path] = tensor
        return tensor

    _mapped(cache, note, "")
    return found


def _filled(cache: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """Return a copy of the cache with other states."""

    def take(path: str, _: torch.Tensor) -> torch.Tensor:
        tensor = tensors[path]
        return tensor if path.rpartition(".")[2] in ALWAYS_NEW else tensor.clone()

    return _mapped(cache, take, "")


def _mapped(value: Any, function: Callable[[str, torch.Tensor], torch.Tensor], path: str) -> Any:
    """Return a copy of nested data, with every floating-point tensor replaced by what the function returns for it."""
    import torch

    def below(key: object, part: Any) -> Any:
        return _mapped(part, function, f"{path}.{key}" if path else str(key))

    if isinstance(value, torch.Tensor):
        return function(path, value) if value.is_floating_point() else value
    if isinstance(value, dict):
        return type(value)((key, below(key, part)) for key, part in value.items())
    if isinstance(value, list | tuple):
        return type(value)(below(index, part) for index, part in enumerate(value))
    if _is_cache(value):
        clone = copy.copy(value)
        for key, part in vars(value).items():
            setattr(clone, key, below(key, part))
        return clone
    return value


def _is_cache(value: object) -> bool:
    """Return whether this is a cache of transformers or a part of one."""
    return type(value).__module__.startswith("transformers.") and type(value).__name__.endswith(("Cache", "Layer"))


def _cache_argument(module: torch.nn.Module) -> str:
    takes = parameters(module)
    return next(name for name in CACHE_ARGUMENTS if name in takes)
