"""Profile TorchScript by `torch.profiler`, along the graph that runs.

The operators of a call appear in the order of the graph. Some of those that freezing makes, oneDNN's convolutions above
all, do not report themselves: what lies between the two that do is theirs. Operations are matched by the names of
parameters, which constants keep, and between these by their order.
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

    from pytest_ngraph.artifact import Kind
    from pytest_ngraph.explain.profile import Node

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


class Step(NamedTuple):
    """A node of the graph that may take time; or several in a row that do not report themselves.

    Attributes:
        operators: `conv2d`, `relu`.
        modules: of each operator, the path in the name of a parameter that it reads; empty where none has one.
        reads: values that it reads.
        makes: values that it computes.
        reports: whether it reports itself.
    """

    name: str
    operators: tuple[str, ...]
    modules: tuple[str, ...]
    reads: tuple[str, ...]
    makes: tuple[str, ...]
    reports: bool


class ProfiledScript:
    """A frozen module whose operators are timed.

    Args:
        run: calls the module, whose first calls optimize it.
        graph: returns that of the module, once it is optimized.
        nodes: operations of its program.
        kind: of the device that it runs on.
    """

    def __init__(self, run: Callable[[], object], graph: Callable[[], Any], nodes: Sequence[Node], kind: Kind) -> None:
        self._run, self._kind = run, kind
        for _ in range(2):
            run()
        self._steps = steps(graph())
        self._known = known(self._steps, nodes)
        self._nodes = nodes

    def profile(self, calls: int) -> Sequence[Kernel]:
        seconds: dict[str, float] = {}
        for call in recorded_calls(self._run, calls, self._kind):
            graph = next((span for span in call.inner if span.name == "forward"), call)
            for name, spent in divided(graph, self._steps):
                seconds[name] = seconds.get(name, 0.0) + spent / calls
        kernels = [
            Kernel(
                name=step.name,
                operator="+".join(step.operators),
                provider=self._kind,
                seconds=seconds[step.name],
                layout=self._known[step.name].layout,
                runs=len(step.operators) if len(step.operators) > 1 else 0,
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
        library, _, name = node.kind().rpartition("::")
        reads = [each for value in node.inputs() for each in passed.get(value.debugName(), [value.debugName()])]
        makes = [value.debugName() for value in node.outputs()]
        if name in UNTIMED:
            passed |= dict.fromkeys(makes, reads) if reads else {}
            continue
        named = (match["module"] or match["fused"] for value in reads if (match := PARAMETER.match(value)))
        step = Step(
            f"{name}/{index}", (_plain(name),), (next(named, ""),), tuple(reads), tuple(makes), library == "aten"
        )
        found.append(_joined(found.pop(), step) if found and not (found[-1].reports or step.reports) else step)
    return found


def _joined(first: Step, second: Step) -> Step:
    return Step(
        name=f"{first.name}+{second.name}",
        operators=first.operators + second.operators,
        modules=first.modules + second.modules,
        reads=first.reads + second.reads,
        makes=first.makes + second.makes,
        reports=False,
    )


def known(steps: Sequence[Step], nodes: Sequence[Node]) -> dict[str, Known]:
    """Return what is known of each step: its operations, where parameters or the order show them.

    Freezing folds others only into convolutions and products, which begin a step.
    """
    made_by = {value: step.name for step in steps for value in step.makes}
    begin = {node.name for node in nodes if begins_kernel(node)}
    matched = _matched(steps, nodes)
    return {
        step.name: Known(
            nodes=tuple(matched.get(step.name, ())),
            inputs=tuple(dict.fromkeys(made_by[value] for value in step.reads if value in made_by)),
            layout=step.operators[0] in LAYOUT and step.name not in matched,
            whole=step.reports and step.name in matched and begin.isdisjoint(matched[step.name]),
        )
        for step in steps
    }


def divided(call: Span, steps: Sequence[Step]) -> Iterator[tuple[str, float]]:
    """Yield the name of each step with its seconds. A step that reports nothing has the time until the next one."""
    spans, begun, unreported = iter(call.inner), call.start, ""
    for step in steps:
        if not step.reports:
            unreported = step.name
            continue
        span = next((span for span in spans if _plain(span.name.removeprefix("aten::")) == step.operators[0]), None)
        if span is None:  # the graph that ran was another one: what follows stays without a kernel
            return
        if unreported:
            yield unreported, (span.start - begun) / 1e9
        yield step.name, span.seconds
        begun, unreported = span.end, ""
    if unreported:
        yield unreported, (call.end - begun) / 1e9


def _matched(steps: Sequence[Step], nodes: Sequence[Node]) -> dict[str, list[str]]:
    """Return the operations of each step: first by parameters, then by the order between these."""
    places = [(index, place) for index, step in enumerate(steps) for place in range(len(step.operators))]
    keys = [(SAME.get(steps[i].operators[at], steps[i].operators[at]), steps[i].modules[at]) for i, at in places]
    own = [(SAME.get(node.operator, node.operator), node.module) for node in nodes]
    by_parameter = {key: index for index, key in enumerate(own) if key[0] in SAME.values()}
    pairs = {place: by_parameter[key] for place, key in enumerate(keys) if key[1] and key in by_parameter}
    taken = set(pairs.values())
    free_places = [place for place in range(len(keys)) if place not in pairs]
    free_nodes = [index for index in range(len(own)) if index not in taken]
    in_order = aligned([keys[place][0] for place in free_places], [own[index][0] for index in free_nodes])
    pairs |= {free_places[place]: free_nodes[index] for place, index in in_order}
    found: dict[str, list[str]] = {}
    for place, index in sorted(pairs.items()):
        found.setdefault(steps[places[place][0]].name, []).append(nodes[index].name)
    return found


def _plain(name: str) -> str:
    return name.rstrip("_")
