"""Small ONNX models with the traits of those that packages ship."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOAT, INT32, INT64, BOOL, STRING = (
    onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL,
    onnx.TensorProto.STRING,
)  # fmt: skip
Axis = int | str | None
Axes = Sequence[Axis] | None


def value(name: str, axes: Axes, kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, axes)


def model(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any], **weights: Any) -> Any:
    """Return a model; `weights` are its initializers by name."""
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    graph = helper.make_graph(list(nodes), "net", list(inputs), list(outputs), tensors)
    domains = {"": 17, **{node.domain: 1 for node in nodes if node.domain}}
    opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def weights(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)


def linear(shape: list[Axis], kind: type[np.generic] = np.float32, output: list[Axis] | None = None) -> Any:
    """Return the model y = x @ WEIGHTS."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    inputs, outputs = value("x", shape, element), value("y", output or [*shape[:-1], 3], element)
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [inputs], [outputs], w=WEIGHTS.astype(kind))


def sums(**inputs: Axes) -> Any:
    """Return a model that sums the absolute values of each of its inputs."""
    nodes = [helper.make_node("ReduceL1", [name], [f"{name}_sum"], keepdims=0) for name in inputs]
    outputs = [value(f"{name}_sum", []) for name in inputs]
    return model(nodes, [value(name, axes) for name, axes in inputs.items()], outputs)


def recurrent() -> Any:
    """Return a model as a voice detector is: `input` (batch, time, 4), `state` (1, batch, 8), and a rate."""
    nodes = [
        helper.make_node("Transpose", ["input"], ["steps"], perm=[1, 0, 2]),
        helper.make_node("GRU", ["steps", "w", "r", "", "", "state"], ["all", "next"], hidden_size=8),
        helper.make_node("Equal", ["sr", "known"], ["is_known"]),
        helper.make_node("If", ["is_known"], ["y"], then_branch=_branch(2.0), else_branch=_branch(3.0)),
    ]
    inputs = [value("input", ["batch", "time", 4]), value("state", [1, None, 8]), value("sr", [], INT64)]
    outputs = [value("y", [1, None, 8]), value("next", [1, None, 8])]
    return model(nodes, inputs, outputs, w=weights(1, 24, 4), r=weights(1, 24, 8), known=np.int64(16000))


def branching(table: Any) -> Any:
    """Return a model that looks up ids, says which of 200 kinds they are, and has a branch."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["next"]),
        helper.make_node("Equal", ["kind", "kinds"], ["is_kind"]),
        helper.make_node("Equal", ["sr", "known"], ["is_known"]),
        helper.make_node("If", ["is_known"], ["y"], then_branch=_branch(2.0), else_branch=_branch(3.0)),
    ]
    inputs = [value("ids", ["N", 7], INT64), value("kind", ["N", 1], INT64), value("sr", [], INT64)]
    outputs = [value("y", None), value("is_kind", ["N", 200], BOOL)]
    return model(nodes, inputs, outputs, table=table, kinds=np.arange(200), known=np.int64(16000))


def _branch(factor: float) -> Any:
    constant = helper.make_node(
        "Constant", [], ["factor"], value=numpy_helper.from_array(np.array(factor, np.float32), "factor")
    )
    return helper.make_graph(
        [constant, helper.make_node("Mul", ["next", "factor"], ["scaled"])], "branch", [], [value("scaled", None)]
    )


def encoder() -> Any:
    """Return a model as a text encoder is: ids, an attention mask, token types and positions."""
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["word"]),
        helper.make_node("Cast", ["token_type_ids"], ["types_32"], to=INT32),
        helper.make_node("Gather", ["types", "types_32"], ["type"]),
        helper.make_node("Gather", ["places", "position_ids"], ["place"]),
        helper.make_node("Cast", ["attention_mask"], ["float_mask"], to=FLOAT),
        helper.make_node("Unsqueeze", ["float_mask", "last"], ["wide_mask"]),
        helper.make_node("Add", ["word", "type"], ["both"]),
        helper.make_node("Add", ["both", "place"], ["embedded"]),
        helper.make_node("Mul", ["embedded", "wide_mask"], ["y"]),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
    inputs = [value(name, ["batch_size", "sequence"], INT64) for name in names]
    tables = {"words": weights(50, 4), "types": weights(2, 4), "places": weights(16, 4)}
    return model(nodes, inputs, [value("y", ["batch_size", "sequence", 4])], **tables, last=np.array([-1]))


def detector(most: int = 300, shape: Axes = ("kept", 4)) -> Any:
    """Return a model as a detector is, with non-maximum suppression inside: `boxes`, `scores`, and `all` its scores."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["corners"]),
        helper.make_node("ReduceMean", ["x"], ["all"], axes=[2], keepdims=0),
        helper.make_node("Unsqueeze", ["all", "one"], ["classes"]),
        helper.make_node("NonMaxSuppression", ["corners", "classes", "most", "overlap", "threshold"], ["selected"]),
        helper.make_node("Gather", ["selected", "two"], ["places"], axis=1),
        helper.make_node("Squeeze", ["corners", "zero"], ["flat_corners"]),
        helper.make_node("Squeeze", ["all", "zero"], ["flat_scores"]),
        helper.make_node("Gather", ["flat_corners", "places"], ["boxes"]),
        helper.make_node("Gather", ["flat_scores", "places"], ["scores"]),
    ]
    outputs = [value("boxes", shape), value("scores", shape and shape[:1]), value("all", ["batch", None])]
    numbers = {"zero": np.array([0]), "one": np.array([1]), "two": np.array(2), "most": np.array([most])}
    limits = {"overlap": np.array([0.9], np.float32), "threshold": np.array([0], np.float32)}
    return model(nodes, [value("x", ["batch", 40, 8])], outputs, w=weights(8, 4), **numbers, **limits)
