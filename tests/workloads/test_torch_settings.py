"""What a user's code sets in PyTorch holds for its own workload, and for no other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from pytest_ngraph import workloads
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.worker.worker import Worker
from pytest_ngraph.workloads import torch_settings
from pytest_ngraph.workloads.export import export

FUNCTION = """
import torch
from torch import nn

SEEN = []

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        SEEN.append((torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()))
        return self.linear(x)

KEPT = Net()

def sets():
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("cpu")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("medium")
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.enable_flash_sdp(False)
    torch.backends.mha.set_fastpath_enabled(False)
    return KEPT, torch.ones(1, 4)

def newer():
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    return nn.Linear(4, 4), torch.ones(1, 4)

def sets_and_raises():
    torch.set_default_dtype(torch.float64)
    raise ValueError

def plain():
    return nn.Linear(4, 4), torch.ones(1, 4)
"""
MODULE = """
import torch
from torch import nn

torch.set_default_dtype(torch.float64)

def first():
    return nn.Linear(4, 4), torch.ones(1, 4)

def second():
    second.built_in = torch.ones(1).dtype
    return nn.Linear(4, 4), torch.ones(1, 4)
"""


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "setting_nets.py").write_text(FUNCTION)
    (tmp_path / "set_nets.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("setting_nets", "set_nets"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with torch_settings.restored():
        yield


def _case(function: str) -> Case:
    return Case(workload=function if ":" in function else f"setting_nets:{function}", compiler="identity", batch_size=1)


def _folder(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).mkdir()
    return tmp_path / name


NEWER = pytest.mark.skipif(not hasattr(torch.backends, "fp32_precision"), reason="this PyTorch has no fp32_precision")


@pytest.mark.parametrize("function", ["sets", pytest.param("newer", marks=NEWER)])
def test_nothing_is_left_by_an_export(function: str, tmp_path: Path) -> None:
    before = torch_settings._read()
    export(_case(function), _folder(tmp_path, "first"))
    assert torch_settings._read() == before
    assert export(_case("plain"), _folder(tmp_path, "second")).precisions == ()


def test_what_was_set_holds_while_the_workload_is_exported(tmp_path: Path) -> None:
    export(_case("sets"), _folder(tmp_path, "first"))
    from setting_nets import SEEN  # type: ignore[import-not-found]

    assert (torch.float64, True) in SEEN


def test_what_was_set_stands_after_building_until_the_next_workload() -> None:
    before = torch_settings._read()
    workloads.build(_case("sets"))
    assert torch.get_default_dtype() is torch.float64
    assert next(workloads.build(_case("plain")).module.parameters()).requires_grad
    assert torch_settings._read() == before


def test_an_export_starts_without_what_a_built_workload_has_set(tmp_path: Path) -> None:
    before = torch_settings._read()
    workloads.build(_case("sets"))
    export(_case("plain"), _folder(tmp_path, "first"))
    assert torch_settings._read() == before


def test_a_function_that_fails_leaves_nothing(tmp_path: Path) -> None:
    before = torch_settings._read()
    with pytest.raises(UsageError, match="raises ValueError"):
        export(_case("sets_and_raises"), _folder(tmp_path, "first"))
    assert torch_settings._read() == before
    with pytest.raises(UsageError, match="raises ValueError"):
        workloads.build(_case("sets_and_raises"))
    torch_settings.undo()
    assert torch_settings._read() == before


def test_what_a_module_sets_at_import_holds_for_each_of_its_workloads(tmp_path: Path) -> None:
    export(_case("set_nets:first"), _folder(tmp_path, "first"))
    assert torch.get_default_dtype() is torch.float32
    export(_case("set_nets:second"), _folder(tmp_path, "second"))
    from set_nets import second  # type: ignore[import-not-found]

    assert second.built_in is torch.float64
    assert torch.get_default_dtype() is torch.float32


def test_what_was_set_again_since_is_not_taken_back() -> None:
    workloads.build(_case("sets"))
    torch.set_default_dtype(torch.bfloat16)
    torch_settings.undo()
    assert torch.get_default_dtype() is torch.bfloat16
    assert torch.is_grad_enabled()


def test_a_worker_keeps_no_settings_of_what_it_has_measured() -> None:
    before = torch_settings._read()
    worker = Worker(lambda phase: None)
    workloads.build(_case("sets"))
    assert torch_settings._read() != before
    worker.close()
    assert torch_settings._read() == before
