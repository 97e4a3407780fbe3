"""Profile OpenVINO by its counters (`PERF_COUNT`).

The graph of the compiled model lists for each kernel the nodes that went into it. OpenVINO decomposes the program
before it names them, so their names are noted when it does so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.profiling.matching import Known, located
from pytest_ngraph.explain.profile import Kernel
from pytest_ngraph.workloads.nodes import source

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Artifact, Node

LAYOUT = ("Reorder", "Convert")
"""Kinds of kernels that change no values. OpenVINO adds them, where they list no node."""


class ProfiledRequest:
    """A request of a model that counts.

    Attributes:
        nodes: the operations that its kernels come from.

    Args:
        request: with its inputs in place.
        inputs: kept, because the request reads their memory.
        runtime: the graph of the compiled model.
        sources: name in `nodes` of each node that OpenVINO may name.
    """

    def __init__(
        self,
        request: Any,
        inputs: Sequence[torch.Tensor],
        runtime: Any,
        sources: Mapping[str, str],
        nodes: Sequence[Node],
    ) -> None:
        self._request = request
        self._inputs = inputs
        self.nodes = nodes
        self._known = _known(runtime, sources)
        self._calls = 0
        self._averages: dict[str, float] = {}
        self._run(1)

    def profile(self, calls: int) -> Sequence[Kernel]:
        seconds, described = self._run(calls)
        kernels = [
            Kernel(
                name=name,
                operator=described[name][0],
                kind=described[name][1],
                provider="CPU",
                seconds=spent,
                layout=name in self._known and self._known[name].layout,
            )
            for name, spent in seconds.items()
        ]
        return located(kernels, self._known, self.nodes)

    def close(self) -> None:
        del self._request, self._inputs

    def _run(self, calls: int) -> tuple[dict[str, float], dict[str, tuple[str, str]]]:
        """Run the request. Return the seconds per call of each kernel, and its operator and kind.

        OpenVINO reports averages over all calls so far, in whole microseconds, and the first calls are slow.
        """
        for _ in range(calls):
            self._request.infer(share_outputs=True)
        before, self._calls = self._calls, self._calls + calls
        ran = [each for each in self._request.profiling_info if each.status.name == "EXECUTED"]
        earlier, self._averages = self._averages, {each.node_name: each.real_time.total_seconds() for each in ran}
        seconds = {
            name: max(0.0, (self._calls * average - before * earlier.get(name, 0.0)) / calls)
            for name, average in self._averages.items()
        }
        return seconds, {each.node_name: (each.node_type, each.exec_type) for each in ran}


@contextmanager
def noting_names(loaded: torch.export.ExportedProgram, path: Path) -> Iterator[None]:
    """Write down what OpenVINO calls the operations of a program that it decomposes inside this context."""
    decompose: Any = loaded.run_decompositions
    names: dict[str, str] = {}

    def noted(*args: Any, **kwargs: Any) -> Any:
        made = decompose(*args, **kwargs)
        names.update({node.name: source(node) for node in made.graph.nodes if node.op == "call_function"})
        return made

    loaded.run_decompositions = noted
    yield
    path.write_text(json.dumps(names))


def sources(artifact: Artifact, path: Path) -> dict[str, str]:
    """Return the operation of each name that OpenVINO may use: `noting_names` has written them.

    Those of an ONNX file are called after their nodes, or after the values that they compute.
    """
    if artifact.onnx is not None:
        import onnx

        graph = onnx.load(artifact.onnx, load_external_data=False).graph
        by_value = {value: node.name for node in graph.node for value in node.output}
        return by_value | {node.name: node.name for node in graph.node}
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _known(runtime: Any, sources: Mapping[str, str]) -> dict[str, Known]:
    """Return what is known of each kernel: the operations of the compiled model that depend on an input."""
    known: dict[str, Known] = {}
    live: set[str] = set()
    for operation in runtime.get_ordered_ops():
        info = operation.get_rt_info()
        kind = _text(info, "layerType")
        inputs = dict.fromkeys(each.get_source_output().get_node().get_friendly_name() for each in operation.inputs())
        if kind != "Input" and live.isdisjoint(inputs):
            continue
        live.add(operation.get_friendly_name())
        if kind in ("Input", "Output"):
            continue
        named = [name.partition("/")[0] if name not in sources else name for name in _original_names(info)]
        found = tuple(dict.fromkeys(sources[name] for name in named if name in sources))
        known[operation.get_friendly_name()] = Known(
            nodes=found,
            inputs=tuple(inputs),
            layout=not found and kind in LAYOUT,
        )
    return known


def _original_names(info: Any) -> list[str]:
    return [name for name in _text(info, "originalLayersNames").split(",") if name]


def _text(info: Any, key: str) -> str:
    return str(info[key].astype(str)) if key in info else ""
