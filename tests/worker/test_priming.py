"""What a compiler does once per process is done before a compile is timed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import program, progress
from pytest_ngraph.worker import priming
from pytest_ngraph.worker.prepare import prepare
from pytest_ngraph.worker.priming import prime


class Model:
    def outputs(self) -> list[Any]:
        return []

    def close(self) -> None: ...


class Noting:
    """A compiler that notes what it compiles."""

    libraries: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu",)

    def __init__(self, problem: str = "") -> None:
        self.seen: list[tuple[str, bool, str]] = []
        self._problem = problem

    def for_priming(self) -> Noting:
        return self

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        if self._problem:
            raise RuntimeError(self._problem)
        if artifact.program:
            program.load(artifact).module()(*program.inputs(artifact))
        self.seen.append((artifact.case.precision, artifact.onnx is not None, "compiled"))

    def load(self, artifact: Artifact, target: Target, folder: Path) -> Any:
        self.seen.append((artifact.case.precision, artifact.onnx is not None, "loaded"))
        return Model()


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priming, "_PRIMED", set())


@pytest.fixture
def reports() -> Iterator[list[str]]:
    """What is reported during the test."""
    found: list[str] = []
    with progress.reporting_to(found.append):
        yield found


def primed(compiler: Any, folder: Path, *, onnx: bool = False, target: Target | None = None, **fields: Any) -> None:
    case = Case(workload="w", compiler="noting", batch_size=8, **fields)
    prime(case, compiler, Artifact(folder=folder, case=case, onnx=folder if onnx else None), target or Target())


def test_something_tiny_is_compiled_and_loaded_once(tmp_path: Path) -> None:
    compiler = Noting()
    for _ in range(2):
        primed(compiler, tmp_path)
    assert compiler.seen == [("fp32", False, "compiled"), ("fp32", False, "loaded")]


@pytest.mark.parametrize("timed", [True, False])
def test_it_is_compiled_only_where_compiling_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timed: bool
) -> None:
    compiler = Noting()
    monkeypatch.setattr(compilers, "resolve", lambda text: compiler)
    case = Case(workload="w", compiler="noting", batch_size=8)
    ready = prepare(case, Artifact(folder=tmp_path, case=case), Target(), tmp_path, timed=timed)
    assert compiler.seen.count(("fp32", False, "compiled")) == (2 if timed else 1)
    assert (ready.cold_start.compile_s is not None) == timed


def test_it_is_of_the_precision_and_of_the_kind_of_the_case(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    compiler = Noting()
    primed(compiler, tmp_path, precision="bf16", target=Target(precision="bf16"))
    primed(compiler, tmp_path, onnx=True)
    assert compiler.seen[::2] == [("bf16", False, "compiled"), ("fp32", True, "compiled")]


def test_a_compiler_that_does_not_ask_for_it_is_left_alone(reports: list[str], tmp_path: Path) -> None:
    primed(object(), tmp_path)
    assert reports == []


def test_where_it_fails_the_compile_that_follows_reports_it(reports: list[str], tmp_path: Path) -> None:
    compiler = Noting("no such operator")
    primed(compiler, tmp_path)
    assert compiler.seen == []
    assert reports[-1] == "compiling"


def test_it_is_reported(reports: list[str], tmp_path: Path) -> None:
    primed(Noting(), tmp_path)
    assert reports == ["compiling something tiny first", "compiling"]


@pytest.mark.parametrize("name", [name for name in compilers.names() if name != "identity"])
def test_every_compiler_of_ours_is_primed(name: str) -> None:
    compiler: Any = compilers.resolve(name)
    assert isinstance(compiler.for_priming(), type(compiler))


@pytest.mark.parametrize("text", ["tvm:trials=7", "inductor:mode=max-autotune"])
def test_priming_searches_nothing(text: str) -> None:
    compiler: Any = compilers.resolve(text)
    assert compiler.searches
    assert not compiler.for_priming().searches


@pytest.mark.parametrize("name", ["torchscript", "onnxruntime", "openvino", "inductor", "tvm", "executorch"])
@pytest.mark.slow
def test_something_tiny_compiles(name: str, tmp_path: Path) -> None:
    """Otherwise the first case would pay, and nobody would notice."""
    if missing := compilers.missing_library(name):
        pytest.skip(missing)
    from pytest_ngraph.workloads.tiny import export_tiny

    compiler = compilers.resolve(name)
    for kind in ("program", *(["onnx"] if name in ("onnxruntime", "openvino") else [])):
        exported, compiled = tmp_path / kind, tmp_path / f"compiled {kind}"
        exported.mkdir()
        compiled.mkdir()
        case = Case(workload="tiny", compiler=name, batch_size=1)
        tiny = export_tiny(case, exported, onnx=kind == "onnx")
        compiler.compile(tiny, Target(), compiled)
        model = compiler.load(tiny, Target(), compiled)
        assert [output.shape[0] for output in model.outputs()] == [1]
        model.close()
