"""What every compiler promises, including compilers that other packages register."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compiled import CPU, THROUGHPUT, Compile, Export, Load, require

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import CompiledModel, streams
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.workloads.verify import verify

Function = Callable[..., None]
COMPILE_SEPARATELY: list[Function] = []

FAMILIES = ["resnet18", "efficientnet_b0", "deit3_small_patch16_224", "swin_s3_tiny_224", "convnext_tiny"]


def compiles_separately(test: Function) -> Function:
    """Mark a test that compiles something that no other test needs."""
    COMPILE_SEPARATELY.append(test)
    return test


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test on every compiler.

    The tests of a compiler follow each other, so that pytest-xdist gives them to one process, which compiles each case
    once. Inductor takes ten seconds to compile anything, so its tests that compile separately are marked slow.
    """
    slow = {"inductor"} if metafunc.function in COMPILE_SEPARATELY else set()
    names = [pytest.param(name, marks=[pytest.mark.slow] * (name in slow)) for name in compilers.names()]
    metafunc.parametrize("compiler", names, scope="module")


@pytest.fixture
def load(load_once: Load) -> Load:
    """Each case is compiled only once."""
    return load_once


def conv(compiler: str, batch_size: int = 1) -> Case:
    return Case(workload="conv", compiler=compiler, batch_size=batch_size, depth=2, width=16)


def mha(compiler: str, batch_size: int = 1) -> Case:
    return Case(workload="mha", compiler=compiler, batch_size=batch_size, depth=1, width=16)


@pytest.mark.parametrize("case", [conv("", 1), mha("", 1), mha("", 3)], ids=lambda case: case.group_label)
def test_blocks_agree_with_eager(compiler: str, case: Case, load: Load, exported: Export) -> None:
    _check_agreement(_under(case, compiler), load, exported)


@compiles_separately
def test_several_inputs_and_nested_outputs_agree_with_eager(compiler: str, load: Load, exported: Export) -> None:
    case = Case(workload="unusual:encoder", compiler=compiler, batch_size=2)
    _check_agreement(case, load, exported)
    assert len(load(case).outputs()) == 3


@compiles_separately
def test_attention_with_a_computed_bias_agrees_with_eager(compiler: str, load: Load, exported: Export) -> None:
    _check_agreement(Case(workload="unusual:biased_attention", compiler=compiler, batch_size=2), load, exported)


@compiles_separately
def test_dicts_keyword_arguments_and_dataclasses_agree_with_eager(compiler: str, load: Load, exported: Export) -> None:
    case = Case(workload="unusual:described", compiler=compiler, batch_size=2)
    _check_agreement(case, load, exported)
    artifact = exported(case)
    assert artifact.input_names == ("batch['x']", "unused", "shift")
    assert artifact.output_names == ("output.hidden", "output.scores['first']", "output.scores['sum']")


@compiles_separately
def test_a_whole_model_agrees_with_eager(compiler: str, load: Load, exported: Export) -> None:
    require(compiler)
    pytest.importorskip("timm")
    _check_agreement(Case(workload="test_resnet", compiler=compiler, batch_size=1), load, exported)


@pytest.mark.slow
@pytest.mark.parametrize("workload", FAMILIES)
def test_every_family_agrees_with_eager(compiler: str, workload: str, load: Load, exported: Export) -> None:
    _check_agreement(Case(workload=workload, compiler=compiler, batch_size=1), load, exported)


def test_calls_repeat(compiler: str, load: Load) -> None:
    model = load(mha(compiler))
    first = model.outputs()
    for _ in range(3):
        model()
    for before, after in zip(first, model.outputs(), strict=True):
        np.testing.assert_array_equal(before, after)


def test_models_run_side_by_side(compiler: str, load: Load, exported: Export) -> None:
    one, other = load(mha(compiler, 1)), load(mha(compiler, 3))
    expected = [exported(mha(compiler, size)).reference() for size in (1, 3)]
    for _ in range(2):
        for model, reference in zip((one, other), expected, strict=True):
            model()
            assert verify(model.outputs(), reference, "fp32").agrees


def test_what_was_compiled_loads_again(compiler: str, load: Load, exported: Export) -> None:
    for _ in range(2):
        model = load(mha(compiler))
        assert verify(model.outputs(), exported(mha(compiler)).reference(), "fp32").agrees


def test_the_stopwatch_counts_the_work_between(compiler: str, load: Load) -> None:
    model = load(mha(compiler))
    model.stopwatch.start()
    model()
    assert model.stopwatch.stop() > 0
    assert model.concurrency >= 1


