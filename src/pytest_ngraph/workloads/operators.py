"""Operators that PyTorch itself lacks: whoever reads a program that has some must import what defines them first."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pytest_ngraph.system.relocation import IN_ENVIRONMENT
from pytest_ngraph.workloads import modules_of, runs_user_code

if TYPE_CHECKING:
    import torch

OF_PYTORCH = ("aten", "prim", "prims", "quantized", "quantized_decomposed", "higher_order", "inductor")
"""Namespaces of operators that need no import."""


def homes(program: torch.export.ExportedProgram, workload: str) -> tuple[str, ...]:
    """Return the modules that define operators of a program which PyTorch lacks.

    Args:
        program: the program, in the process that exported it.
        workload: the name of the workload. The module of an import string is taken for what defines the operators whose
            origin PyTorch does not keep: those that `torch.library.Library` defines, or a C++ extension. A namespace
            may be named like the user's own package, which need not import what defines them.
    """
    import torch

    graphs = [part.graph for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    targets = {
        node.target for graph in graphs for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)
    }
    own = {target for target in targets if target.namespace not in OF_PYTORCH}
    return tuple(sorted({home for operator in own for home in _homes(operator, workload)}))


def _homes(operator: Any, workload: str) -> Iterator[str]:
    from torch._library.custom_ops import OPDEFS

    defined = OPDEFS.get(operator.name().partition(".")[0])
    if defined is not None:
        yield defined._init_fn.__module__
        return
    package = sys.modules.get(operator.namespace)
    if package is not None:
        yield operator.namespace
    is_library = IN_ENVIRONMENT.fullmatch(getattr(package, "__file__", None) or "")  # torchvision
    if ":" in workload and runs_user_code(workload) and not is_library:  # hf:bert is no module hf
        yield modules_of(workload)[1]
