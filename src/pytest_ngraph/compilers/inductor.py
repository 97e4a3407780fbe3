"""TorchInductor: compiles the exported program, ahead of time where possible, else at the first call."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, program, pytorch, streams
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.system.installed import cxx, is_importable

if TYPE_CHECKING:
    import torch

Mode = Literal["default", "max-autotune", "reduce-overhead"]
PACKAGE = "model.pt2"
CACHE, TRITON_CACHE = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"
SEARCHING = (
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM",
    "TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE",
    "TORCHINDUCTOR_COORDINATE_DESCENT_TUNING",
)
"""Environment variables that make Inductor search where they are 1."""
GENERATED = "torch._inductor.runtime.compile_tasks."
"""Package of the modules that Inductor generates. No reset removes them from `sys.modules`."""


@dataclass(frozen=True)
class Inductor:
    """TorchInductor, ahead of time or at the first call.

    For throughput and on a GPU it always compiles at the first call: a package holds Python's lock while it runs, so
    that streams would take turns, and on a GPU it replays no CUDA graphs.

    Attributes:
        mode: as in `torch.compile`.
        freezing: treat weights as constants, to fold them and pack their layouts.
        ahead_of_time: compile into a package that loads in a moment (AOTInductor), for latency on a CPU; `false`
            compiles at the first call, as `torch.compile` does.
    """

    mode: Mode = "default"
    freezing: bool = True
    ahead_of_time: bool = True

    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")

    @property
    def searches(self) -> bool:
        """Whether it times several kernels and keeps the fastest: by its mode, or by Inductor's own variables."""
        return self.mode == "max-autotune" or any(os.environ.get(name) == "1" for name in SEARCHING)

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Write the package, if it is compiled ahead of time; otherwise only refuse what cannot be compiled.

        Without a package, `load` makes the first call, which fills Inductor's cache in `folder`. A later `load` reuses
        what Inductor can keep there.
        """
        _require_toolchain(target)
        loaded = program.load(artifact)
        if self._is_ahead_of_time(target):
            self._package(loaded, target, folder / PACKAGE)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        pytorch.set_up(target)
        inputs = program.inputs(artifact, target.kind)
        ahead = self._is_ahead_of_time(target)
        facts = {"mode": self.mode, "freezing": self.freezing, "ahead_of_time": ahead}
        if ahead:
            return pytorch.load(_run_package(folder / PACKAGE), inputs, target, **facts)

        import torch
        from torch._inductor import config

        # `fullgraph`: a part that falls back to eager is an error. It would be measured as Inductor's otherwise.
        run = torch.compile(pytorch.program_module(artifact, target), mode=self.mode, fullgraph=True)
        # Kernels called one by one from Python hold its lock, so that streams would take turns. C++ calls do not.
        options = {"freezing": self.freezing, "cpp_wrapper": target.objective == "throughput"}

        def instance(on: Target) -> CompiledModel:
            pytorch.set_up(on)
            model = InductorModel(run, inputs, on, **facts)
            try:
                with _caching_in(folder), config.patch(options):
                    model()
            except BaseException:
                model.close()
                raise
            return model

        return streams.load(instance, target)

    def _is_ahead_of_time(self, target: Target) -> bool:
        return self.ahead_of_time and target.kind == "cpu" and target.objective == "latency"

    def _package(self, loaded: torch.export.ExportedProgram, target: Target, path: Path) -> None:
        import torch
        import torch._inductor
        from torch._inductor.utils import clear_inductor_caches

        pytorch.set_up(target)  # loops are generated for this number of threads
        options = torch._inductor.list_mode_options(self.mode) | {"freezing": self.freezing}
        with tempfile.TemporaryDirectory(prefix="ngraph-inductor-") as cache, _caching_in(Path(cache)), torch.no_grad():
            torch._inductor.aoti_compile_and_package(loaded, package_path=str(path), inductor_configs=options)
        clear_inductor_caches()  # torch 2.7 would include a header of this folder in what it compiles next


def _run_package(path: Path) -> pytorch.Run:
    import torch

    # Not `torch._inductor.aoti_load_package`, which wraps this: it first spends seconds on compiling programs that try
    # the processor's vector instructions, and parses the structure of inputs and outputs again at every call.
    # Name, threads, runners and device are the defaults; older versions require them, torch 2.7 lacks the last two.
    package: Any = torch._C._aoti.AOTIModelPackageLoader  # its parameters differ from version to version
    try:
        loader = package(str(path), "model", False, 1, -1)
    except TypeError:
        loader = package(str(path), "model", False)
    return lambda *inputs: loader.boxed_run(list(inputs))


class InductorModel(pytorch.PytorchModel):
    """A PyTorch model whose generated code, with frozen weights, PyTorch keeps for the life of the process."""

    _open: ClassVar[set[InductorModel]] = set()

    def __init__(self, run: pytorch.Run, inputs: tuple[torch.Tensor, ...], target: Target, **facts: object) -> None:
        super().__init__(run, inputs, target, **facts)
        self._open.add(self)

    def close(self) -> None:
        """Close; with the last open model, forget all generated code, since that is not kept by model."""
        super().close()
        self._open.discard(self)
        if not self._open:
            _forget_generated_code()


def _forget_generated_code() -> None:
    import torch
    from torch._inductor.utils import clear_inductor_caches

    torch.compiler.reset()
    clear_inductor_caches()
    for name in [name for name in sys.modules if name.startswith(GENERATED)]:
        del sys.modules[name]


def _require_toolchain(target: Target) -> None:
    if shutil.which(cxx()) is None:
        raise Unsupported(f"inductor needs a C++ compiler and {cxx()!r} is not on PATH: install g++, or set CXX")
    if target.kind == "cuda" and not is_importable("triton"):
        raise Unsupported("inductor needs triton on a GPU: pip install triton")


@contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    """Make Inductor and Triton cache in this folder: they read the environment variables at every use.

    Where Triton's is not set, Inductor sets it to a folder of the first model, for the life of the process.
    """
    folders = {CACHE: str(folder), TRITON_CACHE: str(folder / "triton")}
    before = {name: os.environ.get(name) for name in folders}
    os.environ.update(folders)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
