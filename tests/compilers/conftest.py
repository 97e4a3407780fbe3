"""Fixtures that export artifacts, once a session, and compile and load them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest
from compiled import CPU, Compile, Export, Load, require
from once import Once

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import CompiledModel
from pytest_ngraph.workloads.export import export


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Export:
    """Return a function that exports a case; what differs in the compiler alone is exported only once."""
    made: dict[Case, Artifact] = {}

    def export_once(case: Case) -> Artifact:
        if case.group not in made:
            made[case.group] = export(case, tmp_path_factory.mktemp("artifact"))
        return dataclasses.replace(made[case.group], case=case)

    return export_once


@pytest.fixture
def load(exported: Export, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Load]:
    """Return a function that compiles and loads a case for a target. Models are closed at the end of the test."""
    with ExitStack() as stack:

        def compile_and_load(case: Case, target: Target = CPU, folder: Path | None = None) -> CompiledModel:
            require(case.compiler)
            artifact, compiler = exported(case), compilers.resolve(case.compiler)
            if folder is None:
                folder = tmp_path_factory.mktemp("compiled")
                compiler.compile(artifact, target, folder)
            return stack.enter_context(closing(compiler.load(artifact, target, folder)))

        yield compile_and_load


@pytest.fixture(scope="session")
def compiled(exported: Export, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Return a function that compiles a case for a target and returns the folder; each pair is compiled once a run."""
    once = Once(request.config, tmp_path_factory)

    def compile_once(case: Case, target: Target = CPU) -> Path:
        compiler = compilers.resolve(case.compiler)
        return once(repr((case, target)), lambda folder: compiler.compile(exported(case), target, folder))

    return compile_once


@pytest.fixture
def load_once(exported: Export, compiled: Compile) -> Iterator[Load]:
    """Like `load`, but what has been compiled is loaded again."""
    with ExitStack() as stack:

        def load(case: Case, target: Target = CPU, folder: Path | None = None) -> CompiledModel:
            require(case.compiler)
            folder = folder or compiled(case, target)
            model = compilers.resolve(case.compiler).load(exported(case), target, folder)
            return stack.enter_context(closing(model))

        yield load


@pytest.fixture
def onnx_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write an ONNX file of one matrix product: (2, 4) to (2, 3)."""
    onnx = pytest.importorskip("onnx")
    weight = onnx.numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "weight")
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 4])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 3])
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "weight"], ["y"])], "net", [x], [y], [weight])
    opset = onnx.helper.make_opsetid("", 17)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8)
    path: Path = tmp_path_factory.mktemp("onnx") / "net.onnx"
    onnx.save(model, path)
    return path
