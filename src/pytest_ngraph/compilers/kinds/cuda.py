"""NVIDIA's GPUs, through PyTorch's CUDA."""

from __future__ import annotations

import gc
import sys

from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.compilers import cuda
from pytest_ngraph.compilers.kinds.kind import DeviceKind
from pytest_ngraph.errors import NgraphError


class Cuda(DeviceKind):
    """NVIDIA's GPUs. Which there are is asked of CUDA's driver (`machine.gpus`), as their capability is."""

    torch = "cuda"
    visible = "CUDA_VISIBLE_DEVICES"

    def set_up(self, index: int) -> None:
        cuda.use_full_fp32()
        cuda.autotune()
        cuda.own_stream()

    def wait(self) -> None:
        cuda.own_stream().synchronize()

    def stopwatch(self) -> Stopwatch:
        return cuda.CudaStopwatch(cuda.own_stream())

    def memory(self) -> tuple[int, int]:
        import torch

        if not torch.cuda.is_available():
            raise NgraphError(
                "PyTorch finds no CUDA device. Check nvidia-smi, and whether this PyTorch is built for CUDA."
            )
        return torch.cuda.mem_get_info()

    def give_back(self) -> None:
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            gc.collect()
            torch.cuda.empty_cache()

    def facts(self) -> dict[str, str]:
        return cuda.choices()


KIND = Cuda()
