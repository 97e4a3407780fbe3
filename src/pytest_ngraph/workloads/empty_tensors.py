"""Take empty tensors out of concatenations, where only PyTorch accepts them.

`torch.cat` skips a tensor of shape (0,) whatever the shape of the others. The caches of transformers begin as such
tensors, and OpenVINO and TVM refuse them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def drop_empty(program: torch.export.ExportedProgram) -> None:
    """Remove tensors of shape (0,) from every concatenation of tensors with more axes, in place."""
    import torch

    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.find_nodes(op="call_function", target=torch.ops.aten.cat.default):
                _drop_from(node)
            module.recompile()


def _drop_from(node: torch.fx.Node) -> None:
    parts: list[torch.fx.Node] = list(node.args[0])  # type: ignore[arg-type]  # a list of tensors
    kept = [part for part in parts if tuple(part.meta["val"].shape) != (0,)]
    if len(kept) < len(parts) and any(part.meta["val"].ndim > 1 for part in kept):
        node.args = (kept, *node.args[1:])
        for part in set(parts) - set(kept):
            _erase_unused(part)


def _erase_unused(node: torch.fx.Node) -> None:
    """Erase an operation that nothing reads, and what only it read. Inputs of the graph stay."""
    if node.users or node.op in ("placeholder", "output"):
        return
    read = node.all_input_nodes
    node.graph.erase_node(node)
    for each in read:
        _erase_unused(each)
