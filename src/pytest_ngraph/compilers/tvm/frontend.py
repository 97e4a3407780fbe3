"""Import an exported program or an ONNX file into Relax, TVM's graph.

A program is imported with and without PyTorch's decompositions. Decomposed, a linear layer on a sequence becomes
reshape, product, addition and reshape, and attention becomes a dozen operators that guard against masked rows. TVM does
not fuse across the reshapes, and it runs the guards. Whole operators become products with their epilogues.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers import program
from pytest_ngraph.compilers.conversion import converting
from pytest_ngraph.compilers.tvm.converters import CONVERTERS, DECOMPOSED
from pytest_ngraph.compilers.tvm.rewriting import calls, rewritten
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.onnx import runtime as onnx_runtime

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Artifact


def importers(artifact: Artifact) -> Sequence[Callable[[], Any]]:
    """Return the ways to import the workload, the one with the fastest kernels first and TVM's default last.

    Each returns an `IRModule` with the function `main` and its weights as constants.

    Raises:
        Unsupported: there is neither a program nor a file that TVM reads.
    """
    if (file := program.onnx_file(artifact, "tvm")) is not None:
        return [partial(folded_onnx_relax_module, file, artifact.custom_ops), partial(onnx_relax_module, file)]
    loaded = program.load(artifact)
    return [partial(whole_relax_module, loaded), partial(decomposed_relax_module, loaded)]


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
        raise Unsupported(f"TVM cannot import the program: {_reason(error)}") from error


def folded_onnx_relax_module(file: Path, custom_ops: Sequence[str]) -> Any:
    """Return an ONNX file at fixed sizes, after ONNX Runtime has folded it: TVM takes shapes only as constants."""
    with tempfile.TemporaryDirectory(prefix="ngraph-tvm-") as folder:
        folded = Path(folder) / file.name
        onnx_runtime.fold(file, folded, custom_ops)
        return onnx_relax_module(folded)


def onnx_relax_module(file: Path) -> Any:
    """Return an ONNX file at fixed sizes as TVM imports it. Raises `Unsupported` for a graph that TVM does not take."""
    import onnx
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    try:
        with converting():
            module = from_onnx(onnx.load(file), keep_params_in_input=False)
            # TVM compiles what its importer makes only after this pass.
            return _without_dropout(relax.transform.DecomposeOpsForInference()(module))
    except Exception as error:
        raise Unsupported(f"TVM cannot import the file: {_reason(error)}") from error


def _without_dropout(module: Any) -> Any:
    """Return the module without dropout, which does nothing here: ConvertLayout fails on its mask, a second output."""
    from tvm import relax

    @relax.expr_functor.mutator
    class Drop(relax.PyExprMutator):  # type: ignore[misc]
        def visit_tuple_getitem_(self, item: Any) -> Any:
            item = super().visit_tuple_getitem_(item)
            made = item.tuple_value
            made = self.lookup_binding(made) if isinstance(made, relax.Var) else made
            return made.args[0] if item.index == 0 and calls(made, "relax.nn.dropout") else item

    return relax.transform.DeadCodeElimination()(rewritten(module, Drop))


def _reshape_instead_of_viewing(program: torch.export.ExportedProgram) -> None:
    """Replace views in the graph by reshapes, in place.

    `torch.export` writes a view wherever the strides of whole operators allow one. Attention in parts has other
    strides, with which PyTorch's decomposition refuses the view.
    """
    import torch

    for node in program.graph.find_nodes(op="call_function", target=torch.ops.aten.view.default):
        node.target = torch.ops.aten.reshape.default
    program.graph_module.recompile()


def _reason(error: Exception) -> str:
    """Return the first line of TVM's error; with its type, where a converter raises no sentence."""
    text = (str(error).strip().splitlines() or [""])[0]
    return text if " " in text else repr(error)
