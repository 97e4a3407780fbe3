from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from compiled import CPU, Export, Load

from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import program
from pytest_ngraph.compilers.inductor import Inductor, headers
from pytest_ngraph.compilers.inductor.caching import CACHE, TRITON_CACHE, caching_in
from pytest_ngraph.compilers.inductor.model import InductorModel, counts
from pytest_ngraph.compilers.inductor.package import PACKAGE
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.verify import verify

CASE = Case(workload="mha", compiler="inductor", batch_size=1, width=24)


def test_a_missing_compiler_is_named(exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = exported(CASE)
    import_module("torch._inductor.config")  # it keeps the value that CXX had when it was imported
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(Unsupported, match=r"needs a C\+\+ compiler and 'no-such-compiler' is not on PATH"):
        Inductor().compile(artifact, CPU, tmp_path)


@pytest.fixture(scope="module")
def cold_start(exported: Export, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A folder in which `CASE` was compiled, the user's own cache of Inductor, and ours: both were empty then."""
    users, folder = tmp_path_factory.mktemp("the user's"), tmp_path_factory.mktemp("compiled")
    kept = tmp_path_factory.mktemp("kept")
    with headers.kept(), pytest.MonkeyPatch.context() as patch:  # headers of other sessions are not compiled again
        patch.setenv(CACHE, str(users))
        patch.setenv("XDG_CACHE_HOME", str(kept))
        Inductor().compile(exported(CASE), CPU, folder)
        assert os.environ[CACHE] == str(users)
    return folder, users, kept


def test_a_cold_start_leaves_the_users_cache_alone(cold_start: tuple[Path, Path, Path]) -> None:
    folder, users, _ = cold_start
    assert [path.name for path in folder.rglob("*")] == [PACKAGE]
    assert not any(users.rglob("*.cpp"))


def test_the_headers_that_it_precompiles_are_kept(cold_start: tuple[Path, Path, Path]) -> None:
    *_, kept = cold_start
    assert list((kept / "pytest-ngraph" / "inductor-headers").glob("*.gch"))


@pytest.fixture
def packaged(exported: Export, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Replace packages by what adds one to the right outputs where it was compiled with freezing, and list whether."""
    import torch

    artifact, frozen = exported(CASE), list[bool]()

    def package(compiler: Inductor, _: object, __: object, path: Path, **options: bool) -> None:
        frozen.append(options.get("freezing", compiler.freezing))

    def run(_: Path) -> Callable[..., object]:
        right = [torch.from_numpy(array) for array in artifact.reference()]
        return lambda *_: [tensor + frozen[-1] for tensor in right]

    monkeypatch.setattr(Inductor, "_package", package)
    monkeypatch.setattr("pytest_ngraph.compilers.inductor.package.run", run)
    return frozen


def test_a_package_whose_constant_weights_spoil_its_outputs_is_compiled_without(
    exported: Export, load: Load, packaged: list[bool], tmp_path: Path
) -> None:
    """Seen with torchvision's raft_small."""
    Inductor().compile(exported(CASE), CPU, tmp_path)
    assert packaged == [True, False]
    model = load(CASE, folder=tmp_path)
    assert verify(model.outputs(), exported(CASE).reference(), "fp32").agrees
    assert model.facts["freezing"] == "False"
    assert "differs by" in model.facts["unfrozen"]


def test_a_program_that_does_not_compile_with_constant_weights_is_compiled_without(
    exported: Export, load: Load, packaged: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen with timm's gemma4_vit."""
    package = Inductor._package

    def refusing(compiler: Inductor, *args: Any, **options: Any) -> None:
        package(compiler, *args, **options)
        if packaged[-1]:
            raise RuntimeError("TypeError: '<=' not supported between instances of 'Constant' and 'Constant'\n  in fn")

    monkeypatch.setattr(Inductor, "_package", refusing)
    Inductor().compile(exported(CASE), CPU, tmp_path)
    assert packaged == [True, False]
    facts = load(CASE, folder=tmp_path).facts
    assert facts["freezing"] == "False"
    assert facts["unfrozen"] == "TypeError: '<=' not supported between instances of 'Constant' and 'Constant'"


@pytest.mark.slow
def test_what_inductor_cannot_do_with_constant_weights_is_no_obstacle(exported: Export, load: Load) -> None:
    """Limits of a clamp that are buffers become constants, which PyTorch 2.14 cannot compare."""
    case = Case(workload="odd_nets:limited", compiler="inductor", batch_size=2)
    assert verify(load(case).outputs(), exported(case).reference(), "fp32").agrees


def test_a_first_call_that_fails_with_constant_weights_is_made_without(
    exported: Export, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._inductor import config
    from torch._inductor.exc import InductorError

    call = InductorModel.__call__

    def refusing(model: InductorModel) -> object:
        if config.freezing:
            raise InductorError(TypeError("cannot compare"), None)
        return call(model)

    monkeypatch.setattr(InductorModel, "__call__", refusing)
    case = replace(CASE, compiler="inductor:ahead_of_time=false")
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert (model.facts["freezing"], model.facts["unfrozen"]) == ("False", "TypeError: cannot compare")


def test_each_model_has_its_own_cache_of_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inductor sets it once for the whole process, unless it is set."""
    monkeypatch.delenv(TRITON_CACHE, raising=False)
    for name in ("first", "second"):
        with caching_in(tmp_path / name):
            assert Path(os.environ[TRITON_CACHE]).is_relative_to(tmp_path / name)
            assert Path(os.environ[CACHE]) == tmp_path / name
        assert TRITON_CACHE not in os.environ


def test_loading_compiles_nothing(load: Load, exported: Export, cold_start: tuple[Path, Path, Path]) -> None:
    folder, *_ = cold_start
    with mock.patch("subprocess.Popen", side_effect=AssertionError("a compiler was started")):
        model = load(CASE, folder=folder)
        assert verify(model.outputs(), exported(CASE).reference(), "fp32").agrees


@pytest.mark.slow
@pytest.mark.parametrize("options", ["freezing=false", "mode=reduce-overhead", "ahead_of_time=false"])
def test_options_keep_the_outputs(options: str, load: Load, exported: Export) -> None:
    model = load(Case.from_dict(CASE.to_dict() | {"compiler": f"inductor:{options}"}))
    assert verify(model.outputs(), exported(CASE).reference(), "fp32").agrees
    name, _, value = options.partition("=")
    assert model.facts[name].lower() == value


def test_it_compiles_at_the_first_call_when_asked_to(exported: Export, load: Load, tmp_path: Path) -> None:
    """Loading makes that call."""
    case, before = replace(CASE, compiler="inductor:ahead_of_time=false"), counts()["graphs"]
    Inductor(ahead_of_time=False).compile(exported(case), CPU, tmp_path)
    assert not any(tmp_path.iterdir())
    assert counts()["graphs"] == before
    model = load(case, folder=tmp_path)
    assert counts()["graphs"] == before + 1
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


@pytest.mark.slow
def test_what_it_leaves_to_eager_pytorch_is_counted(load: Load, exported: Export) -> None:
    case = Case(workload="twice:branching", compiler="inductor", batch_size=2)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert model.facts["source"] == "module"
    assert int(model.facts["graphs"]) > 0
    assert int(model.facts["graph_breaks"]) > 0


def test_a_module_of_which_nothing_is_compiled_is_not_measured_as_inductors(load: Load) -> None:
    """A loop that breaks the graph runs in eager PyTorch, and so does what is in it."""
    message = r"inductor compiles nothing of this model: .* eager PyTorch: \w.*\. Put what computes into a function or"
    with pytest.raises(Unsupported, match=message):
        load(Case(workload="twice:detector", compiler="inductor", batch_size=2))


def test_eager_pytorch_is_not_measured_as_inductors(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a user who has switched `torch.compile` off, to look for a mistake."""
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    with pytest.raises(Unsupported, match="TORCHDYNAMO_DISABLE is set"):
        load(Case(workload=CASE.workload, compiler="inductor:ahead_of_time=false", batch_size=1))


@pytest.mark.slow
def test_a_module_that_can_be_exported_is_compiled_itself_when_asked_to(load: Load, exported: Export) -> None:
    case = Case(workload="unusual:described", compiler="inductor:graph=module", batch_size=2)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert (model.facts["source"], model.facts["graphs"], model.facts["graph_breaks"]) == ("module", "1", "0")


def test_the_program_alone_is_refused_where_there_is_none(load: Load) -> None:
    with pytest.raises(Unsupported, match=r"torch\.export refuses twice:branching"):
        load(Case(workload="twice:branching", compiler="inductor:graph=program", batch_size=2))


@pytest.mark.slow
def test_weights_are_freed(exported: Export) -> None:
    """A closed model that was compiled at its first call keeps no weights.

    Inductor keeps frozen weights in the modules that it generates, and Python keeps those imported.
    """
    import torch
    from torch._inductor import config
    from torch._subclasses import FakeTensor

    def tensors_after_a_model() -> int:
        run = torch.compile(program.load(exported(CASE)).module(), fullgraph=True)
        model = InductorModel(run, program.inputs(exported(CASE)), CPU)
        with config.patch(freezing=True):
            model()
        model.close()
        del run, model
        gc.collect()
        # Of a traced value, PyTorch 2.14 keeps the description, a fake tensor that holds no memory.
        held = (each for each in gc.get_objects() if isinstance(each, torch.Tensor))
        return sum(not isinstance(each, FakeTensor) for each in held)

    before = tensors_after_a_model()
    assert tensors_after_a_model() <= before


def test_a_gpu_needs_triton(exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.compilers.inductor.is_importable", lambda name: False)
    with pytest.raises(Unsupported, match="inductor needs triton"):
        Inductor().compile(exported(CASE), Target(kind="cuda"), tmp_path)
