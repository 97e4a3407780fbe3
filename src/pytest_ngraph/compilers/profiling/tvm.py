"""Profile TVM by the hook that its virtual machine calls around each kernel.

TVM names a kernel after the operators in it: `fused_conv2d_add_relu`. Those that begin kernels appear in the program's
order. Which kernel reads which is seen from the memory that they are called with.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.profiling.matching import Known, aligned, begins_kernel, located
from pytest_ngraph.explain.profile import Kernel

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Node

BUILT_IN = "vm.builtin."
"""Prefix of what the machine does by itself: allocating, checking shapes."""
LAYOUT = re.compile(r"(fused_)?(layout_transform|transpose|cast|reshape)\d*")
"""Names of kernels that only change a layout or a type."""
CALLED = {
    "linear": "matmul", "bmm": "matmul", "mm": "matmul", "addmm": "matmul", "_softmax": "softmax",
    "Conv": "conv#d", "ConvTranspose": "conv#d_transpose", "Gemm": "matmul", "MatMul": "matmul",
    "MaxPool": "max_pool#d", "AveragePool": "avg_pool#d", "GlobalAveragePool": "mean", "GlobalMaxPool": "max",
    "ReduceMean": "mean", "ReduceSum": "sum", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod",
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "LayerNormalization": "layer_norm",
    "RMSNormalization": "rms_norm", "Concat": "concatenate", "Gather": "take", "Slice": "strided_slice",
    "Pad": "pad", "Resize": "resize#d", "ArgMax": "argmax", "ArgMin": "argmin", "Tile": "tile", "TopK": "topk",
}  # fmt: skip
"""What TVM calls an operator, by the program's name of it, or by that of an ONNX file; `#`: axes of an image."""


class ProfiledMachine:
    """A virtual machine with a hook.

    Args:
        machine: TVM's virtual machine, with nothing else in it.
        run: calls its function.
        nodes: operations of the program.
        close: frees the machine.
    """

    def __init__(
        self, machine: Any, run: Callable[[], object], nodes: Sequence[Node], close: Callable[[], None]
    ) -> None:
        self._run = run
        self._close = close
        self._nodes = nodes
        self._seconds: list[float] = []
        self._names: list[str] = []
        self._operands: list[list[int]] | None = None
        self._began = 0.0
        machine.set_instrument(self._hook)
        run()
        self._names.clear()
        self._operands = []
        run()
        self._known = known(self._names, self._operands, nodes)
        self._operands = None

    def profile(self, calls: int) -> Sequence[Kernel]:
        self._seconds.clear()
        for _ in range(calls):
            self._run()
        count = len(self._known)
        kernels = [
            Kernel(
                name=name,
                operator=name.rpartition("/")[0],
                seconds=sum(self._seconds[index::count]) / calls,
                provider="cpu",
                layout=self._known[name].layout,
            )
            for index, name in enumerate(self._known)
        ]
        return located(kernels, self._known, self._nodes)

    def close(self) -> None:
        del self._run
        self._close()

    def _hook(self, _: object, name: str, before: bool, __: object, *operands: Any) -> int:
        if name.startswith(BUILT_IN):
            return 0
        if before:
            self._began = time.perf_counter()
            return 0
        self._seconds.append(time.perf_counter() - self._began)
        if self._operands is not None:
            self._names.append(name)
            self._operands.append([address for operand in operands if (address := _address(operand))])
        return 0


def known(names: Sequence[str], operands: Sequence[Sequence[int]], nodes: Sequence[Node]) -> dict[str, Known]:
    """Return what is known of the kernels of a call, in the order in which they ran.

    Args:
        operands: addresses of the tensors of each, the result last.
    """
    begins = [node for node in nodes if begins_kernel(node)]
    called = [_called(node) for node in begins]
    pattern = re.compile("|".join(sorted(map(re.escape, set(called)), key=len, reverse=True)) or "$^")
    found = [(index, operator) for index, name in enumerate(names) for operator in pattern.findall(name)]
    own: dict[int, list[str]] = {}
    for place, node in aligned([operator for _, operator in found], called):
        own.setdefault(found[place][0], []).append(begins[node].name)
    made_by: dict[int, str] = {}
    made = {}
    for index, name in enumerate(names):
        *reads, result = operands[index] or [0]
        inputs = tuple(dict.fromkeys(made_by[address] for address in reads if address in made_by))
        is_layout = index not in own and LAYOUT.fullmatch(name) is not None
        made[f"{name}/{index}"] = Known(nodes=tuple(own.get(index, ())), inputs=inputs, layout=is_layout)
        made_by[result] = f"{name}/{index}"
    return made


def _called(node: Node) -> str:
    axes = len(node.shape) - 2 if len(node.shape) > 2 else 2
    return CALLED.get(node.operator, node.operator).replace("#", str(axes))


def _address(operand: Any) -> int:
    from torch.utils.dlpack import from_dlpack

    return from_dlpack(operand).data_ptr() if hasattr(operand, "__dlpack__") else 0
