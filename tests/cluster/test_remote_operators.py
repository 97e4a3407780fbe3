"""Operators of one's own in what devices measure: code or a library of the project, which travels with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cluster.processes import Cluster
from cluster.remote_project import RemoteProject
from repository import Repository

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
extensions = pytest.importorskip("onnxruntime_extensions")

import onnx_models as models  # noqa: E402

SIZE = 4
OPERATOR = """
import torch


@torch.library.custom_op("mine::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@doubled.register_fake
def _(x):
    return torch.empty_like(x)


class Doubles(torch.nn.Module):
    def forward(self, x):
        return torch.ops.mine.doubled(x).relu()


def network():
    return Doubles(), torch.rand(1, 4)
"""


@pytest.fixture
def project(two: Cluster, tmp_path: Path) -> RemoteProject:
    """Return a project with a graph of one operator, and a library that has it."""
    made = RemoteProject(tmp_path, two, ["red"])
    node = onnx.helper.make_node("Inverse", ["x"], ["y"], domain="ai.onnx.contrib")
    shape = [models.value(name, [SIZE, SIZE]) for name in "xy"]
    onnx.save(models.model([node], shape[:1], shape[1:]), made.root / "net.onnx")
    (made.root / "build").mkdir()
    shutil.copy(extensions.get_library_path(), made.root / "build" / "own.so")
    return made


def run(project: RemoteProject, library: Path) -> tuple[int, str]:
    """Measure the graph with this library. Return the status, and what was printed."""
    given = str(library)
    mark = f'workload="net.onnx", compiler="onnxruntime", batch_size={SIZE}, model_args={{"custom_ops": {given!r}}}'
    (project.root / "test_it.py").write_text(
        f"import pytest\n\n@pytest.mark.ngraph({mark})\ndef test_it(measurement): ...\n"
    )
    return project.run()


@pytest.mark.parametrize("absolute", [False, True], ids=["relative", "absolute"])
def test_a_library_of_the_project_is_loaded_on_the_device(project: RemoteProject, absolute: bool) -> None:
    folder = project.root / "build" if absolute else Path("build")
    status, printed = run(project, folder / "own.so")
    assert status == 0, printed
    (record,) = project.records.values()
    assert record.outcome == "measured"


def test_a_library_that_git_ignores_is_missing_on_the_device_until_it_is_tracked(project: RemoteProject) -> None:
    repository = Repository.create(project.root)
    (project.root / ".gitignore").write_text("build/\n.ngraph/\n")
    status, printed = run(project, Path("build/own.so"))
    assert status == 1
    assert "custom_ops=build/own.so: no such file in " in printed
    repository.git("add", "--force", "build/own.so")
    status, printed = run(project, Path("build/own.so"))
    assert status == 0, printed


def test_an_operator_that_a_module_of_the_project_registers_runs_on_the_device(two: Cluster, tmp_path: Path) -> None:
    compilers = ["torchscript"]
    project = RemoteProject(tmp_path, two, ["red"], workloads=["own_operator:network"], compilers=compilers)
    (project.root / "own_operator.py").write_text(OPERATOR)
    status, printed = project.run()
    assert status == 0, printed
    project.assert_whole()
