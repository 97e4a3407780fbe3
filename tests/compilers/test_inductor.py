from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.inductor import CACHE, Inductor
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.verify import verify

from .conftest import CPU, Export, Load

CASE = Case(workload="mha", compiler="inductor", batch_size=1, width=24)


def test_a_missing_compiler_is_named(exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(Unsupported, match=r"needs a C\+\+ compiler and 'no-such-compiler' is not on PATH"):
        Inductor().compile(exported(CASE), CPU, tmp_path)


def test_the_folder_is_the_cache_and_only_meanwhile(
    exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users, folder = tmp_path / "the user's", tmp_path / "compiled"
    monkeypatch.setenv(CACHE, str(users))
    folder.mkdir()
    Inductor().load(exported(CASE), CPU, folder).close()
    assert any(folder.rglob("*.py"))
    assert not any(users.rglob("*.py"))
    assert os.environ[CACHE] == str(users)


@pytest.mark.parametrize("options", ["freezing=false", "mode=reduce-overhead"])
def test_options_keep_the_outputs(options: str, load: Load, exported: Export) -> None:
    model = load(Case.from_dict(CASE.to_dict() | {"compiler": f"inductor:{options}"}))
    assert verify(model.outputs(), exported(CASE).reference(), "fp32").agrees
    name, _, value = options.partition("=")
    assert model.facts[name].lower() == value


def test_weights_are_freed(exported: Export, tmp_path: Path) -> None:
    """Inductor keeps frozen weights in the modules that it generates, which Python keeps imported."""
    import torch

    def tensors() -> int:
        gc.collect()
        return sum(isinstance(held, torch.Tensor) for held in gc.get_objects())

    Inductor().load(exported(CASE), CPU, tmp_path).close()
    before = tensors()
    Inductor().load(exported(CASE), CPU, tmp_path).close()
    assert tensors() <= before


def test_a_gpu_needs_triton(exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.compilers.inductor.find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="inductor needs triton"):
        Inductor().compile(exported(CASE), Target(kind="cuda"), tmp_path)
