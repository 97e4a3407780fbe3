"""Load and run what PyTorch itself executes: eager modules, TorchScript, Inductor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from pytest_ngraph import workloads
from pytest_ngraph.compilers import CompiledModel, kinds, program, streams
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import Built, copies
from pytest_ngraph.workloads.eager import first_that_runs
from pytest_ngraph.workloads.flat import flattened, takes_tensors
from pytest_ngraph.workloads.tensors import module_in

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Array, Artifact, Target
    from pytest_ngraph.case import Case

Run = Callable[..., object]
Graph = Literal["auto", "module", "program"]
"""What is compiled: the module, its exported program, or the module only where there is no program."""


def is_module(graph: Graph, artifact: Artifact) -> bool:
    """Return whether this option asks for the module, and not for its exported program or its ONNX file."""
    is_asked_for = graph == "module" or (graph == "auto" and bool(artifact.export_error))
    return is_asked_for and artifact.onnx is None


def is_script(module: torch.nn.Module) -> TypeGuard[torch.jit.ScriptModule]:
    """Return whether a module was scripted or traced by its author, as `torch.jit.load` returns it."""
    import torch

    return isinstance(module, torch.jit.ScriptModule)


def with_keywords(run: Run, kwargs: dict[str, Any]) -> Run:
    """Return a callable that also passes these keyword arguments."""
    return partial(run, **kwargs) if kwargs else run


class PytorchModel:
    """A PyTorch callable with its arguments in place."""

    concurrency = 1

    def __init__(self, run: Run, args: tuple[Any, ...], target: Target, **facts: object) -> None:
        """Keep the callable with its arguments.

        Args:
            run: takes `args`; both are on the target's kind of device.
            facts: facts of this compiler alone.
        """
        import torch

        self._run = run
        self._args = args
        # Not `torch.inference_mode`, which wraps this: it doubles the cost of a call, 2 % of the smallest blocks' time.
        self._inference_mode: Callable[[bool], AbstractContextManager[object]] = torch._C._InferenceMode
        kind = kinds.named(target.kind)
        self.stopwatch = kind.stopwatch()
        # Once `set_up` has pinned fp32, PyTorch changes no type silently: the graph's precision is what runs.
        general = {"version": torch.__version__, "precision": target.precision, "provider": target.kind}
        threads_used = {"threads": torch.get_num_threads()} if target.kind == "cpu" else {}
        self.facts = {name: str(value) for name, value in (general | threads_used | kind.facts() | facts).items()}

    def __call__(self) -> object:
        with self._inference_mode(True):
            return self._run(*self._args)

    def call_first(self) -> None:
        """Call a module once. One that differentiates, for forces say, runs without inference mode from then on.

        Gradients are only on where its own code does not switch them on.
        """
        import torch

        def call_in(mode: Callable[[bool], AbstractContextManager[object]]) -> None:
            self._inference_mode = mode
            self()

        modes = (self._inference_mode, lambda _: torch.no_grad(), lambda _: torch.enable_grad())
        first_that_runs(*(partial(call_in, mode) for mode in modes))
        if self._inference_mode is not modes[0]:
            self.facts["inference_mode"] = "off"

    def outputs(self) -> Sequence[Array]:
        return program.flatten(self())

    def close(self) -> None:
        del self._run, self._args


def load(
    runs: Iterator[Run], args: tuple[Any, ...], artifact: Artifact, target: Target, **facts: object
) -> CompiledModel:
    """Return a PyTorch callable as a model for the target's objective.

    Args:
        runs: that of each stream (`of_streams`).
        args: its arguments, which streams share.
    """

    def instance(on: Target) -> CompiledModel:
        set_up(on)  # in its own thread: PyTorch keeps the number of threads per calling thread
        return PytorchModel(next(runs), args, on, **facts)

    return streams.load(instance, artifact, target)


def load_module(
    runs: Iterator[Run], args: tuple[Any, ...], artifact: Artifact, target: Target, **facts: object
) -> CompiledModel:
    """Return the user's own module likewise. It is called once, because it may need more than a graph does."""

    def instance(on: Target) -> CompiledModel:
        set_up(on)
        model = PytorchModel(next(runs), args, on, **facts)
        model.call_first()
        return model

    return streams.load(instance, artifact, target)


