"""Apache TVM: graph passes, and schedules for the graph's kernels by rule, by search or by TVM itself.

In: an exported program or an ONNX file, and a target. Out: a shared library and its facts in the folder, and from them
a `TvmModel`. This file holds the compiler and its options. Open `pipeline.py` next, the way from program to executable;
`frontend.py` imports the graph, `cpu/` has the scheduling rules, `tuning.py` the search, `runtime.py` the model that
runs.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.compilers import CompiledModel, kinds, program, refuse_precision, threads
from pytest_ngraph.compilers.profiling import ProfiledModel
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving import tvm as serving
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads.nodes import nodes

LIBRARY = "model.so"
FACTS = "facts.json"


@dataclass(frozen=True)
class Tvm:
    """Apache TVM, with schedules by rule, by search, or the library's own.

    Attributes:
        schedule: `rules` (graph passes, and a schedule for each kernel) or `stock` (the library's own pipeline, which
            on a CPU schedules nothing and uses one thread).
        trials: schedules to try in a search that starts from those of the rules; 0 for none. The study allowed 1,500.
        patience: schedules without gain after which the search ends early.
    """

    schedule: Literal["rules", "stock"] = "rules"
    trials: int = 0
    patience: int = 150

    libraries: ClassVar[tuple[str, ...]] = ("tvm",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda")

    @property
    def searches(self) -> bool:
        """Whether it tries schedules."""
        return self.trials > 0

    def __post_init__(self) -> None:
        for name in ("trials", "patience"):
            if getattr(self, name) < 0:
                raise UsageError(f"tvm:{name}={getattr(self, name)} is not allowed. Allowed: 0 and more.")
        if self.trials and self.schedule == "stock":
            raise UsageError(
                f"tvm:schedule=stock,trials={self.trials}: only schedule=rules can be tuned. Leave out one of the two."
            )

    def for_priming(self) -> Tvm:
        """Return the same without a search."""
        return dataclasses.replace(self, trials=0)

    def worth_trying(self, target: Target) -> dict[str, float]:
        """Return a short search, on a CPU. A trial takes about two seconds."""
        return {"trials=64": 20.0} if target.kind == "cpu" else {}

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Write a shared library and the facts about its kernels."""
        from pytest_ngraph.compilers.tvm import frontend, gpu
        from pytest_ngraph.compilers.tvm.target import refuse_device, tvm_target

        refuse_precision("tvm", target, ("fp32", "fp16") if target.kind == "cuda" else ("fp32",))
        if self.trials and target.kind == "cuda":
            raise Unsupported("tvm:trials tunes for a CPU only; on a GPU, use tvm without trials")
        refuse_device(target)
        importers = frontend.importers(artifact)
        compiled_for = tvm_target(target)
        with threads.spread(target):
            try:
                executable, facts = self._build(importers, compiled_for, artifact, target)
            except (Unsupported, MemoryError):
                raise
            except Exception as error:
                _refuse_what_the_library_refuses(artifact, importers, compiled_for, error)
                raise
        executable.export_library(str(folder / LIBRARY))
        by_rules = "rules" if target.kind == "cpu" else gpu.LABEL
        facts |= {"schedule": by_rules if self.schedule == "rules" else "stock", "target": str(compiled_for)}
        (folder / FACTS).write_text(json.dumps(facts))

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        from pytest_ngraph.compilers.tvm.runtime import TvmModel

        facts = json.loads((folder / FACTS).read_text())
        return TvmModel(folder / LIBRARY, program.inputs(artifact, kinds.device(target)), target, facts)

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Return a machine with a hook. Raise `Unsupported` on a GPU, where kernels return before they are done."""
        from pytest_ngraph.compilers.tvm.runtime import TvmModel

        if target.kind != "cpu":
            raise Unsupported(f"tvm cannot be profiled on a device of kind {target.kind}: only on cpu")
        facts = json.loads((compiled / FACTS).read_text())
        model = TvmModel(compiled / LIBRARY, program.inputs(artifact, kinds.device(target)), target, facts)
        return model.instrumented(nodes(artifact))

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        return serving.deploy(target, compiled / LIBRARY, folder)

    def _build(
        self, importers: Sequence[Callable[[], Any]], tvm_target: Any, artifact: Artifact, target: Target
    ) -> tuple[Any, dict[str, str]]:
        """Return the executable and the facts about its schedules."""
        from pytest_ngraph.compilers.tvm import database, pipeline, tuning

        if self.schedule == "stock":
            return pipeline.stock(importers, tvm_target), {}
        module = pipeline.lower(importers, tvm_target)
        facts = {}
        if self.trials:
            with database.opened(artifact, tvm_target, target.draw) as folder:
                module, done = tuning.tune(module, tvm_target, target, folder, self.trials, self.patience)
            facts["trials"] = str(done)
        executable, coverage = pipeline.build(module, tvm_target)
        return executable, facts | {"kernels": str(coverage)}


def _refuse_what_the_library_refuses(
    artifact: Artifact, importers: Sequence[Callable[[], Any]], tvm_target: Any, error: Exception
) -> None:
    """Raise `Unsupported` if TVM's own pipeline does not compile the workload either: then the error is no defect here.

    Args:
        error: why the workload was not compiled.
    """
    from pytest_ngraph.compilers.tvm import pipeline

    try:
        pipeline.stock(importers, tvm_target)
    except Exception as refusal:  # each of TVM's passes raises in its own way
        reason = f"{type(refusal).__name__}: {first_line(refusal)}"
        raise Unsupported(f"TVM cannot compile {artifact.case.workload}: {reason}") from error
