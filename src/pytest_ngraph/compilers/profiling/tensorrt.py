"""Profile TensorRT by its own profiler, on a plan whose layers say in detail what they are.

Its engine inspector names for each layer the nodes of the ONNX file that went into it, `[ONNX Layer: node_conv2d]`, and
which tensors it reads. The exporter notes in each of these nodes which operation of the program it comes from
(`onnx_export.py`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.profiling.matching import Known, located
from pytest_ngraph.explain.profile import Kernel

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Node
    from pytest_ngraph.compilers.tensorrt.library import Library
    from pytest_ngraph.compilers.tensorrt.model import TensorRtModel

ORIGINS = re.compile(r"\[ONNX Layer: ([^\]]+)\]")
"""How the inspector names the nodes of the file that went into a layer."""
LAYOUT = {"Reformat", "NoOp"}
"""Types of layers that change no values. One of these that comes from no node was added by TensorRT."""

Layer = Mapping[str, Any]
"""A layer, as the engine inspector describes it."""


class ProfiledPlan:
    """A plan that reports the time of each layer. Each call waits for its end.

    Args:
        model: runs a plan that was built in detail, and is freed by `close`.
        origins: the operation of each node of the ONNX file, by the node's name.
        nodes: all operations.
    """

    def __init__(self, lib: Library, model: TensorRtModel, origins: Mapping[str, str], nodes: Sequence[Node]) -> None:
        self._model = model
        self._nodes = nodes
        self._layers = {layer["Name"]: layer for layer in model.layers()}
        self._known = known(self._layers.values(), origins)
        self._milliseconds = defaultdict[str, float](float)
        model.outputs()
        model.report_to(profiler(lib, self._milliseconds))

    def profile(self, calls: int) -> Sequence[Kernel]:
        self._milliseconds.clear()
        for _ in range(calls):
            self._model()
        kernels = [self._kernel(name, spent / 1e3 / calls) for name, spent in self._milliseconds.items()]
        return located(kernels, self._known, self._nodes)

    def close(self) -> None:
        self._model.close()

    def _kernel(self, name: str, seconds: float) -> Kernel:
        layer = self._layers.get(name, {})
        return Kernel(
            name=name,
            operator=layer.get("LayerType", ""),
            kind=layer.get("TacticName", ""),
            seconds=seconds,
            provider="TensorRT",
            layout=name in self._known and self._known[name].layout,
        )


def known(layers: Collection[Layer], origins: Mapping[str, str]) -> dict[str, Known]:
    """Return what the inspector knows of each layer, by its name.

    Args:
        origins: the operation of each node of the ONNX file, by the node's name.
    """
    made_by = {made["Name"]: layer["Name"] for layer in layers for made in layer.get("Outputs", ())}
    found = {}
    for layer in layers:
        named = (origins.get(name, "") for name in ORIGINS.findall(layer.get("Metadata", "")))
        operations = tuple(dict.fromkeys(filter(None, named)))
        reads = (made_by[read["Name"]] for read in layer.get("Inputs", ()) if read["Name"] in made_by)
        found[layer["Name"]] = Known(
            nodes=operations,
            inputs=tuple(dict.fromkeys(each for each in reads if each != layer["Name"])),
            layout=layer.get("LayerType") in LAYOUT and not operations,
        )
    return found


def profiler(lib: Library, milliseconds: dict[str, float]) -> Any:
    """Return a profiler that adds the time of each layer to the `milliseconds` of its name."""
    base = lib.module.IProfiler

    class Adding(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            base.__init__(self)

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            milliseconds[layer_name] += ms

    return Adding()
