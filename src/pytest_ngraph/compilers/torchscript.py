"""TorchScript: the exported program traced, or the module scripted or traced, and frozen."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, kinds, program, pytorch
from pytest_ngraph.compilers.conversion import converting
from pytest_ngraph.compilers.profiling import ProfiledModel
from pytest_ngraph.compilers.profiling import pytorch as profiling
from pytest_ngraph.compilers.profiling.torchscript import ProfiledScript
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving import pytorch as serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.copies import copied
from pytest_ngraph.workloads.flat import flattened
from pytest_ngraph.workloads.nodes import nodes

if TYPE_CHECKING:
    import torch

FILE = "model.pt"
SOURCE = "source.txt"
"""What the graph was made from: `program`, `script` or `trace`."""
UNOPTIMIZED = "unoptimized.txt"
"""Exists where the optimized graph does not run, or would be wrong, and says why."""
READING = ("aten.item.default", "aten._local_scalar_dense.default")
"""Operators that read a number from a tensor."""
TRAINING = 5
"""Which input of `aten::batch_norm` is its mode."""


@dataclass(frozen=True)
class TorchScript:
    """TorchScript.

    The fact `source` says what the graph was made from: the exported `program`, or the module by `script`, which keeps
    its branches and loops, or by `trace`, which holds only what the module did for these inputs.

    Attributes:
        optimize: apply `torch.jit.optimize_for_inference` (layouts and fusions of the device the model is loaded on).
            Where it fails, or makes a graph that does not run, the frozen graph runs, and the fact `unoptimized` says
            why.
        graph: what is compiled: the module, its exported program, or (`auto`) the module only where `torch.export`
            refuses it. A module is scripted, and traced where scripting refuses it or the script does not run.
    """

    optimize: bool = True
    graph: pytorch.Graph = "auto"

    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda", "rocm", "xpu", "mps")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")

    def runs_module(self, artifact: Artifact) -> bool:
        """Return whether it compiles the module itself."""
        return pytorch.is_module(self.graph, artifact)

    def for_priming(self) -> TorchScript:
        return self

    def worth_trying(self, target: Target) -> dict[str, float]:
        """Return the frozen graph without the device's layouts and fusions, which do not suit every network."""
        return {"optimize=false": 1.0}

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Write a frozen graph. Raises `Unsupported` for what TorchScript cannot trace, script or freeze."""
        import torch

        pytorch.set_up(target)
        is_module = self.runs_module(artifact)
        with _without_warnings(), converting():  # not in inference mode: the user's code may train what it builds
            built = pytorch.rebuilt(artifact, target) if is_module else _program(artifact, target)
        with _without_warnings(), torch.inference_mode():
            with converting():
                source, made = _from_module(built) if is_module else _from_program(built, artifact)
            # `freeze` requires `eval`. Exported programs refuse it, with their mode in the graph; a trace accepts it.
            numerics = not _normalizes_by_batch(made)
            if not numerics:
                (folder / UNOPTIMIZED).write_text("it would fold a normalization by the batch")
            frozen = _unless_refused(
                "freeze", artifact, lambda: torch.jit.freeze(made.eval(), optimize_numerics=numerics)
            )
            _copy_changed_constants(frozen)
            torch.jit.save(frozen, folder / FILE)
        (folder / SOURCE).write_text(source)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        pytorch.set_up(target)
        source = (folder / SOURCE).read_text()
        args, kwargs = program.inputs(artifact, kinds.device(target)), dict[str, Any]()
        if source == "script":
            built = pytorch.rebuilt(artifact, target)
            args, kwargs = built.args, built.kwargs
        facts = {"source": source}
        try:
            run = pytorch.with_keywords(self._module(target, folder), kwargs)
            _call_first(run, args, target)
        except RuntimeError as error:
            if not self._optimizes(folder):
                raise
            (folder / UNOPTIMIZED).write_text(str(error).strip().splitlines()[-1])
            run = pytorch.with_keywords(self._module(target, folder), kwargs)
            _call_first(run, args, target)
        if self.optimize and not self._optimizes(folder):
            facts["unoptimized"] = (folder / UNOPTIMIZED).read_text()
        facts |= {"optimize": str(self._optimizes(folder)), "precision": program.precision(artifact, target)}
        runs = pytorch.of_streams(
            run,
            lambda: pytorch.with_keywords(self._module(target, folder), kwargs),
            artifact,
            is_module=source != "program",
        )
        return pytorch.load(runs, args, artifact, target, **facts)

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Return the frozen graph of the program, timed by its operators. Raise `Unsupported` for a module."""
        import torch

        profiling.refuse("torchscript", target)
        if (compiled / SOURCE).read_text() != "program":
            raise Unsupported("torchscript can be profiled where it compiles the exported program, not a module")
        pytorch.set_up(target)
        module: Any = self._module(target, compiled)
        args = program.inputs(artifact, kinds.device(target))

        def run() -> object:
            with torch.inference_mode():
                return module(*args)

        return ProfiledScript(run, module.graph, nodes(artifact), target.kind)

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        source = (compiled / SOURCE).read_text()
        if source == "program" and artifact.values_decide:
            _refuse_numbers_of(artifact)
        file, optimizes = compiled / FILE, self._optimizes(compiled)
        return serving.deploy_script(artifact, target, file, folder, source=source, optimize=optimizes)

    def _optimizes(self, folder: Path) -> bool:
        return self.optimize and not (folder / UNOPTIMIZED).exists()

    def _module(self, target: Target, folder: Path) -> pytorch.Run:
        import torch

        with _without_warnings():
            module = torch.jit.load(folder / FILE, map_location=kinds.device(target)).eval()  # type: ignore[no-untyped-call]
            # Here, because the weights that it packs for this processor cannot be saved.
            run: pytorch.Run = torch.jit.optimize_for_inference(module) if self._optimizes(folder) else module
        return run


