"""Workloads with operators that some compilers lack. Each function takes a batch size, like any user's workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

Workload = tuple[torch.nn.Module, torch.Tensor]
SIZE = 8


class Function(torch.nn.Module):
    """A function of one tensor as a module."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._function(x)


class Encoder(torch.nn.Module):
    """Takes tokens and a mask, as a language model does, and returns nested outputs."""

    def __init__(self) -> None:
        super().__init__()
        self._embedding = torch.nn.Embedding(32, SIZE)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> dict[str, object]:
        hidden = self._embedding(tokens) * mask[..., None]
        return {"hidden": hidden, "cache": None, "pooled": (hidden.mean(1), [hidden.sum(1)])}


def encoder(batch_size: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    tokens = torch.arange(batch_size * SIZE).reshape(batch_size, SIZE) % 32
    return Encoder(), (tokens, (tokens % 3 > 0).float())


class PaddedAttention(torch.nn.Module):
    """Attention in which a Boolean mask leaves out the padded tokens."""

    def __init__(self) -> None:
        super().__init__()
        self._attention = torch.nn.MultiheadAttention(2 * SIZE, 4, batch_first=True)

    def forward(self, x: torch.Tensor, padded: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self._attention(x, x, x, key_padding_mask=padded)[0]
        return outputs


def padded_attention(batch_size: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    return PaddedAttention(), (torch.randn(batch_size, 6, 2 * SIZE), torch.arange(6).repeat(batch_size, 1) > 3)


class BiasedAttention(torch.nn.Module):
    """Attention with a bias that is computed from a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self._bias = torch.nn.Parameter(torch.randn(1, 2, 4, 4))
        self._projection = torch.nn.Linear(SIZE, 3 * SIZE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self._projection(x).reshape(-1, 4, 3, 2, SIZE // 2).permute(2, 0, 3, 1, 4).unbind(0)
        outputs = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=2 * self._bias)
        return outputs.transpose(1, 2).reshape(-1, 4, SIZE)


def biased_attention(batch_size: int) -> Workload:
    return BiasedAttention(), torch.randn(batch_size, 4, SIZE)


class Described(torch.nn.Module):
    """Takes a dict, keyword arguments and constants, leaves one tensor unused, and returns a dataclass."""

    def __init__(self) -> None:
        super().__init__()
        self._linear = torch.nn.Linear(SIZE, SIZE)

    def forward(
        self, batch: dict[str, torch.Tensor | None], *, shift: torch.Tensor, unused: torch.Tensor, mode: str
    ) -> Described.Output:
        assert mode == "linear"
        x, mask = batch["x"], batch["mask"]
        assert x is not None
        hidden = self._linear(x) - shift
        return self.Output(hidden=hidden, mask=mask, scores={"first": hidden[:, 0], "sum": hidden.sum(1) * 2})

    @dataclass
    class Output:
        hidden: torch.Tensor
        mask: torch.Tensor | None
        scores: dict[str, torch.Tensor]


def described() -> tuple[torch.nn.Module, tuple[object, ...], dict[str, object]]:
    ramp = torch.arange(float(SIZE)).reshape(1, SIZE)
    kwargs = {"unused": ramp * 100, "shift": ramp / SIZE, "mode": "linear"}
    return Described(), ({"mask": None, "x": ramp},), kwargs


class Modulated(torch.nn.Module):
    """Scales and shifts a normalization, as the step of a diffusion model does."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.GroupNorm(4, 16)

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.norm(x) * (1 + scale) + scale
        return found


def modulated(batch_size: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    return Modulated(), (torch.randn(batch_size, 16, 8, 8), torch.randn(batch_size, 16, 1, 1))


def inverse(batch_size: int) -> Workload:
    return Function(torch.linalg.inv), torch.eye(SIZE).repeat(batch_size, 1, 1)


def ordered(batch_size: int) -> Workload:
    return Function(lambda x: torch.sort(x).values), torch.arange(float(SIZE)).repeat(batch_size, 1)


def spectrum(batch_size: int) -> Workload:
    return Function(lambda x: torch.fft.rfft(x).abs()), torch.arange(float(SIZE)).repeat(batch_size, 1)


def masked(batch_size: int) -> Workload:
    x = torch.arange(float(SIZE)).repeat(batch_size, 1)
    return Function(lambda x: torch.softmax(x.masked_fill(x > 4, float("-inf")), -1)), x


def recurrent(batch_size: int) -> Workload:
    return torch.nn.GRU(SIZE, SIZE, batch_first=True), torch.ones(batch_size, 3, SIZE)


def routed(batch_size: int) -> Workload:
    """As a mixture of experts does: the largest two stay where they are."""

    def route(x: torch.Tensor) -> torch.Tensor:
        largest, places = x.topk(2)
        return torch.zeros_like(x).scatter(-1, places, largest)

    return Function(route), torch.randn(batch_size, SIZE)