def of_streams(run: Run, again: Callable[[], Run], artifact: Artifact, *, is_module: bool) -> Iterator[Run]:
    """Yield what each stream calls: the same, or where calls change what it holds, one that holds its own.

    Args:
        run: what the first stream calls.
        again: makes what another stream calls.
        artifact: says what each call changes.
        is_module: whether the user's own code runs, which also assigns attributes.
    """
    is_changed = artifact.written or (is_module and artifact.assigned)
    yield run
    while True:
        yield again() if is_changed else run


def separate(module: torch.nn.Module, case: Case) -> torch.nn.Module:
    """Return a copy of a module that shares its parameters, and nothing that its calls change.

    Raises:
        Unsupported: it cannot be copied.
    """
    try:
        return copies.copied(module, {id(each): each for each in module.parameters()})
    except Exception as error:  # whatever the module holds
        raise Unsupported(
            f"each call of {case.workload} changes what it holds, so that each stream needs a copy, and it cannot be "
            f"copied ({type(error).__name__}: {first_line(error)}). Measure the objective latency"
        ) from error


def set_up(target: Target) -> None:
    """Set PyTorch's process-wide state: threads, fp32 precision, and on a GPU the stream. Call it before any model."""
    import torch

    torch.set_num_threads(target.threads)
    torch.set_float32_matmul_precision("highest")
    kinds.named(target.kind).set_up(target.index)


def program_module(artifact: Artifact, target: Target) -> torch.nn.Module:
    """Return the exported program as a module on the target's kind of device. Raises as `program.load` does."""
    loaded = program.load(artifact)
    device = kinds.device(target)
    if device != "cpu":
        from torch.export.passes import move_to_device_pass

        with_any_strides(loaded.graph_module)
        loaded = move_to_device_pass(loaded, device)  # also constants and operators that name a device
    module: torch.nn.Module = loaded.module()
    return module.to(device)


def with_any_strides(module: torch.fx.GraphModule) -> None:
    """Make views of a program copy where they must.

    Exporting drops a `contiguous` that changes nothing on the CPU. On another device an operator, such as attention,
    can return its result in another layout, of which there is no such view.
    """
    import torch

    for node in module.graph.nodes:
        if node.target is torch.ops.aten.view.default:
            node.target = torch.ops.aten.reshape.default
    module.recompile()


def traced(module: torch.nn.Module, args: Sequence[torch.Tensor]) -> torch.jit.ScriptModule:
    """Return a trace of the module. Raises what `torch.jit.trace` raises."""
    import torch

    # Tracing would otherwise run the module twice more and compare: the outputs are verified anyway.
    made: torch.jit.ScriptModule = torch.jit.trace(module, tuple(args), check_trace=False)  # type: ignore[no-untyped-call]
    return made


def traced_whole(built: Built) -> tuple[torch.jit.ScriptModule, tuple[torch.Tensor, ...]]:
    """Return a trace of a workload, which returns its output tensors in one tuple, with its arguments.

    Raises what `torch.jit.trace` raises.
    """
    flat = flattened(built)
    try:
        return traced(flat.module, flat.args).eval(), flat.args
    except RuntimeError:
        if is_script(built.module) and takes_tensors(built):
            return built.module, built.args  # a frozen script can be part of no other module
        raise


def rebuilt(artifact: Artifact, target: Target, *, copied: bool = False) -> Built:
    """Build the workload's module again, on the target's kind of device, with the artifact's inputs as arguments.

    Args:
        copied: also copy a module that keeps device and precision, because the caller changes it: the user may keep the
            original and use it again.

    Raises:
        Unsupported: the workload is an ONNX file, or its module must be copied and cannot be.
    """
    built = workloads.build(artifact.case)
    module = built.module
    moves, casts = kinds.device(target) != "cpu", target.precision != "fp32" and not built.as_is
    if copied or moves or casts:
        module = _copied(module, artifact.case)
    if casts:
        module = module_in(module, target.precision)
    if moves:
        module = module.to(kinds.device(target))
    return replace(built.with_inputs(program.inputs(artifact, kinds.device(target))), module=module)


def _copied(module: torch.nn.Module, case: Case) -> torch.nn.Module:
    """Return a copy of a module that was just built; the module itself where there is none and nobody else has it."""
    try:
        return copies.copied(module)
    except Exception as error:  # whatever the module holds
        if not copies.is_same(module, workloads.build(case).module):
            return module
        raise Unsupported(
            f"{case.workload} cannot be copied ({type(error).__name__}: {first_line(error)}), and precision, layout or "
            "device change the module. Build a new one in each call, and it is changed itself."
        ) from error
