"""The compiler as a whole: its options and facts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import psutil
import pytest
import tvm
import unusual
from compiled import CPU, Export

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.tvm import Tvm, frontend, gpu, pipeline
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.worker import memory
from pytest_ngraph.workloads.verify import verify

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TVM = "pytest_ngraph.compilers.tvm:Tvm"
CONV = Case(workload="conv", compiler=TVM, batch_size=1, depth=2, width=16)
ACTIVATION_BYTES = 4 * CONV.batch_size * 16 * 244 * 244
MHA = Case(workload="mha", compiler=TVM, batch_size=2, depth=1, width=16)


@pytest.mark.parametrize("case", [CONV, MHA], ids=lambda case: str(case.workload))
def test_every_kernel_is_scheduled(case: Case, exported: Export, tmp_path: Path, host: Any) -> None:
    model = compiled(Tvm(), exported, case, tmp_path)
    scheduled, _, total, *_ = model.facts["kernels"].split()
    assert scheduled == total
    assert model.facts["threads"] == str(CPU.threads)


@pytest.mark.parametrize("compiler", [Tvm(), Tvm(schedule="stock")], ids=["rules", "stock"])
def test_outputs_agree(compiler: Tvm, exported: Export, tmp_path: Path, host: Any) -> None:
    model = compiled(compiler, exported, CONV, tmp_path)
    for output, reference in zip(model.outputs(), exported(CONV).reference(), strict=True):
        np.testing.assert_allclose(output, reference, atol=1e-5 * np.abs(reference).max())
    assert model.facts["schedule"] == compiler.schedule


@pytest.mark.parametrize("workload", ["masked", "recurrent", "padded_attention"])
def test_what_our_passes_cannot_take_whole_is_decomposed(
    workload: str, exported: Export, tmp_path: Path, host: Any
) -> None:
    case = Case(workload=f"{unusual.__name__}:{workload}", compiler=TVM, batch_size=2)
    if refused := exported(case).export_error:  # torch 2.7 exports no LSTM
        pytest.skip(f"torch.export refuses it: {refused}")
    model = compiled(Tvm(), exported, case, tmp_path)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


def test_a_kernel_that_tvm_wrote_as_loops_stays_as_it_is(exported: Export, tmp_path: Path, host: Any) -> None:
    case = Case(workload=f"{unusual.__name__}:routed", compiler=TVM, batch_size=2)
    model = compiled(Tvm(), exported, case, tmp_path)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    scheduled, _, total, *_ = model.facts["kernels"].split()
    assert scheduled == total


@pytest.mark.parametrize("schedule", ["rules", "stock"])
def test_what_tvm_itself_cannot_compile_is_unsupported(
    schedule: Literal["rules", "stock"], exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise ValueError("unknown kernel\nand a page of context")

    monkeypatch.setattr(tvm, "compile", breaks)
    with pytest.raises(Unsupported) as refusal:
        Tvm(schedule=schedule).compile(exported(MHA), CPU, tmp_path)
    assert str(refusal.value) == "TVM cannot compile mha: ValueError: unknown kernel"


def test_what_only_our_passes_cannot_compile_fails(
    exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise ValueError("a defect of ours")

    monkeypatch.setattr(pipeline, "lower", breaks)
    with pytest.raises(ValueError, match="a defect of ours"):
        Tvm().compile(exported(MHA), CPU, tmp_path)


def test_batch_norms_become_part_of_the_convolutions(exported: Export, host: Any) -> None:
    module = pipeline.lower(frontend.importers(exported(CONV)), host)
    names = " ".join(variable.name_hint for variable in module.get_global_vars())
    assert "conv2d" in names
    assert "sqrt" not in names
    assert "multiply" not in names


def test_the_stock_pipeline_is_not_tuned() -> None:
    with pytest.raises(UsageError, match="only schedule=rules can be tuned"):
        compilers.resolve(f"{TVM}:schedule=stock,trials=10")


def test_other_precisions_are_refused(exported: Export, tmp_path: Path, host: Any) -> None:
    with pytest.raises(Unsupported, match="tvm does not run bf16 on cpu; it runs fp32"):
        Tvm().compile(exported(MHA), Target(precision="bf16"), tmp_path)


def compiled(compiler: Tvm, exported: Export, case: Case, folder: Path) -> Any:
    compiler.compile(exported(case), CPU, folder)
    return compiler.load(exported(case), CPU, folder)


def test_a_gpu_gets_schedules_for_every_kernel(exported: Export, host: Any) -> None:
    import tvm

    target = tvm.target.Target(tvm.target.Target("nvidia/nvidia-a100"), host=tvm.target.Target("llvm"))
    module, coverage = gpu.schedule(pipeline.lower(frontend.importers(exported(CONV)), target), target)
    assert coverage.by_rule + coverage.by_fallback > 1
    assert (" of them by a fallback" in str(coverage)) == (coverage.by_fallback > 0)
    assert not coverage.naive
    assert "blockIdx.x" in module.script()
    assert "T.parallel" not in module.script()


@pytest.mark.skipif(tvm.cuda(0).exist, reason="this TVM can use CUDA")
def test_without_a_cuda_runtime_a_gpu_is_skipped_with_the_reason(
    exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wheel for x86 brings `libtvm_runtime_cuda.so`, which needs NVIDIA's driver; a wheel without it is faked."""
    on_gpu = Target(kind="cuda")
    if (Path(tvm.__file__).parent / "lib" / "libtvm_runtime_cuda.so").exists():
        with pytest.raises(Unsupported, match=r"TVM [\w.]+ cannot use cuda devices here: lib\w+\.so.*: cannot open"):
            Tvm().compile(exported(CONV), on_gpu, tmp_path)
    monkeypatch.setattr(tvm, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(Unsupported, match=r"this build has no libtvm_runtime_cuda\.so; build TVM with USE_CUDA=ON"):
        Tvm().compile(exported(CONV), on_gpu, tmp_path)


def test_schedules_for_a_gpu_are_labelled_as_dlights(
    exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executable is faked: code for a GPU cannot be generated without CUDA's headers."""
    a100 = tvm.target.Target(tvm.target.Target("nvidia/nvidia-a100"), host=tvm.target.Target("llvm"))
    monkeypatch.setattr("pytest_ngraph.compilers.tvm.target.refuse_device", lambda target: None)
    monkeypatch.setattr("pytest_ngraph.compilers.tvm.target.tvm_target", lambda target: a100)
    monkeypatch.setattr(tvm, "compile", lambda *_: SimpleNamespace(export_library=lambda path: None))
    for schedule, label in (("rules", "dlight"), ("stock", "stock")):
        compilers.resolve(f"tvm:schedule={schedule}").compile(exported(CONV), Target(kind="cuda"), tmp_path)
        assert json.loads((tmp_path / "facts.json").read_text())["schedule"] == label


def test_a_closed_model_leaves_nothing_in_the_pool(exported: Export, tmp_path: Path, host: Any) -> None:
    model = compiled(Tvm(), exported, CONV, tmp_path)
    model()
    model.close()
    memory.trim()
    left = psutil.Process().memory_info().rss
    tvm.get_global_func("vm.builtin.memory_manager.clear")()
    memory.trim()
    assert left - psutil.Process().memory_info().rss < ACTIVATION_BYTES
