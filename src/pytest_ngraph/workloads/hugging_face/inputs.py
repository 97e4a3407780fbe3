"""The inputs that a model's `forward` takes, drawn as its configuration describes them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.workloads import SEED
from pytest_ngraph.workloads.seeding import normal

if TYPE_CHECKING:
    import torch

SEQ_LEN = 128
IMAGE = 224
SECONDS = 1.0
SAMPLING_RATE = 16_000
SPECIAL = ("pad", "bos", "eos", "sep", "cls", "mask", "unk", "decoder_start", "image", "video", "audio")
"""Tokens that no text has inside: masks and pooled outputs depend on where they are."""


def parameters(module: torch.nn.Module) -> dict[str, inspect.Parameter]:
    """Return the parameters of the model's `forward`, by name."""
    return dict(inspect.signature(type(module).forward).parameters)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws a model's inputs.

    Attributes:
        module: a model of transformers.
        batch_size: samples.
        sizes: sizes of the case by name: `seq_len` (tokens), `image` (height and width).
        decodes: whether a token follows the text.
        used: the names of the sizes that inputs were drawn by.
    """

    module: Any
    batch_size: int
    sizes: Mapping[str, int]
    decodes: bool = False
    used: set[str] = field(default_factory=set)

    def asked(self, size: str) -> int | None:
        """Return a size of the case, if it has it, and note that an input is drawn by it."""
        self.used.add(size)
        return self.sizes.get(size)

    @property
    def seq_len(self) -> int:
        """Tokens of the text: the case's size, or `SEQ_LEN` where the model has as many positions and one more."""
        text = self.module.config.get_text_config()
        named = (getattr(text, name, None) for name in POSITIONS)
        positions = next((count for count in named if isinstance(count, int) and count > 0), None)
        asked = self.asked("seq_len")
        if positions is None:
            return SEQ_LEN if asked is None else asked
        table = _learned_positions(self.module, positions)
        unused = 0 if table is None or table.padding_idx is None else table.padding_idx + 1
        if asked is None:
            return min(SEQ_LEN, positions - unused - 1)
        further = int(self.decodes and table is not None and not self.module.config.is_encoder_decoder)
        if asked > (most := positions - unused - further):
            no_token = f", of which {unused} are for padding" if unused else ""
            follows = ", and the token that is decoded needs one" if further else ""
            raise UsageError(
                f"seq_len={asked}: {type(self.module).__name__} has {positions} positions by its configuration"
                f"{no_token}{follows}. Give seq_len={most} at most."
            )
        return asked

    def inputs(self) -> dict[str, torch.Tensor]:
        """Return the inputs by name: those that the model needs, in the order of its `forward`.

        Raises:
            Unsupported: it needs an input that is not known here.
        """
        found = {}
        for name, parameter in parameters(self.module).items():
            if name == "self" or parameter.kind is parameter.VAR_KEYWORD:
                continue
            if name in DRAWN and self._wants(name):
                found[name] = DRAWN[name](self)
            elif parameter.default is parameter.empty:
                raise Unsupported(
                    f"{type(self.module).__name__} takes {name!r}, for which the family hf: knows no inputs. Write a "
                    f"function that returns the model and its inputs: workload='package.module:function'."
                )
        return found

    def _wants(self, name: str) -> bool:
        main = self.module.main_input_name
        if name == main:
            return True
        if name == "attention_mask":
            return bool(main == "input_ids")
        if name == "pixel_values":  # a model of text and images; one that generates text also runs on text alone
            return bool(main == "input_ids" and not self.module.can_generate())
        if name == "decoder_input_ids":
            return bool(self.module.config.is_encoder_decoder) or main == "pixel_values"
        return False

    def tokens(self, length: int, config: Any) -> torch.Tensor:
        """Return token ids below the vocabulary, without the special ones."""
        import torch

        named = (getattr(config, f"{kind}_token_id", None) for kind in SPECIAL)
        special = {token for each in named for token in (each if isinstance(each, list) else [each])}
        usual = torch.tensor([token for token in range(config.vocab_size) if token not in special])
        generator = torch.Generator().manual_seed(SEED)
        return usual[torch.randint(len(usual), (self.batch_size, length), generator=generator)]

    def first_token(self) -> torch.Tensor:
        """Return the token with which a decoder begins."""
        import torch

        config = self.module.config.get_text_config(decoder=True)
        named = (getattr(config, name, None) for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id"))
        token = next((t for t in named if isinstance(t, int) and 0 <= t < config.vocab_size), 0)
        return torch.full((self.batch_size, 1), token)


POSITIONS = ("max_position_embeddings", "n_positions", "max_source_positions", "seq_length")
OF_POSITIONS = ("pos", "wpe")
"""Parts of the names of tables of positions."""


def _learned_positions(module: torch.nn.Module, positions: int) -> torch.nn.Embedding | None:
    """Return the table of so many learned positions; None where they are computed.

    Where it has a `padding_idx`, the text begins after it. An `offset` counts rows that come on top of the positions.
    """
    import torch

    named = (part for name, part in module.named_modules() if any(each in name for each in OF_POSITIONS))
    tables = (part for part in named if isinstance(part, torch.nn.Embedding))
    return next((each for each in tables if each.num_embeddings - getattr(each, "offset", 0) == positions), None)


def _input_ids(drawing: Drawing) -> torch.Tensor:
    return drawing.tokens(drawing.seq_len, drawing.module.config.get_text_config())


def _attention_mask(drawing: Drawing) -> torch.Tensor:
    import torch

    return torch.ones(drawing.batch_size, drawing.seq_len, dtype=torch.int64)


def _decoder_input_ids(drawing: Drawing) -> torch.Tensor:
    return drawing.first_token()


def _pixel_values(drawing: Drawing) -> torch.Tensor:
    """Return images, or videos of a model that has frames. An image's size may be a number or a pair."""
    config = getattr(drawing.module.config, "vision_config", None) or drawing.module.config
    config = getattr(config, "encoder", None) or config
    size = getattr(config, "image_size", None) or IMAGE
    size = (size["height"], size["width"]) if isinstance(size, dict) else size
    height, width = (size, size) if isinstance(size, int) else size[-2:]
    asked = drawing.asked("image")
    height, width = (asked, asked) if asked else (height, width)
    frames = getattr(config, "num_frames", None)
    channels = getattr(config, "num_channels", 3)
    return normal(drawing.batch_size, *([frames] if frames else []), channels, height, width)


def _input_features(drawing: Drawing) -> torch.Tensor:
    """Return spectrograms: (mel bins, frames) for Whisper, (frames, features) for the other models of speech."""
    config = drawing.module.config
    if hasattr(config, "max_source_positions") and hasattr(config, "num_mel_bins"):  # its convolutions halve the time
        return normal(drawing.batch_size, config.num_mel_bins, 2 * config.max_source_positions)
    features = next(
        (getattr(config, n) for n in ("input_feat_per_channel", "feature_projection_input_dim") if hasattr(config, n)),
        80,
    )
    return normal(drawing.batch_size, drawing.seq_len, features)


def _input_values(drawing: Drawing) -> torch.Tensor:
    """Return a second of sound, or the spectrogram of a model that takes one."""
    config = drawing.module.config
    if hasattr(config, "num_mel_bins") and hasattr(config, "max_length"):
        return normal(drawing.batch_size, config.max_length, config.num_mel_bins)
    samples = int(SECONDS * getattr(config, "sampling_rate", SAMPLING_RATE))
    channels = getattr(config, "audio_channels", None)
    return normal(drawing.batch_size, *([channels] if channels else []), samples)


DRAWN = {
    "input_ids": _input_ids,
    "attention_mask": _attention_mask,
    "decoder_input_ids": _decoder_input_ids,
    "pixel_values": _pixel_values,
    "input_features": _input_features,
    "input_values": _input_values,
}
"""Functions that draw an input, by its name in `forward`."""
