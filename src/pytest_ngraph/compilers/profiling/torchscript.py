"""Profile TorchScript by `torch.profiler`, along the graph that runs.

The operators of a call appear in the order of the graph. Some of those that freezing makes, oneDNN's convolutions above
all, do not report themselves: they get a span around them. Operations are matched by the names of parameters, which
constants keep, and between these by their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ngraph.compilers.profiling.matching import Known, aligned, begins_kernel, located
from pytest_ngraph.compilers.profiling.pytorch import recorded_calls
from pytest_ngraph.compilers.profiling.timeline import Span
from pytest_ngraph.explain.profile import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ngraph.artifact import Kind, Node

PARAMETER = re.compile(r"^(?:self\.)?(?P<module>[\w.]*?)\.(?:weight|bias)\b|^(?:self\.)?(?P<fused>[\w.]*?)\.weight_")
SAME = {
    **dict.fromkeys(("mkldnn_convolution", "_convolution", "convolution", "conv1d", "conv2d", "conv3d"), "convolution"),
    **dict.fromkeys(("matmul", "mm", "addmm", "linear", "mkldnn_linear"), "linear"),
}
"""Names of one operator, as the program has it and as the graph has it."""
LAYOUT = ("to_mkldnn", "to_dense", "contiguous", "to")
"""Operators that only change a layout or a type."""
UNTIMED = (
    *("Constant", "ConstantMKLDNNTensor", "BroadcastMKLDNNTensors", "NumToTensor"),
    *("ListConstruct", "ListUnpack", "TupleConstruct", "TupleUnpack"),
)
"""Nodes of the graph that take no time."""
ENTER, EXIT = "profiler::_record_function_enter_new", "profiler::_record_function_exit"
"""What begins a span in a graph, and what ends it."""


class Step(NamedTuple):
    """A node of the graph that may take time.

    Attributes:
        name: which no other step has: `conv2d/14`.
        operator: `conv2d`.
        module: the path in the name of a parameter that it reads; empty where none has one.
        reads: values that it reads.
        makes: values that it computes.
        span: what the profiler calls it.
    """

    name: str
    operator: str
    module: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    span: str


class ProfiledScript:
    """A frozen module whose operators are timed.

    Args:
        run: calls the module.
        graph: that of the module, which has not run yet. Spans are added to it.
        nodes: operations of its program.
        kind: of the device that it runs on.
    """

    def __init__(self, run: Callable[[], object], graph: Any, nodes: Sequence[Node], kind: Kind) -> None:
        self._run, self._kind = run, kind
        self._steps = steps(graph)
        self._known = known(self._steps, nodes)
        self._nodes = nodes
        add_spans(graph)
        for _ in range(2):
            run()

    def profile(self, calls: int) -> Sequence[Kernel]:
        seconds: dict[str, float] = {}
        for call in recorded_calls(self._run, calls, self._kind):
            graph = next((span for span in call.inner if span.name == "forward"), call)
            for name, spent in timed(graph, self._steps):
                seconds[name] = seconds.get(name, 0.0) + spent / calls
        kernels = [
            Kernel(
                name=step.name,
                operator=step.operator,
                provider=self._kind,
                seconds=seconds[step.name],
                layout=self._known[step.name].layout,
            )
            for step in self._steps
            if step.name in seconds
        ]
        return located(kernels, self._known, self._nodes)

    def close(self) -> None:
        del self._run


def steps(graph: Any) -> list[Step]:
    """Return the nodes of a graph that may take time, in the order in which they run."""
    found: list[Step] = []
    passed: dict[str, list[str]] = {}
    for index, node in enumerate(graph.nodes()):
        _, _, operator = node.kind().rpartition("::")
        reads = [each for value in node.inputs() for each in passed.get(value.debugName(), [value.debugName()])]
        makes = [value.debugName() for value in node.outputs()]
        if operator in UNTIMED:
            passed |= dict.fromkeys(makes, reads) if reads else {}
            continue
        named = (match["module"] or match["fused"] for value in reads if (match := PARAMETER.match(value)))
        found.append(
            Step(
                name=f"{operator}/{index}",
                operator=_plain(operator),
                module=next(named, ""),
                reads=tuple(reads),
                makes=tuple(makes),
                span=_plain(node.kind()) if _reports(node) else _span(index),
            )
        )
    return found


def add_spans(graph: Any) -> None:
    """Put a span around each node that takes time and does not report itself, named as its step says."""
    import torch

    (schema,) = torch._C._jit_get_schemas_for_operator(ENTER)
    for index, node in enumerate(list(graph.nodes())):
        if _reports(node) or node.kind().rpartition("::")[2] in UNTIMED:
            continue
        with graph.insert_point_guard(node):
            arguments = [graph.insertConstant(_span(index)), graph.insertConstant(None)]
            entered = graph.insertNode(graph.create(ENTER, arguments, 1)).output()
        entered.setType(schema.returns[0].type)
        graph.create(EXIT, [entered], 0).insertAfter(node)


def known(steps: Sequence[Step], nodes: Sequence[Node]) -> dict[str, Known]:
    """Return what is known of each step: its operations, where parameters or the order show them.

    Freezing folds others only into convolutions and products, which begin a step.
    """
    made_by = {value: step.name for step in steps for value in step.makes}
    begin = {node.name for node in nodes if begins_kernel(node)}
    matched = _matched(steps, nodes)
    return {
        step.name: Known(
            nodes=(matched[step.name],) if step.name in matched else (),
            inputs=tuple(dict.fromkeys(made_by[value] for value in step.reads if value in made_by)),
            layout=step.operator in LAYOUT and step.name not in matched,
            whole=step.name in matched and matched[step.name] not in begin,
        )
        for step in steps
    }


def timed(call: Span, steps: Sequence[Step]) -> Iterator[tuple[str, float]]:
    """Yield the name of each step with its seconds."""
    spans = iter(call.inner)
    for step in steps:
        span = next((span for span in spans if _plain(span.name) == step.span), None)
        if span is None:  # the graph that ran was another one: what follows stays without a kernel
            return
        yield step.name, span.seconds


def _matched(steps: Sequence[Step], nodes: Sequence[Node]) -> dict[str, str]:
    """Return the operation of each step, as far as known: first by parameters, then by the order between these."""
    keys = [(SAME.get(step.operator, step.operator), step.module) for step in steps]
    own = [(SAME.get(node.operator, node.operator), node.module) for node in nodes]
    by_parameter = {key: index for index, key in enumerate(own) if key[0] in SAME.values()}
    pairs = {place: by_parameter[key] for place, key in enumerate(keys) if key[1] and key in by_parameter}
    taken = set(pairs.values())
    free_places = [place for place in range(len(keys)) if place not in pairs]
    free_nodes = [index for index in range(len(own)) if index not in taken]
    in_order = aligned([keys[place][0] for place in free_places], [own[index][0] for index in free_nodes])
    pairs |= {free_places[place]: free_nodes[index] for place, index in in_order}
    return {steps[place].name: nodes[index].name for place, index in pairs.items()}


def _reports(node: Any) -> bool:
    """Return whether the profiler reports a node by itself."""
    return bool(node.kind().startswith("aten::"))


def _span(index: int) -> str:
    """Return the name of the span around a node of the graph."""
    return f"ngraph step {index}"


def _plain(name: str) -> str:
    return name.rstrip("_")
