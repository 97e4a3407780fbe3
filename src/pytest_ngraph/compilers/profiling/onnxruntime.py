"""Profile ONNX Runtime by its own profiler, in sessions of the optimized graph.

Its kernels are named after nodes or values of the graph before optimizations. The exporter notes in each node which
operation of the program it comes from (`onnx_export.py`). The optimized graph shows which kernel reads which.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.onnx_export import origins_of, save_optimized
from pytest_ngraph.compilers.profiling.matching import Known, located
from pytest_ngraph.explain.profile import Kernel

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Node

OPTIMIZED = "optimized.onnx"
LAYOUT = {"ReorderInput", "ReorderOutput", "Transpose", "Reshape", "Cast", "Identity", "MemcpyToHost", "MemcpyFromHost"}
"""Operators that change no values. A kernel of these that comes from no node was added by ONNX Runtime."""
ADDED = ("_nchwc", "_fused", "_quantized")
"""What ONNX Runtime appends to names of values."""
WITH_SUBGRAPHS = {"If", "Loop", "Scan"}
TIMED = "_kernel_time"

Open = Callable[[Path, Callable[[Any], None]], Any]
"""Opens a session of a graph, after its options were changed."""


class ProfiledSession:
    """A model whose sessions write profiles: one session for each block, because a profile ends with its session.

    Attributes:
        nodes: the operations that its kernels come from.
    """

    def __init__(
        self, graph: Path, open_session: Open, inputs: Sequence[torch.Tensor], nodes: Sequence[Node], *, origins: bool
    ) -> None:
        """Optimize the graph.

        Args:
            open_session: opens a session as it is measured.
            origins: whether nodes of the graph say which of `nodes` they come from; else they are `nodes` themselves.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="ngraph-profile-")
        self._optimized = Path(self._folder.name, OPTIMIZED)
        open_session(graph, self._save_optimized)
        self._open = open_session
        self._inputs = [tensor.numpy() for tensor in inputs]
        self.nodes = nodes
        self._known = _known(_read(graph), _read(self._optimized), origins=origins)

    def profile(self, calls: int) -> Sequence[Kernel]:
        session = self._open(self._optimized, self._write_profile)
        given = dict(zip((each.name for each in session.get_inputs()), self._inputs, strict=True))
        for _ in range(1 + calls):
            session.run(None, given)
        events = json.loads(Path(session.end_profiling()).read_text())
        return located(kernels(events, calls, self._known), self._known, self.nodes)

    def close(self) -> None:
        self._folder.cleanup()
        del self._inputs

    def _save_optimized(self, options: Any) -> None:
        save_optimized(options, self._optimized, weights_apart=True)

    def _write_profile(self, options: Any) -> None:
        import onnxruntime as ort

        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(self._folder.name, "profile"))


def kernels(events: Sequence[Mapping[str, Any]], calls: int, known: Mapping[str, Known]) -> list[Kernel]:
    """Return the kernels in a profile, without its first call: that allocates memory."""
    timed = [event for event in events if event.get("cat") == "Node" and event["name"].endswith(TIMED)]
    runs = [event["ts"] for event in events if event["name"] == "model_run"]
    begins = sorted(runs)[1] if len(runs) > 1 else 0
    of_calls = list(_outermost(event for event in timed if event["ts"] >= begins))
    seconds: Counter[str] = Counter()
    for event in of_calls:
        seconds[event["name"]] += event["dur"] / 1e6 / calls
    described = {event["name"]: event["args"] for event in of_calls}
    return [
        Kernel(
            name=(short := name.removesuffix(TIMED)),
            operator=described[name]["op_name"],
            provider=described[name]["provider"],
            seconds=spent,
            layout=short in known and known[short].layout,
        )
        for name, spent in seconds.items()
    ]


def _outermost(events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the events that are not of a subgraph: those count in the operator that runs it."""
    ends = 0
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        if event["ts"] >= ends:
            yield event
            if event["args"]["op_name"] in WITH_SUBGRAPHS:
                ends = event["ts"] + event["dur"]


def _read(file: Path) -> Any:
    import onnx

    return onnx.load(file, load_external_data=False).graph


def _known(graph: Any, optimized: Any, *, origins: bool) -> dict[str, Known]:
    """Return what is known of each kernel: the nodes of the optimized graph."""
    of_node = origins_of(graph, noted=origins)
    of_value = {value: of_node[node.name] for node in graph.node for value in node.output if value}
    made_by = {value: node.name for node in optimized.node for value in node.output if value}
    known = {}
    for node in optimized.node:
        names = (node.name, *map(_plain, _with_beginnings(node.name)))
        known_as = (of_node.get(name) or of_node.get(f"node_{name}") or of_value.get(name) for name in names)
        named = next(filter(None, known_as), "")
        made = (of_value.get(_plain(value)) for value in node.output)
        found = tuple(dict.fromkeys(each for each in (named, *made) if each))
        is_added = node.op_type.startswith("Reorder") or (node.op_type in LAYOUT and not found)
        known[node.name] = Known(
            nodes=() if is_added else found,
            inputs=tuple(dict.fromkeys(made_by[value] for value in node.input if value in made_by)),
            layout=is_added,
        )
    return known


def _with_beginnings(name: str) -> Iterator[str]:
    """Yield a name and how it begins, the longest first: some fusions append a slash and their own name."""
    while name:
        yield name
        name = name.rpartition("/")[0]


def _plain(value: str) -> str:
    return re.sub(rf"({'|'.join(ADDED)})$", "", value)
