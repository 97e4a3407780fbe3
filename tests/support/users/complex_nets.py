"""Modules with complex inputs or outputs."""

import torch
from torch import nn


class Spectrum(nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x)


class OfComplex(nn.Module):
    def forward(self, z):
        return z.abs() * 2, torch.view_as_real(z).sum(-1)


def spectrum():
    return nn.Sequential(nn.Linear(8, 8), Spectrum()), torch.rand(1, 8)


def of_complex():
    return OfComplex(), torch.randn(1, 4, dtype=torch.cfloat)


class Filtered(nn.Module):
    """A product with complex weights in the frequency domain, as Fourier neural operators have it."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(5, dtype=torch.cfloat))

    def forward(self, x):
        return torch.fft.irfft(torch.fft.rfft(x) * self.weights)


def filtered():
    return Filtered(), torch.randn(1, 8)


class Mixed(nn.Module):
    """A product of matrices, which takes no two precisions."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(5, 5, dtype=torch.cdouble))

    def forward(self, z):
        return z @ self.weights


def in_double():
    return Mixed(), torch.randn(1, 5, dtype=torch.cdouble)
