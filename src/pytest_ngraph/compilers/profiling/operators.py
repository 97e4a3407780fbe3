"""The kernels of eager PyTorch: operators, by the module or node that called them, and what modules do in Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_ngraph.explain.profile import PYTHON, Kernel
from pytest_ngraph.workloads.nodes import without_wrapper

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Kind, Node
    from pytest_ngraph.compilers.profiling.timeline import Span

MODULE, NODE = "ngraph module ", "ngraph node "
"""What the names of our spans around modules and nodes begin with."""
ALSO = "\n"
"""Between the paths of a module that its network has under several names."""
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
            runs=max(1, round(len(seconds) / calls)),
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
    for span in _whole(spans):
        if _is_ours(span):
            yield from _operators(span.inner, span.name)
        else:
            yield caller, span


def _in_python(spans: Sequence[Span]) -> Iterator[tuple[str, float]]:
    """Yield each call of a module, by its span's name, with its seconds outside of operators and other modules.

    On a GPU there are none: the clock of its spans runs while kernels do.
    """
    for span in filter(_is_ours, _whole(spans)):
        own = span.nanoseconds - sum(each.nanoseconds for each in _whole(span.inner))
        if span.name.startswith(MODULE) and own > 0:
            yield span.name, own / 1e9
        yield from _in_python(span.inner)


def _whole(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield the outermost of our spans and of operators. Others are opened: of an operator in Python, what it calls."""
    for span in spans:
        if _is_ours(span) or span.name.startswith("aten::") or not span.inner:
            yield span
        else:
            yield from _whole(span.inner)


def _is_ours(span: Span) -> bool:
    return span.name.startswith((MODULE, NODE))


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