def test_facts_show_version_and_precision(compiler: str, load: Load) -> None:
    facts = load(mha(compiler)).facts
    assert facts["version"]
    assert facts["precision"] == "fp32"
    assert all(isinstance(value, str) for value in facts.values())


def test_close_frees_the_model(compiler: str, exported: Export, compiled: Compile) -> None:
    require(compiler)
    case = mha(compiler)
    folder = compiled(case, CPU)
    _check_that_close_frees(lambda: compilers.resolve(compiler).load(exported(case), CPU, folder))


@compiles_separately
@pytest.mark.parametrize("case", [conv("", 1), mha("", 3)], ids=lambda case: case.group_label)
def test_streams_agree_with_eager(compiler: str, case: Case, load: Load, exported: Export) -> None:
    _require_throughput(compiler)
    model = load(_under(case, compiler), THROUGHPUT)
    assert model.concurrency == int(model.facts["streams"]) == THROUGHPUT.threads
    model.stopwatch.start()
    for _ in range(5):
        model()
    assert model.stopwatch.stop() > 0
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


@compiles_separately
def test_streams_end_with_the_model(compiler: str, exported: Export, compiled: Compile) -> None:
    _require_throughput(compiler)
    case = mha(compiler, 3)
    folder = compiled(case, THROUGHPUT)
    _check_that_close_frees(lambda: compilers.resolve(compiler).load(exported(case), THROUGHPUT, folder))
    assert streams.THREAD not in {thread.name for thread in threading.enumerate()}


@compiles_separately
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_lower_precision_agrees_or_is_refused(compiler: str, precision: str, load: Load, exported: Export) -> None:
    case = Case.from_dict(mha(compiler).to_dict() | {"precision": precision})
    target = Target.from_dict(CPU.to_dict() | {"precision": precision})
    try:
        model = load(case, target)
    except Unsupported as reason:
        assert precision in str(reason)  # noqa: PT017 (either outcome is right)
    else:
        assert model.facts["precision"] == precision
        agreement = verify(model.outputs(), exported(case).reference(), case.precision)
        assert agreement.agrees, agreement.problem


def test_an_unknown_operator_runs_or_is_refused(compiler: str, load: Load, exported: Export) -> None:
    """A user's operator runs where PyTorch runs the graph; all other compilers name it as unsupported."""
    case = Case(workload="twice:build", compiler=compiler, batch_size=2)
    try:
        model = load(case)
    except Unsupported as reason:
        assert "twice" in str(reason)  # noqa: PT017 (either outcome is right)
    else:
        assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


def test_an_onnx_file_runs_or_is_refused(compiler: str, load: Load, exported: Export, onnx_file: Path) -> None:
    case = Case(workload=str(onnx_file), compiler=compiler, batch_size=2)
    try:
        model = load(case)
    except Unsupported as reason:
        assert "ONNX file" in str(reason)  # noqa: PT017 (either outcome is right)
    else:
        assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


def test_an_unknown_option_is_refused_by_name(compiler: str) -> None:
    with pytest.raises(UsageError, match=f"option of compiler {compiler} 'no_such_option'"):
        compilers.resolve(f"{compiler}:no_such_option=1")


def test_options_are_read_without_importing_a_library(compiler: str) -> None:
    script = (
        "import sys; from pytest_ngraph import compilers; from pytest_ngraph.errors import UsageError\n"
        f"try: compilers.resolve('{compiler}:no_such_option=1')\n"
        "except UsageError: pass\n"
        "loaded = {'numpy', 'torch', 'onnx', 'onnxruntime', 'openvino', 'tvm', 'tensorrt'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    finished = subprocess.run([sys.executable, "-c", script], check=False, stderr=subprocess.PIPE, text=True)
    assert finished.returncode == 0, finished.stderr


def _require_throughput(compiler: str) -> None:
    require(compiler)
    if "throughput" not in getattr(compilers.resolve(compiler), "objectives", ()):
        pytest.skip(f"{compiler} is not measured for throughput")


def _check_that_close_frees(load: Callable[[], CompiledModel]) -> None:
    model = load()
    model()  # streams are still at work when it is closed
    model.close()
    freed = weakref.ref(model)
    del model
    gc.collect()
    assert freed() is None


def _under(case: Case, compiler: str) -> Case:
    return Case.from_dict(case.to_dict() | {"compiler": compiler})


def _check_agreement(case: Case, load: Load, exported: Export) -> None:
    agreement = verify(load(case).outputs(), exported(case).reference(), "fp32")
    assert agreement.agrees, agreement.problem
