"""Import an exported program into Relax, TVM's graph, with and without PyTorch's decompositions.

Decomposed, a linear layer on a sequence becomes reshape, product, addition and reshape, and attention becomes a dozen
operators that guard against masked rows. TVM does not fuse across the reshapes, and it runs the guards. Whole operators
become products with their epilogues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.conversion import converting
from pytest_ngraph.compilers.tvm.converters import CONVERTERS, DECOMPOSED
from pytest_ngraph.errors import Unsupported

if TYPE_CHECKING:
    import torch


def whole_relax_module(program: torch.export.ExportedProgram) -> Any:
    """Return the program as an `IRModule` with the function `main` and its weights as constants.

    Raises:
        Exception: TVM does not know an operator whole. The type varies: each converter of the importer asserts, looks
            up or raises in its own way.
    """
    from tvm.relax.frontend.torch import from_exported_program

    with converting():
        whole = program.run_decompositions({})  # only in-place operators are replaced
        return from_exported_program(
            whole, unwrap_unit_return_tuple=True, run_ep_decomposition=False, custom_convert_map=CONVERTERS
        )


def decomposed_relax_module(program: torch.export.ExportedProgram) -> Any:
    """Return the program as TVM imports it by default. Raises `Unsupported` for an operator that TVM does not know."""
    import torch
    from tvm.relax.frontend.torch import from_exported_program

    _reshape_instead_of_viewing(program)
    try:
        with converting(), torch.no_grad():
            return from_exported_program(program, unwrap_unit_return_tuple=True, custom_convert_map=DECOMPOSED)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [repr(error)])[0]
        raise Unsupported(f"TVM cannot import the program: {reason}") from error


def _reshape_instead_of_viewing(program: torch.export.ExportedProgram) -> None:
    """Replace views in the graph by reshapes, in place.

    `torch.export` writes a view wherever the strides of whole operators allow one. Attention in parts has other
    strides, with which PyTorch's decomposition refuses the view.
    """
    import torch

    for node in program.graph.find_nodes(op="call_function", target=torch.ops.aten.view.default):
        node.target = torch.ops.aten.reshape.default
    program.graph_module.recompile()
