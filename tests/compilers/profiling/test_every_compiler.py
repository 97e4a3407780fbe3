"""Every compiler that can be profiled leads its kernels back to modules; the others say that they cannot."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from compiled import CPU, THROUGHPUT, Compile, Export, require

from pytest_ngraph import compilers
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import profiling
from pytest_ngraph.compilers.progress import reporting_to
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.explain.places import place
from pytest_ngraph.workloads.nodes import nodes

CONV = Case(workload="conv", compiler="identity", batch_size=1, depth=2, width=16)


@pytest.mark.parametrize(
    "name",
    [
        "identity",
        "identity:graph=program",
        "torchscript",
        "onnxruntime",
        "openvino",
        "tvm",
        "executorch",
        pytest.param("inductor", marks=pytest.mark.slow),
    ],
)
def test_kernels_are_led_back_to_modules(name: str, exported: Export, compiled: Compile) -> None:
    require(name)
    artifact, compiler = exported(CONV), compilers.resolve(name)
    folder = compiled(replace(CONV, compiler=name))
    reports: list[str] = []
    with reporting_to(reports.append), closing(profiling.instrument(name, compiler, artifact, CPU, folder)) as model:
        kernels = model.profile(3)
    assert reports == (["compiling once more, to profile it", "profiling what was compiled"] * (name == "inductor"))
    assert len({kernel.name for kernel in kernels}) == len(kernels)
    assert all(kernel.seconds >= 0 for kernel in kernels)
    operations = nodes(artifact)
    assert {node.operator for node in operations} >= {"conv2d", "batch_norm"}
    places = [place(kernel, {node.name: node for node in operations}) for kernel in kernels]
    assert {at.group for at in places} <= {"module", "layout"}
    modules = {node.module for node in operations if node.operator == "conv2d"}
    named = {node.module for node in operations for kernel in kernels if node.name in kernel.nodes}
    assert modules <= named


class Unprofiled:
    """A compiler that only compiles."""


def test_a_compiler_without_the_method_says_so(exported: Export, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="mine:Own has no method instrument"):
        profiling.instrument("mine:Own", Unprofiled(), exported(CONV), CPU, tmp_path)  # type: ignore[arg-type]


def test_calls_side_by_side_are_refused(exported: Export, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="a profile is of one call at a time"):
        profiling.instrument("identity", compilers.resolve("identity"), exported(CONV), THROUGHPUT, tmp_path)
