"""TorchInductor, of the exported program: ahead of time for a CPU, at the first call for a GPU."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, program, pytorch, streams
from pytest_ngraph.errors import Unsupported

if TYPE_CHECKING:
    import torch

Mode = Literal["default", "max-autotune", "reduce-overhead"]
PACKAGE = "model.pt2"
CACHE = "TORCHINDUCTOR_CACHE_DIR"
GENERATED = "torch._inductor.runtime.compile_tasks."
"""Package of the modules that Inductor writes; no reset removes them."""


@dataclass(frozen=True)
class Inductor:
    """mode: as `torch.compile` has it. freezing: treat weights as constants, to fold them and pack their layouts.

    For a CPU the program is compiled ahead of time (AOTInductor) into a package that loads in a moment and runs without
    Python. For a GPU it is compiled at its first call (`torch.compile`), because only so do modes replay CUDA graphs.
    """

    mode: Mode = "default"
    freezing: bool = True

    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Write the package for a CPU. For a GPU only refuse what cannot be: `load` makes the first call, which fills
        Inductor's cache in `folder`, and a later `load` finds what can be kept there.
        """
        _require_toolchain(target)
        loaded = program.load(artifact)
        if target.kind == "cpu":
            self._package(loaded, target, folder / PACKAGE)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        pytorch.set_up(target)
        inputs = program.inputs(artifact, target.kind)
        facts = {"mode": self.mode, "freezing": self.freezing}
        if target.kind == "cpu":
            return pytorch.load(_run_package(folder / PACKAGE, target), inputs, target, **facts)

        def instance(on: Target) -> CompiledModel:
            model = InductorModel(self._compile_lazily(artifact, on), inputs, on, **facts)
            with _caching_in(folder), self._frozen():
                model()
            return model

        return streams.load(instance, target)

    def _package(self, loaded: torch.export.ExportedProgram, target: Target, path: Path) -> None:
        import torch
        import torch._inductor

        # Loops are generated for a number of threads, and a stream has one.
        computing = target.cores if target.objective == "latency" else target.cores[:1]
        pytorch.set_up(dataclasses.replace(target, cores=computing))
        options = torch._inductor.list_mode_options(self.mode) | {"freezing": self.freezing}
        with tempfile.TemporaryDirectory(prefix="ngraph-inductor-") as cache, _caching_in(Path(cache)), torch.no_grad():
            torch._inductor.aoti_compile_and_package(loaded, package_path=str(path), inductor_configs=options)

    def _compile_lazily(self, artifact: Artifact, target: Target) -> pytorch.Run:
        import torch

        # `fullgraph`: a part that falls back to eager would be measured as Inductor's. It is an error instead.
        return torch.compile(pytorch.program_module(artifact, target), mode=self.mode, fullgraph=True)

    def _frozen(self) -> AbstractContextManager[None]:
        from torch._inductor import config

        patched: AbstractContextManager[None] = config.patch(freezing=self.freezing)
        return patched


def _run_package(path: Path, target: Target) -> pytorch.Run:
    """What runs a package: as many times at once as the target has streams, which share its weights."""
    import torch._inductor

    at_once = 1 if target.objective == "latency" else target.threads
    loader = torch._inductor.aoti_load_package(path, num_runners=at_once).loader
    # Calling the package itself parses the structure of its inputs and outputs anew each time.
    return lambda *inputs: loader.boxed_run(list(inputs))


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
