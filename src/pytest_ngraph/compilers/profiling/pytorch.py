"""Profile eager PyTorch by `torch.profiler`, with a span for each call of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers import kinds, pytorch
from pytest_ngraph.compilers.profiling.gpu_time import is_span, launches, timed_by_kernels
from pytest_ngraph.compilers.profiling.operators import ALSO, MODULE, NODE, kernels
from pytest_ngraph.compilers.profiling.timeline import Span, nested
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.explain.places import is_within

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Kind, Node, Target
    from pytest_ngraph.explain.profile import Kernel

CALL = "ngraph call"
"""The name of our span around a call."""
PROFILED = ("cpu", "cuda")
"""Kinds of devices whose work PyTorch's profiler reports."""


class ProfiledModule:
    """A module whose operators are timed, with the module that called them, or the node of its program.

    Args:
        module: has spans around its parts while it is profiled, or is interpreted.
        nodes: operations of its program; none where it has no program.
        target: what it runs on.
        interpreted: whether it is an exported program, whose modules are gone, but not its nodes.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        nodes: Sequence[Node],
        target: Target,
        *,
        interpreted: bool,
    ) -> None:
        self._nodes, self._kind = nodes, target.kind
        self._parts = [] if interpreted else list(_parts(module))
        run = _interpreter(module) if interpreted else module
        self._model = pytorch.PytorchModel(pytorch.with_keywords(run, kwargs), args, target)
        with _spans_around(self._parts):
            self._model.call_first()

    def profile(self, calls: int) -> Sequence[Kernel]:
        with recorded(self._kind) as spans, _spans_around(self._parts):
            for _ in range(calls):
                self._model()
        return kernels(spans, calls, self._nodes, self._kind)

    def close(self) -> None:
        self._model.close()
        del self._parts


def _parts(module: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield the paths and the module of each part that Python calls: of a ScriptModule, the whole alone."""
    script = None
    found: dict[torch.nn.Module, list[str]] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        if script is not None and is_within(path, script):
            continue
        script = path if pytorch.is_script(part) else None
        found.setdefault(part, []).append(path)
    for part, paths in found.items():
        yield ALSO.join(paths), part


@contextmanager
def _spans_around(parts: Sequence[tuple[str, torch.nn.Module]]) -> Iterator[None]:
    """Record a span for each call of these parts inside this context.

    Each gets another `forward` for that time. Hooks would change what is computed: PyTorch has kernels for whole
    layers, and uses them only where no part has hooks.
    """
    entrances = [(paths, vars(part), name, getattr(part, name)) for paths, part in parts for name in _entrances(part)]
    before = [own.get(name) for _, own, name, _ in entrances]
    try:
        for paths, own, name, call in entrances:
            own[name] = _with_span(MODULE + paths, call)
        yield
    finally:
        for (_, own, name, _), call in zip(entrances, before, strict=True):
            if call is None:
                own.pop(name, None)
            else:
                own[name] = call


def _entrances(part: torch.nn.Module) -> Iterator[str]:
    """Yield the methods that a call of a part goes through: where it has hooks of its own, these run in the second."""
    yield "forward"
    if (part._forward_hooks or part._forward_pre_hooks) and not pytorch.is_script(part):
        yield "_call_impl"


def _with_span(name: str, forward: Callable[..., object]) -> Callable[..., object]:
    @wraps(forward)
    def run(*args: Any, **kwargs: Any) -> object:
        with _span(name):
            return forward(*args, **kwargs)

    return run


def _span(name: str) -> AbstractContextManager[None]:
    """Record a span around what runs inside.

    The public `record_function` takes several microseconds, as long as a small operator; PyTorch's own generated code
    uses this one.
    """
    import torch

    span: AbstractContextManager[None] = torch._C._profiler._RecordFunctionFast(name)
    return span


def refuse(name: str, target: Target) -> None:
    """Raise `Unsupported` on a device whose work PyTorch's profiler was not seen to report."""
    if target.kind not in PROFILED:
        raise Unsupported(
            f"{name} cannot be profiled on a device of kind {target.kind}: only on {' and '.join(PROFILED)}"
        )


@contextmanager
def recorded(kind: Kind) -> Iterator[list[Span]]:
    """Record what PyTorch does in this thread inside this context.

    The list is filled with the outermost spans when it ends. On a GPU their seconds are those of its kernels.
    """
    from torch.profiler import ProfilerActivity, profile

    spans: list[Span] = []
    on_gpu = kind != "cpu"
    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]) as profiler:
        yield spans
        kinds.named(kind).wait()
    # The events as they are: those that `profiler.events()` makes of them take seconds.
    events = profiler.profiler.kineto_results.events()
    found = [
        (each, Span(each.name(), each.start_ns(), each.start_ns() + each.duration_ns()))
        for each in events
        if is_span(each)
    ]
    ours = {event.start_thread_id() for event, span in found if span.name.startswith((CALL, MODULE, NODE))}
    own = [(event, span) for event, span in found if event.start_thread_id() in ours]
    outermost = nested(span for _, span in own)
    spans += timed_by_kernels(outermost, launches(events, own)) if on_gpu else outermost


def recorded_calls(run: Callable[[], object], calls: int, kind: Kind) -> list[Span]:
    """Record calls, and return the span of each."""
    with recorded(kind) as spans:
        for _ in range(calls):
            with _span(CALL):
                run()
    return [span for span in spans if span.name == CALL]


def _interpreter(module: torch.nn.Module) -> Callable[..., object]:
    """Return a call of an exported program with a span for each node."""
    import torch

    class Interpreter(torch.fx.Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            if n.op != "call_function":
                return super().run_node(n)
            with _span(NODE + n.name):
                return super().run_node(n)

    assert isinstance(module, torch.fx.GraphModule)
    interpreter = Interpreter(module)

    def call(*args: Any) -> object:
        from torch.utils import _pytree

        return interpreter.run(*_pytree.tree_leaves(args))

    return call
