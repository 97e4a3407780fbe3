"""Profile ExecuTorch by its event tracer, which writes an ETDump: a FlatBuffer whose schema its package has.

ExecuTorch's `Inspector` reads it too, after three seconds of imports. `flatc`, which is in the package, takes a moment.

XNNPACK names its kernels by what they do, `Convolution (NHWC, F32) IGEMM #2`, and numbers them within a partition. They
run in the order of the lowered program, whose operations say which of the exported program's they were made from.
Compiling keeps these, since lowering takes far longer than a profile.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ngraph.compilers.profiling.matching import Known, aligned, located
from pytest_ngraph.explain.profile import Kernel
from pytest_ngraph.workloads.nodes import source

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Node

OPERATIONS = "operations.json"
NATIVE = "native_call_"
"""Prefix of kernels of ExecuTorch itself; the rest is the operator that they compute: `native_call_avg_pool2d.out`."""
NUMBER = re.compile(r" #\d+$")
PRODUCT = "product"
"""Convolutions and products: XNNPACK computes a pointwise convolution as `Fully Connected`."""
FAMILIES = {
    **dict.fromkeys(("Convolution", "Deconvolution", "Fully Connected"), PRODUCT),
    **dict.fromkeys(("convolution", "linear", "addmm", "mm"), PRODUCT),
    **dict.fromkeys(("Clamp", "clamp", "relu", "hardtanh"), "clamp"),
    **dict.fromkeys(("Transpose", "permute", "transpose", "t"), "transpose"),
    **dict.fromkeys(("Static Reshape", "Copy", "view", "reshape", "squeeze", "unsqueeze", "_to_dim_order"), "reshape"),
    **dict.fromkeys(("Batch Matrix Multiply", "bmm"), "bmm"),
    **dict.fromkeys(("Max Pooling", "max_pool2d", "max_pool2d_with_indices"), "max pooling"),
    **dict.fromkeys(("Average Pooling", "avg_pool2d"), "average pooling"),
    **dict.fromkeys(("Mean", "Global Average Pooling", "mean"), "mean"),
    **dict.fromkeys(("Multiply", "mul"), "mul"),
    **dict.fromkeys(("Subtract", "sub"), "sub"),
    **dict.fromkeys(("Divide", "div"), "div"),
    **dict.fromkeys(("Concatenate", "cat"), "cat"),
}
"""Names of the same work in XNNPACK and in the lowered program. Others have the same name but for their case."""
MOVES = ("transpose", "reshape", "convert")
"""Families that change no values. A kernel of these that comes from no operation was added by XNNPACK."""


class Operation(NamedTuple):
    """An operation of the lowered program, and the exported program's that it was made from."""

    name: str
    source: str


class ProfiledMethod:
    """A method that traces its events.

    Args:
        module: loaded with its event tracer, warm, with nothing traced.
        run: calls its method.
        operations: of the lowered program, in their order.
        nodes: operations of the exported program.
    """

    def __init__(
        self, module: Any, run: Callable[[], object], operations: Sequence[Operation], nodes: Sequence[Node]
    ) -> None:
        self._module = module
        self._run = run
        self._operations = operations
        self._nodes = nodes
        run()
        self._traced()  # forgets loading, and the first call

    def profile(self, calls: int) -> Sequence[Kernel]:
        for _ in range(calls):
            self._run()
        events = self._traced()
        known = in_order([name for name, _ in events], self._operations)
        return located(kernels([seconds / calls for _, seconds in events], known), known, self._nodes)

    def close(self) -> None:
        del self._module, self._run

    def _traced(self) -> list[tuple[str, float]]:
        """Return the kernels since the last time, in the order in which they ran, with the seconds of all calls."""
        with tempfile.TemporaryDirectory(prefix="ngraph-profile-") as folder:
            file = Path(folder, "events.etdp")
            self._module.write_etdump_result_to_file(str(file))
            return ran(as_json(file))


def as_json(dump: Path) -> dict[str, Any]:
    """Return what is in an ETDump, by the names of its schema."""
    from executorch import version

    package = Path(version.__file__).parent
    schema = package / "devtools" / "etdump" / "etdump_schema_flatcc.fbs"
    within = package / "data" / "bin" / "flatc"
    flatc = str(within) if within.exists() else os.environ.get("FLATC_EXECUTABLE", "flatc")  # as ExecuTorch finds it
    how = ("--json", "--strict-json", "--defaults-json", "--raw-binary", "--size-prefixed")
    subprocess.run([flatc, *how, "-o", str(dump.parent), str(schema), "--", str(dump)], check=True)
    found: dict[str, Any] = json.loads(dump.with_suffix(".json").read_bytes())
    return found


def ran(dump: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return the kernels of an ETDump in the order in which they ran, with the seconds of all its calls."""
    calls = [list(_kernels(run)) for run in dump["run_data"] if run["name"] == "Execute"]
    return [(kernel[0][0], sum(seconds for _, seconds in kernel)) for kernel in zip(*calls, strict=True)]


def _kernels(run: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for each in run.get("events", ()):
        event = each.get("profile_event") or {}
        name = event.get("delegate_debug_id_str") or event.get("name", "")
        if "delegate_debug_id_str" in event or name.startswith(NATIVE):
            yield name, (event["end_time"] - event["start_time"]) / 1e9


def in_order(names: Sequence[str], operations: Sequence[Operation]) -> dict[str, Known]:
    """Return what is known of the kernels of a call. Each may read all before it: only their order is known."""
    own = dict(aligned([family(name) for name in names], [family(each.name) for each in operations]))
    known: dict[str, Known] = {}
    for index, name in enumerate(names):
        found = (operations[own[index]].source,) if index in own else ()
        is_added = not found and family(name) in MOVES
        known[f"{NUMBER.sub('', name)}/{index}"] = Known(nodes=found, inputs=tuple(known), layout=is_added)
    return known


def kernels(seconds: Sequence[float], known: dict[str, Known]) -> list[Kernel]:
    """Return the kernels of a call, in their order."""
    return [
        Kernel(
            name=name,
            operator=kind.removeprefix(NATIVE).partition(" (")[0],
            kind=kind,
            seconds=spent,
            provider="ExecuTorch" if kind.startswith(NATIVE) else "XnnpackBackend",
            layout=each.layout,
        )
        for (name, each), spent in zip(known.items(), seconds, strict=True)
        for kind in [name.rpartition("/")[0]]
    ]


def family(name: str) -> str:
    """Return what a kernel or an operation does, in words that both share."""
    plain = name.removeprefix(NATIVE).partition(" (")[0] if name.startswith(NATIVE) or " (" in name else name
    plain = NUMBER.sub("", plain).partition(".")[0]
    plain = re.sub(r"_copy$", "", plain)
    return FAMILIES.get(plain) or plain.lower().removeprefix("_")


def keep_operations(lowered: Any, folder: Path) -> None:
    """Write the operations of a lowered program into the folder of what is compiled from it.

    Those of its partitions stand where these are called.
    """
    (folder / OPERATIONS).write_text(json.dumps(list(_operations(lowered.exported_program().graph_module))))


def kept_operations(folder: Path) -> list[Operation]:
    """Return the operations of the lowered program that was compiled into a folder."""
    return [Operation(*each) for each in json.loads((folder / OPERATIONS).read_text())]


def _operations(module: Any) -> Iterator[Operation]:
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        called = getattr(node.target, "__name__", str(node.target))
        if "call_delegate" in called:
            yield from _operations(getattr(module, node.args[0].name).original_module.graph_module)
        elif called != "getitem":
            yield Operation(called.removeprefix("aten."), source(node))
