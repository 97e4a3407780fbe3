"""TorchInductor: compiles the exported program, ahead of time where possible, or the module at its first call.

In: an artifact. Out: a package, or a cache of kernels, in the folder, and from it an `InductorModel` (`model.py`). This
file holds the compiler and its options. `package.py` writes packages and runs them; `cpp_builds.py` runs the C++
compiler on all cores, and cuts a long wrapper into parts (`cpp_parts.py`). `headers.py` and `vector_isa.py` keep what
Inductor makes before its first model.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, kinds, program, pytorch, streams, threads
from pytest_ngraph.compilers.inductor import cpp_builds, headers, package, vector_isa
from pytest_ngraph.compilers.inductor.caching import caching_in
from pytest_ngraph.compilers.inductor.model import InductorModel
from pytest_ngraph.compilers.inductor.package import PACKAGE, UNFROZEN, unfrozen
from pytest_ngraph.compilers.profiling import ProfiledModel
from pytest_ngraph.compilers.profiling import inductor as profiling
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving import pytorch as serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.system.installed import cxx, is_importable
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import Built

if TYPE_CHECKING:
    import torch

Mode = Literal["default", "max-autotune", "reduce-overhead"]
SEARCHING = (
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM",
    "TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE",
    "TORCHINDUCTOR_COORDINATE_DESCENT_TUNING",
)
"""Environment variables that make Inductor search where they are 1."""


@dataclass(frozen=True)
class Inductor:
    """TorchInductor, ahead of time or at the first call.

    For throughput and on a GPU it always compiles at the first call: a package holds Python's lock while it runs, so
    that streams would take turns, and on a GPU it replays no CUDA graphs. Likewise for a module, of which eager PyTorch
    runs what `torch.compile` cannot compile. The fact `graphs` counts what was compiled, `graph_breaks` what lies
    between.

    Attributes:
        mode: as in `torch.compile`.
        freezing: treat weights as constants, to fold them and pack their layouts. What then does not compile, or a
            package that then gives other outputs than eager PyTorch, is compiled without that, and the fact `unfrozen`
            says why.
        ahead_of_time: compile into a package that loads in a moment (AOTInductor), for latency on a CPU; `false`
            compiles at the first call, as `torch.compile` does.
        graph: what is compiled: the module, its exported program, or (`auto`) the module only where `torch.export`
            refuses it.
    """

    mode: Mode = "default"
    freezing: bool = True
    ahead_of_time: bool = True
    graph: pytorch.Graph = "auto"

    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda", "rocm", "xpu")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")

    def runs_module(self, artifact: Artifact) -> bool:
        """Return whether it compiles the module itself."""
        return pytorch.is_module(self.graph, artifact)

    @property
    def searches(self) -> bool:
        """Whether it times several kernels and keeps the fastest: by its mode, or by Inductor's own variables."""
        return self.mode == "max-autotune" or any(os.environ.get(name) == "1" for name in SEARCHING)

    def for_priming(self) -> Inductor:
        """Return the same without a search, which takes as long for something tiny."""
        return dataclasses.replace(self, mode="default") if self.mode == "max-autotune" else self

    def worth_trying(self, target: Target) -> dict[str, float]:
        """Return its modes, those that replay CUDA graphs only on a GPU."""
        modes = {"mode=max-autotune": 4.0}
        return {"mode=reduce-overhead": 1.0} | modes if target.kind == "cuda" else modes

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Write the package, if it is compiled ahead of time; otherwise only refuse what cannot be compiled.

        Without a package, `load` makes the first call, which fills Inductor's cache in `folder`. A later `load` reuses
        what Inductor can keep there.
        """
        _require_toolchain(target)
        if self.runs_module(artifact):
            return
        loaded = program.load(artifact)
        if self._is_ahead_of_time(artifact, target):
            path = folder / PACKAGE
            try:
                self._package(loaded, target, path)
                problem = package.disagreement(path, artifact, target) if self.freezing else ""
            except Exception as error:  # passes over constant weights raise anything
                if not self.freezing:
                    raise
                problem = first_line(error)
            if problem:
                (folder / UNFROZEN).write_text(problem)
                self._package(program.load(artifact), target, path, freezing=False)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        pytorch.set_up(target)
        ahead = self._is_ahead_of_time(artifact, target)
        facts: dict[str, object] = {"mode": self.mode, "freezing": self.freezing, "ahead_of_time": ahead}
        facts["precision"] = program.precision(artifact, target)
        if ahead:
            facts |= unfrozen(folder)
            inputs = program.inputs(artifact, kinds.device(target))
            run = repeat(package.run(folder / PACKAGE))
            return pytorch.load(run, inputs, artifact, target, source="program", **facts)

        import torch
        from torch._inductor import config

        is_module = self.runs_module(artifact)
        built = self._built(artifact, target)

        # `fullgraph`: a part that falls back to eager is an error. It would be measured as Inductor's otherwise, while
        # of a module it is what the fact `graph_breaks` counts.
        def lazy(module: torch.nn.Module) -> pytorch.Run:
            compiled = torch.compile(module, mode=self.mode, fullgraph=not is_module)
            return pytorch.with_keywords(compiled, built.kwargs)

        def again() -> pytorch.Run:
            return lazy(pytorch.separate(built.module, artifact.case))

        runs = pytorch.of_streams(lazy(built.module), again, artifact, is_module=is_module)
        # Kernels called one by one from Python hold its lock, so that streams would take turns. C++ calls do not.
        options = {"freezing": self.freezing, "cpp_wrapper": target.objective == "throughput"}

        def instance(on: Target) -> CompiledModel:
            pytorch.set_up(on)
            if on.kind == "cpu":
                vector_isa.find_out()
            model = InductorModel(next(runs), built.args, on, source="module" if is_module else "program", **facts)
            try:
                with caching_in(folder), _on_all_cores(on), headers.kept(), config.patch(options):
                    self._call_first(model, is_module=is_module)
                model.note_compiled(built.module if is_module else None)
            except BaseException:
                model.close()
                raise
            return model

        return streams.load(instance, artifact, target)

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        """Write the package. Raise `Unsupported` for what is compiled at its first call, which leaves none."""
        if not self._is_ahead_of_time(artifact, target):
            raise Unsupported(
                f"inductor compiles {artifact.case.workload} at its first call and leaves no package to deploy: "
                f"{self._why_not_ahead(artifact, target)}"
            )
        return serving.deploy_package(artifact, target, compiled / PACKAGE, folder)

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Return the package, compiled once more. Raise `Unsupported` for what has none."""
        if not self._is_ahead_of_time(artifact, target):
            raise Unsupported("inductor can be profiled where it compiles ahead of time, and here it does not")

        def write(path: Path) -> None:
            options = profiling.options() | ({"freezing": False} if unfrozen(compiled) else {})
            self._package(program.load(artifact), target, path, **options)

        return profiling.ProfiledPackage(write, package.run, artifact)

    def _why_not_ahead(self, artifact: Artifact, target: Target) -> str:
        if not self.ahead_of_time:
            return "deploy inductor without ahead_of_time=false"
        if self.runs_module(artifact):
            return artifact.export_error or "deploy inductor without graph=module"
        if target.kind == "cpu":
            return "deploy the objective latency"
        return "on a GPU it replays CUDA graphs" if target.kind == "cuda" else "it makes packages for a CPU only"

    def _call_first(self, model: InductorModel, *, is_module: bool) -> None:
        """Compile by calling. What fails when its weights are constants is compiled without that."""
        from torch._inductor import config
        from torch._inductor.exc import InductorError

        call = model.call_first if is_module else model
        try:
            call()
        except InductorError as error:
            if not self.freezing:
                raise
            with config.patch(freezing=False):
                call()
            model.facts |= {"freezing": "partly" if is_module else "False", "unfrozen": first_line(error)}

    def _built(self, artifact: Artifact, target: Target) -> Built:
        """Return what is compiled at the first call, with its arguments, on the target's kind of device."""
        if self.runs_module(artifact):
            built = pytorch.rebuilt(artifact, target)
            if pytorch.is_script(built.module):
                raise Unsupported(f"torch.compile compiles no ScriptModule, which {artifact.case.workload} returns")
            return built
        return Built(pytorch.program_module(artifact, target), program.inputs(artifact, kinds.device(target)))

    def _is_ahead_of_time(self, artifact: Artifact, target: Target) -> bool:
        is_asked_for = self.ahead_of_time and not self.runs_module(artifact)
        return is_asked_for and target.kind == "cpu" and target.objective == "latency"

    def _package(self, loaded: torch.export.ExportedProgram, target: Target, path: Path, **further: Any) -> None:
        import torch._inductor

        options = torch._inductor.list_mode_options(self.mode) | {"freezing": self.freezing} | further
        package.write(loaded, target, path, options)


@contextmanager
def _on_all_cores(target: Target) -> Iterator[None]:
    """Compile on all cores inside this context. On a GPU, Triton's worker processes end with it."""
    if target.kind == "cpu":
        with cpp_builds.side_by_side():
            yield
        return
    from torch._inductor.async_compile import shutdown_compile_workers

    with threads.on_all_cores(), cpp_builds.side_by_side():  # they inherit the cores of the thread that starts them
        try:
            yield
        finally:
            shutdown_compile_workers()


def _require_toolchain(target: Target) -> None:
    if shutil.which(cxx()) is None:
        raise Unsupported(f"inductor needs a C++ compiler and {cxx()!r} is not on PATH: install g++, or set CXX")
    if target.kind != "cpu" and not is_importable("triton"):
        raise Unsupported("inductor needs triton on a GPU: pip install triton")
