"""What ONNX Runtime makes of a file: whether it loads it, and the outputs that others are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads.onnx import custom_operators
from pytest_ngraph.workloads.onnx import values as onnx_values

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array


def outputs(
    path: Path, values: Mapping[str, onnx_values.Value], custom_ops: Sequence[str], *, calls: int = 1
) -> list[list[Array]]:
    """Return the outputs of each call of a graph without any optimization, floats as fp32.

    Args:
        custom_ops: libraries with operators of the graph, here as in the functions below.

    Raises:
        Exception: ONNX Runtime refuses the graph or the inputs. Its errors share no base class of their own.
    """
    session = _session(path, custom_ops, optimized=False)
    found: list[Sequence[Any]] = [session.run(None, dict(values)) for _ in range(calls)]
    return [onnx_values.leaves(list(each)) for each in found]


def refusal(path: Path, custom_ops: Sequence[str], *, optimized: bool) -> str:
    """Return why ONNX Runtime does not load a graph; empty where it does.

    Args:
        optimized: whether it may optimize it. It folds constants then, and may refuse what it finds.
    """
    try:
        _session(path, custom_ops, optimized=optimized)
    except Exception as error:  # onnxruntime's errors share no base class of their own
        return first_line(error)
    return ""


def fold(path: Path, folded: Path, custom_ops: Sequence[str]) -> None:
    """Write a graph without what does not depend on its inputs, the arithmetic on their shapes included.

    Only operators of ONNX are in it. Raises as `outputs` does.
    """
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folded)
    custom_operators.register(options, custom_ops)
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _session(path: Path, custom_ops: Sequence[str], *, optimized: bool) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    custom_operators.register(options, custom_ops)
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
