"""Models that some or all compilers cannot compile."""

from __future__ import annotations

import torch


@torch.library.custom_op("ngraph_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Twice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = twice(self.linear(x))
        return result


class Branching(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum().item() > 0 else x - 1


def build(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a model with an operator that only this module registers."""
    return Twice(), torch.ones(batch_size, 4)


def branching(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a model whose control flow depends on its input, which `torch.export` refuses."""
    return Branching(), torch.ones(batch_size, 4)


class Unscriptable(torch.nn.Module):
    def forward(self, batch):  # type: ignore[no-untyped-def]  # scripting takes what has no type for a tensor
        x = batch["x"]
        return {"y": x * 2 if x.sum().item() > 0 else x}


class Detector(torch.nn.Module):
    """Returns what is above a threshold, as detectors do."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, images: list[torch.Tensor]) -> list[dict[str, torch.Tensor]]:
        found: list[dict[str, torch.Tensor]] = []
        for image in images:
            scores = self.linear(image)[:, 0]
            kept = torch.nonzero(scores > scores.mean()).flatten()
            if kept.numel() > 8:
                kept = kept[:8]
            found.append({"boxes": image[kept], "scores": scores[kept]})
        return found


class Heads(torch.nn.Module):
    """Scripts, for a tensor: its argument has no type."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)

    def forward(self, feats):  # type: ignore[no-untyped-def]
        return self.a(feats[0]), self.b(feats[1])


class Flagged(torch.nn.Module):
    """Scripts, for a tensor as its flag."""

    def forward(self, x, flag):  # type: ignore[no-untyped-def]
        return x * 2 if flag else x


class Counting(torch.nn.Module):
    """Scripts, and also returns how often it was called before."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        before: torch.Tensor = self.calls.clone()  # type: ignore[operator]
        self.calls.add_(1)  # type: ignore[operator]
        return x * 2, before


def heads(batch_size: int) -> tuple[torch.nn.Module, tuple[list[torch.Tensor]]]:
    return Heads(), ([torch.rand(batch_size, 4), torch.rand(batch_size, 4)],)


def flagged(batch_size: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, bool]]:
    return Flagged(), (torch.rand(batch_size, 4), True)


def counting(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    return Counting(), torch.rand(batch_size, 4)


def unscriptable() -> tuple[torch.nn.Module, tuple[dict[str, torch.Tensor]]]:
    return Unscriptable(), ({"x": torch.ones(1, 4)},)


def detector(batch_size: int) -> tuple[torch.nn.Module, tuple[list[torch.Tensor]]]:
    return Detector(), ([torch.rand(9, 4) for _ in range(batch_size)],)


def trained() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a model that was trained a little, with a branch that depends on its input."""
    network = torch.nn.Sequential(torch.nn.Linear(4, 4), Branching())
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    for _ in range(2):
        optimizer.zero_grad()
        network(torch.ones(2, 4)).pow(2).mean().backward()
        optimizer.step()
    return network, torch.ones(1, 4)
