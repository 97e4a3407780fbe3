"""Profile eager PyTorch by `torch.profiler`, with a span for each call of a module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers import kinds, pytorch
from pytest_ngraph.compilers.profiling.gpu_time import is_span, launches, timed_by_kernels
from pytest_ngraph.compilers.profiling.nodes import without_wrapper
from pytest_ngraph.compilers.profiling.timeline import Span, nested
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.explain.places import is_within
from pytest_ngraph.explain.profile import PYTHON, Kernel

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Kind, Target
    from pytest_ngraph.explain.profile import Node

CALL, MODULE, NODE = "ngraph call", "ngraph module ", "ngraph node "
"""Our spans: the name of one around a call, and the prefixes of those around modules and nodes."""
ALSO = "\n"
"""Between the paths of a module that its network has under several names."""
PROFILED = ("cpu", "cuda")
"""Kinds of devices whose work PyTorch's profiler reports."""
MOVING = frozenset(
    ("alias", "as_strided", "clone", "contiguous", "copy", "detach", "empty", "empty_like", "empty_strided", "expand",
     "fill", "flatten", "lift_fresh", "narrow", "permute", "reshape", "resize", "resolve_conj", "resolve_neg",
     "result_type", "select", "set", "slice", "squeeze", "t", "to", "_to_copy", "transpose", "unbind", "unflatten",
     "unsqueeze", "_unsafe_view", "view", "zero", "zeros", "_reshape_alias", "expand_as", "movedim", "split", "chunk",
     "_has_compatible_shallow_copy_type", "item", "_local_scalar_dense", "is_nonzero", "cudnn_is_acceptable")
)  # fmt: skip
"""Operators inside of others that only make room for data, move them, or look at them differently."""
MOST_INSIDE = 3
"""Operators that the kind of a kernel names."""


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


def kernels(spans: Sequence[Span], calls: int, nodes: Sequence[Node], kind: Kind) -> list[Kernel]:
    """Return the operators of calls: those of the same kind that one module or node called are one kernel.

    It runs as often as they were called: nothing is fused. What a module itself does beside is one more kernel.
    """
    found: dict[tuple[str, str, str], list[float]] = {}
    for caller, span in _operators(spans, ""):
        found.setdefault((caller, _plain(span.name), _kind(span)), []).append(span.seconds)
    for caller, seconds in _in_python(spans):
        found.setdefault((caller, PYTHON, ""), []).append(seconds)
    paths_of = _paths_of({caller for caller, *_ in found}, nodes)
    named: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        named.setdefault((node.module, node.operator), []).append(node.name)

    def kernel(caller: str, operator: str, kind_of_kernel: str, seconds: Sequence[float]) -> Kernel:
        paths = paths_of.get(caller, ())
        of_node = [caller.removeprefix(NODE)] if caller.startswith(NODE) else []
        first = paths[0] if paths else caller.removeprefix(NODE)
        return Kernel(
            name=f"{first}/{operator}/{kind_of_kernel}",
            operator=operator,
            kind=kind_of_kernel,
            provider=kind,
            seconds=sum(seconds) / calls,
            runs=0 if operator == PYTHON else max(1, round(len(seconds) / calls)),
            nodes=tuple(name for path in paths for name in named.get((path, operator), ())) or tuple(of_node),
            modules=paths,
        )

    return [kernel(*key, seconds) for key, seconds in found.items()]


def _paths_of(callers: Iterable[str], nodes: Sequence[Node]) -> dict[str, tuple[str, ...]]:
    """Return the paths of each module that called something: where it has several, those that the program calls."""
    raw = {caller: caller.removeprefix(MODULE).split(ALSO) for caller in callers if caller.startswith(MODULE)}
    every = [path for paths in raw.values() for path in paths]
    plain = dict(zip(every, without_wrapper(every), strict=True))
    called = {node.module for node in nodes}
    found = {caller: tuple(plain[path] for path in paths) for caller, paths in raw.items()}
    return {caller: tuple(path for path in paths if path in called) or paths[:1] for caller, paths in found.items()}


def _operators(spans: Sequence[Span], caller: str) -> Iterator[tuple[str, Span]]:
    """Yield the outermost operators with the innermost of our spans around each."""
    for span in spans:
        if _is_ours(span):
            yield from _operators(span.inner, span.name)
        elif _is_operator(span):
            yield caller, span
        else:
            yield from _operators(span.inner, caller)


def _in_python(spans: Sequence[Span]) -> Iterator[tuple[str, float]]:
    """Yield each call of a module, by its span's name, with its seconds outside of operators and other modules.

    On a GPU there are none: the clock of its spans runs while kernels do.
    """
    for span in spans:
        if span.name.startswith(MODULE) and (own := span.end - span.start - _elsewhere(span.inner)) > 0:
            yield span.name, own / 1e9
        yield from _in_python(span.inner)


def _elsewhere(spans: Sequence[Span]) -> int:
    """Return how many nanoseconds of these spans count for operators and other modules."""
    return sum(
        each.end - each.start if _is_ours(each) or _is_operator(each) else _elsewhere(each.inner) for each in spans
    )


def _is_ours(span: Span) -> bool:
    return span.name.startswith((MODULE, NODE))


def _is_operator(span: Span) -> bool:
    return span.name.startswith("aten::") or not span.inner


def _kind(span: Span) -> str:
    """Return what an operator computes by: `mkldnn_convolution`, or several joined by `+`; empty where it is itself.

    It follows from which operators are called, not from their time, so that it is the same in every profile.
    """
    return "+".join(list(dict.fromkeys(_computing(span.inner)))[:MOST_INSIDE])


def _computing(spans: Sequence[Span]) -> Iterator[str]:
    """Yield the innermost operators that compute, by their names."""
    for span in spans:
        inner = list(_computing(span.inner))
        name = _plain(span.name)
        yield from inner or ([] if name in MOVING else [name])


def _plain(name: str) -> str:
    return name.removeprefix("aten::").rstrip("_")


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
