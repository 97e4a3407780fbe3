"""Modules whose types and mode must be left as they are."""

from __future__ import annotations

import torch

from pytest_ngraph import Built

SIZE = 64


class Mixed(torch.nn.Module):
    """Computes its first layer in bf16 and its last in fp32."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(SIZE, SIZE, dtype=torch.bfloat16)
        self.last = torch.nn.Linear(SIZE, SIZE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.first(x)
        result: torch.Tensor = self.last(hidden.relu().float())
        return result


def mixed() -> Built:
    return Built(Mixed(), (torch.rand(1, SIZE, dtype=torch.bfloat16),), as_is=True)


def convolution_in_bf16() -> Built:
    """ONNX's Conv takes no bf16."""
    network = torch.nn.Sequential(torch.nn.Conv1d(4, 8, 3), torch.nn.ReLU()).bfloat16().eval()
    return Built(network, (torch.rand(1, 4, SIZE, dtype=torch.bfloat16),), as_is=True)


def in_training() -> Built:
    """Normalizes by its batch, with statistics of its own that are far from the batch's."""
    normalization = torch.nn.BatchNorm1d(SIZE)
    normalization.running_mean = torch.full((SIZE,), 5.0)
    return Built(torch.nn.Sequential(torch.nn.Linear(SIZE, SIZE), normalization), (torch.rand(2, SIZE),), as_is=True)


def dynamically_quantized() -> Built:
    network = torch.nn.Sequential(torch.nn.Linear(SIZE, SIZE), torch.nn.ReLU(), torch.nn.Linear(SIZE, SIZE)).eval()
    quantize = torch.ao.quantization.quantize_dynamic
    quantized = quantize(network, {torch.nn.Linear}, dtype=torch.qint8)  # type: ignore[no-untyped-call]
    return Built(quantized, (torch.rand(1, SIZE),), as_is=True)


class FakeQuantized(torch.nn.Module):
    """Rounds what its layer computes to eight bits, and keeps it in fp32."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(SIZE, SIZE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rounded: torch.Tensor = torch.fake_quantize_per_tensor_affine(self.linear(x), 0.1, 0, -128, 127)
        return rounded


def fake_quantized() -> tuple[torch.nn.Module, torch.Tensor]:
    return FakeQuantized(), torch.rand(1, SIZE)


def prepared_for_training() -> tuple[torch.nn.Module, torch.Tensor]:
    """Returns a module as it is while it is trained for eight bits."""
    network = torch.nn.Sequential(torch.nn.Linear(SIZE, SIZE), torch.nn.ReLU())
    network.qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")  # type: ignore[no-untyped-call]
    prepared: torch.nn.Module = torch.ao.quantization.prepare_qat(network.train())  # type: ignore[no-untyped-call]
    prepared(torch.rand(8, SIZE))
    prepared.apply(torch.ao.quantization.disable_observer)
    return prepared, torch.rand(1, SIZE)


def of_torchao() -> Built:
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    network = torch.nn.Sequential(torch.nn.Linear(SIZE, SIZE), torch.nn.ReLU(), torch.nn.Linear(SIZE, SIZE)).eval()
    quantize_(network, Int8WeightOnlyConfig())
    return Built(network, (torch.rand(1, SIZE),), as_is=True)


class Seconds(torch.nn.Module):
    """Computes with times of which fp32 has only every 128th."""

    def forward(self, time: torch.Tensor) -> torch.Tensor:
        return time - 1.7e9


def since_1970() -> Built:
    return Built(Seconds(), (torch.tensor([[1.7e9 + 3]], dtype=torch.float64),), as_is=True)


class Exported(torch.nn.Module):
    """Refuses to be put into another mode, as modules of exported programs do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def train(self, mode: bool = True) -> Exported:
        raise NotImplementedError("Calling train() or eval() is not supported for exported models.")


def exported() -> tuple[torch.nn.Module, torch.Tensor]:
    return Exported(), torch.ones(1, 4)