def _call_first(run: pytorch.Run, args: tuple[Any, ...], target: Target) -> None:
    """Call once, which shows whether the graph runs. On a GPU call twice: the first call profiles, the second fuses."""
    import torch

    with torch.inference_mode():
        run(*args)
        if target.kind != "cpu":
            run(*args)
            kinds.named(target.kind).wait()


def _refuse_numbers_of(artifact: Artifact) -> None:
    """Raise `Unsupported` if the program reads a number from a tensor: its trace holds that of the sample inputs."""
    import torch

    parts = program.load(artifact).graph_module.modules()
    graphs = [part.graph for part in parts if isinstance(part, torch.fx.GraphModule)]
    if any(str(node.target) in READING for graph in graphs for node in graph.nodes):
        raise Unsupported(
            f"torchscript cannot deploy {artifact.case.workload}: it computes with a number read from a tensor "
            "(item, tolist), and the trace holds that of the sample inputs. Keep it a tensor, or deploy "
            "torchscript:graph=module, which can script it"
        )


def _program(artifact: Artifact, target: Target) -> Built:
    return Built(pytorch.program_module(artifact, target), program.inputs(artifact, kinds.device(target)))


def _from_program(built: Built, artifact: Artifact) -> tuple[str, torch.jit.ScriptModule]:
    """Return the program traced, and that it was one."""
    return "program", _unless_refused("trace", artifact, lambda: pytorch.traced(built.module, built.args))


def _from_module(built: Built) -> tuple[str, torch.jit.ScriptModule]:
    """Return the module scripted or traced, after which of both.

    A script may be made and not run: it takes arguments without a type for tensors. A copy is called, because a call
    can change the state that is frozen afterwards.
    """
    import torch

    try:
        script: torch.jit.ScriptModule = torch.jit.script(built.module)
        copied(script)(*built.args, **built.kwargs)
        return "script", script
    except Exception as unscripted:  # whatever is wrong with the module's code or its arguments
        try:
            flat = flattened(built)
            return "trace", pytorch.traced(flat.module, flat.args)
        except Exception as error:
            raise Unsupported(
                f"torch.jit.script refuses {type(built.module).__name__}: {first_line(unscripted)}; "
                f"torch.jit.trace: {first_line(error)}"
            ) from error


def _normalizes_by_batch(made: torch.jit.ScriptModule) -> bool:
    """Return whether a batch normalization is in training mode, which freezing and optimizing would fold wrongly."""
    graph: Any = made.inlined_graph  # held: its nodes go with it
    return any(list(node.inputs())[TRAINING].toIValue() is True for node in graph.findAllNodes("aten::batch_norm"))


def _copy_changed_constants(frozen: torch.jit.ScriptModule) -> None:
    """Let a graph change copies of its constants, in place.

    Freezing folds values that the graph then writes to, such as the gates of a `GRUCell` whose state begins with zeros:
    the second call would start from what the first has left.
    """
    graph: Any = frozen.graph
    for node in list(graph.nodes()):
        if node.kind().startswith("aten::") and node.kind().endswith("_") and _is_constant(next(node.inputs())):
            changed = next(node.inputs())
            with graph.insert_point_guard(node):
                copy = graph.insertNode(graph.create("aten::clone", [changed, graph.insertConstant(None)], 1))
            copy.output().setType(changed.type())
            changed.replaceAllUsesAfterNodeWith(copy, copy.output())


def _is_constant(value: Any) -> bool:
    """Return whether a value is a constant, or a part of a list that is one."""
    node = value.node()
    if node.kind() == "prim::ListUnpack":
        node = next(node.inputs()).node()
    return bool(node.kind() == "prim::Constant")


def _unless_refused(
    step: str, artifact: Artifact, make: Callable[[], torch.jit.ScriptModule]
) -> torch.jit.ScriptModule:
    """Return what a step of `torch.jit` makes; raise `Unsupported` with its reason where it refuses the graph."""
    import torch

    try:
        return make()
    except (MemoryError, torch.cuda.OutOfMemoryError):
        raise
    except Exception as error:  # weights of types of their own raise anything
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise Unsupported(f"torch.jit.{step} refuses {artifact.case.workload}: {reason}") from error


class _without_warnings(warnings.catch_warnings):  # noqa: N801 (reads as a function)
    """Hides deprecation warnings, which PyTorch repeats at every call: whoever benchmarks TorchScript knows."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
