"""TorchInductor: `torch.compile` of the exported program."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.compilers import CompiledModel, program, pytorch
from pytest_ngraph.errors import Unsupported

if TYPE_CHECKING:
    import torch

Mode = Literal["default", "max-autotune", "reduce-overhead"]
CACHE = "TORCHINDUCTOR_CACHE_DIR"
GENERATED = "torch._inductor.runtime.compile_tasks."
"""Package of the modules that Inductor writes; no reset removes them."""


@dataclass(frozen=True)
class Inductor:
    """mode: as `torch.compile` has it. freezing: treat weights as constants, to fold them and pack their layouts."""

    mode: Mode = "default"
    freezing: bool = True

    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda")

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Only refuse what cannot be: `torch.compile` compiles at a model's first call, which `load` makes.

        That fills its cache in `folder`, so that a later `load` from the same folder is quick.
        """
        _require_toolchain(target)
        program.load(artifact)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        import torch
        from torch._inductor import config

        pytorch.set_up(target)
        inputs = program.inputs(artifact, target.kind)
        # `fullgraph`: a part that falls back to eager would be measured as Inductor's. It is an error instead.
        run = torch.compile(pytorch.program_module(artifact, target), mode=self.mode, fullgraph=True)
        model = InductorModel(run, inputs, target, mode=self.mode, freezing=self.freezing)
        with _caching_in(folder), config.patch(freezing=self.freezing):
            model()
        return model


class InductorModel(pytorch.PytorchModel):
    """A PyTorch model whose code PyTorch keeps for the life of the process, and its frozen weights with it."""

    _open: ClassVar[set[InductorModel]] = set()

    def __init__(self, run: pytorch.Run, inputs: tuple[torch.Tensor, ...], target: Target, **facts: object) -> None:
        super().__init__(run, inputs, target, **facts)
        self._open.add(self)

    def close(self) -> None:
        """Forget all generated code with the last open model: what is kept cannot be told apart by model."""
        super().close()
        self._open.discard(self)
        if not self._open:
            _forget_generated_code()


def _forget_generated_code() -> None:
    import torch
    from torch._inductor.utils import clear_caches

    torch.compiler.reset()
    clear_caches()
    for name in [name for name in sys.modules if name.startswith(GENERATED)]:
        del sys.modules[name]


def _require_toolchain(target: Target) -> None:
    compiler = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    if shutil.which(compiler) is None:
        raise Unsupported(f"inductor needs a C++ compiler and {compiler!r} is not on PATH: install g++, or set CXX")
    if target.kind == "cuda" and find_spec("triton") is None:
        raise Unsupported("inductor needs triton on a GPU: pip install triton")


@contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    """Inductor asks the environment for its cache at every use."""
    before = os.environ.get(CACHE)
    os.environ[CACHE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE]
        else:
            os.environ[CACHE] = before
