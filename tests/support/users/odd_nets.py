"""Modules that are hard to export, or that cannot be compared."""

import numpy as np
import torch
from nets_with_state import Cached, Counting, InPlace, Sampled, Stateful
from torch import nn


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x) if x.sum() > 0 else -x


class Nested(nn.Module):
    def forward(self, x, y):
        return {"sum": x + y, "parts": [x, y]}


class Own:
    def __init__(self, x):
        self.x = x


class ReturnsItsOwn(nn.Module):
    def forward(self, x):
        return Own(x)


class Layers(nn.Module):
    """Returns its last layer's values twice."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        first = self.linear(x).tanh()
        last = self.linear(first).tanh()
        return {"last": last, "all": [first, last]}


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4).half()

    def forward(self, x):
        return self.last(self.first(x).half()).float()


class OnlyEager(nn.Module):
    def forward(self, x):
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            raise RuntimeError("only in eager mode")
        return x + 1


def only_eager():
    return OnlyEager(), torch.ones(2, 3)


def cached():
    return Cached(), torch.ones(1, 4)


class Started(nn.Module):
    # adds a branch that is scaled by 0, and has a parameter that it does not use

    def __init__(self):
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(4))
        self.layers = nn.ModuleDict({"branch": nn.Linear(4, 4)})
        self.scale = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        return {"sum": x + self.scale * self.layers["branch"](x)} if x.shape[1] == 4 else x


class Undecided(Started):
    def forward(self, x):
        return super().forward(x)["sum"] if x.sum() > 0 else x


class Overflows(nn.Module):
    def forward(self, x):
        return x, (x - torch.inf).softmax(dim=-1)


def started():
    return Started(), torch.ones(1, 4)


def undecided():
    return Undecided(), torch.ones(1, 4)


def overflows():
    return Overflows(), torch.ones(1, 4)


class Positive(nn.Module):
    def forward(self, x):
        return x[x > 0]


def positive():
    return Positive(), torch.ones(1, 4)


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.places, self.words = nn.Embedding(100, 4), nn.Embedding(10, 4)

    def forward(self, ids):
        return self.words(ids["text"]) + self.places(ids["places"])


def words(last):
    return Words(), ({"places": torch.tensor([[50, 99]]), "text": torch.tensor([[3, last]])},)


def unknown_ids():
    return words(10)


def negative_ids():
    return words(-1)


def own():
    return ReturnsItsOwn(), torch.ones(1, 4)


def in_place():
    return InPlace(), torch.ones(1, 4)


def stateful():
    return Stateful(), torch.ones(1, 4)


def compiled():
    return torch.compile(nn.Linear(4, 4)), torch.ones(1, 4)


def scripted(weight=1.0):
    return _scripted(weight), torch.ones(1, 4)


def frozen(weight=1.0):
    return torch.jit.freeze(_scripted(weight)), torch.ones(1, 4)


def traced(weight=1.0):
    return torch.jit.trace(_scripted(weight), torch.ones(1, 4)), torch.ones(1, 4)


def _scripted(weight):
    linear = nn.Linear(4, 4)
    nn.init.constant_(linear.weight, weight)
    return torch.jit.script(nn.Sequential(linear, nn.Dropout(), nn.ReLU()).eval())


def scalar():
    return Nested(), (torch.ones(1, 4), torch.tensor(2.0))


KEPT = nn.Linear(4, 4)


def scaled(factor):
    linear = nn.Linear(4, 4)
    with torch.no_grad():
        linear.weight *= factor
    return linear, torch.ones(1, 4)


def laid_out(batch_size, layout):
    """The same values in memory in another order, in which convolutions take another time."""
    module = torch.nn.Conv2d(2, 3, 3)
    torch.nn.init.constant_(module.weight, 0.5)
    return module.to(memory_format=getattr(torch, layout)), torch.ones(batch_size, 2, 8, 8)


def sampled():
    return Sampled(returns_mean=True), torch.ones(1, 4)


def only_sampled():
    return Sampled(returns_mean=False), torch.ones(1, 4)


def branches():
    return Branches(), torch.ones(1, 4)


def nested():
    return Nested(), (torch.ones(1, 4), torch.tensor([[2], [3]]))


def on_random_inputs(scale):
    return nn.Linear(4, 3), scale * torch.randn(2, 4)


def kept():
    return KEPT, torch.ones(1, 4)


def counting():
    return Counting(returns_both=True), torch.ones(1, 4)


def only_counting():
    return Counting(returns_both=False), torch.ones(1, 4)


def layers():
    return Layers(), torch.ones(1, 4)


def halves():
    return Halves(), torch.ones(1, 4)


def of_graph():
    return nn.Bilinear(4, 4, 2), (torch.ones(1, 4), torch.ones(1, 3))


def lazy():
    return nn.LazyLinear(3), torch.ones(1, 4)


class FirstState(nn.Module):
    """Begins with zeros, as recurrent networks do."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        return self.cell(x, torch.zeros(len(x), 4))


def first_state():
    return FirstState(), torch.randn(1, 4)


class Clipped(nn.Module):
    """Computes in NumPy in between."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(torch.from_numpy(np.clip(x.numpy(), 0, 1)))


def clipped():
    return Clipped(), torch.randn(1, 4)


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layers(x).float()


def autocast():
    return Autocast(), torch.randn(1, 64)


class Limited(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4, bias=False)
        self.register_buffer("low", torch.tensor(-0.5))
        self.register_buffer("high", torch.tensor(0.5))

    def forward(self, x):
        return self.linear(x).clamp(self.low, self.high)


def limited():
    return Limited(), torch.randn(1, 4)


def between_integers():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.Hardtanh(0, 20)), torch.randn(1, 1, 8, 8)
