"""Modules whose tensors are of unusual kinds: made in inference mode, or only marked as conjugates, or sparse."""

from __future__ import annotations

import torch
from torch import nn


class Spectrum(nn.Module):
    """Returns a spectrum in a form that PyTorch computes only where it is read."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form = form

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        conjugate: torch.Tensor = torch.fft.rfft(x).conj()
        forms: dict[str, torch.Tensor] = {"conjugate": conjugate, "imaginary": conjugate.imag, "sparse": x.to_sparse()}
        return forms[self.form]


def spectrum(form: str) -> tuple[nn.Module, torch.Tensor]:
    return Spectrum(form), torch.rand(1, 8)


def in_inference_mode(batch_size: int) -> tuple[nn.Module, torch.Tensor]:
    with torch.inference_mode():
        return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval(), torch.rand(batch_size, 4)


class Rows(nn.Module):
    """Joins the rows, wherever they lie in memory."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.contiguous().view(-1)


def rows(batch_size: int) -> tuple[nn.Module, torch.Tensor]:
    return Rows(), torch.rand(batch_size, 4)


class LearnedConjugate(nn.Module):
    """Returns a conjugate, the imaginary part of one, and a learned parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        conjugate = torch.fft.rfft(x.float()).conj()
        return conjugate, conjugate.imag, self.scale


def learned_conjugate(batch_size: int) -> tuple[nn.Module, torch.Tensor]:
    return LearnedConjugate(), torch.rand(batch_size, 8)


class Started(nn.Module):
    """Starts from a hidden state of zeros, one row for each sample."""

    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.rand(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (self.start + torch.zeros(x.shape[0], 4))


def started(batch_size: int) -> tuple[nn.Module, torch.Tensor]:
    return Started(), torch.rand(batch_size, 4)
