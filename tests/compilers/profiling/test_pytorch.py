"""A profile of eager PyTorch is of the computation that is timed, and leaves the module as it was."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import nets_in_parts
import pytest
import torch
from compiled import CPU, Export, Load

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import profiling
from pytest_ngraph.compilers.identity import Identity
from pytest_ngraph.explain.fusions import compare
from pytest_ngraph.explain.places import place
from pytest_ngraph.explain.profile import PYTHON, Block, Kernel, Profile
from pytest_ngraph.workloads.nodes import nodes


def case(function: str, module: str = "nets_in_parts") -> Case:
    return Case(workload=f"{module}:{function}", compiler="identity", batch_size=2)


def profiled(artifact: Artifact, folder: Path, *, calls: int = 2) -> Sequence[Kernel]:
    """Return the operators of a call; what modules do in Python is left out."""
    with closing(profiling.instrument("identity", Identity(), artifact, CPU, folder)) as model:
        return [kernel for kernel in model.profile(calls) if kernel.operator != PYTHON]


def test_the_kernel_of_a_whole_layer_is_what_is_profiled(exported: Export, load: Load, tmp_path: Path) -> None:
    """PyTorch does not take it where a part has hooks."""
    kernels = profiled(exported(case("encoder")), tmp_path)
    (layer,) = [kernel for kernel in kernels if kernel.operator == "_transformer_encoder_layer_fwd"]
    assert layer.modules == ("0",)
    with torch.profiler.profile() as timed:
        load(case("encoder"))()
    assert "aten::_transformer_encoder_layer_fwd" in {event.key for event in timed.key_averages()}


def test_a_module_that_the_workload_keeps_has_no_spans_when_it_is_not_profiled(
    exported: Export, tmp_path: Path
) -> None:
    artifact, parts = exported(case("kept")), list(nets_in_parts.KEPT.modules())
    with closing(profiling.instrument("identity", Identity(), artifact, CPU, tmp_path)) as model:
        assert not any(part._forward_hooks or "forward" in vars(part) for part in parts)
        assert {kernel.modules for kernel in model.profile(2)} == {("",), ("0",), ("1",)}
        assert not any(part._forward_hooks or "forward" in vars(part) for part in parts)


def test_a_call_that_fails_leaves_no_spans(exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(profiling.instrument("identity", Identity(), exported(case("kept")), CPU, tmp_path)) as model:
        monkeypatch.setattr(torch.nn.functional, "relu", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.profile(1)
    assert not any("forward" in vars(part) for part in nets_in_parts.KEPT.modules())


def test_a_part_that_its_author_scripted_is_profiled_from_outside(exported: Export, tmp_path: Path) -> None:
    kernels = profiled(exported(case("partly_scripted")), tmp_path)
    assert {(kernel.operator, kernel.modules) for kernel in kernels} == {
        ("linear", ("body",)),
        ("linear", ("head",)),
        ("relu", ("head",)),
    }


def test_a_part_that_its_author_compiles_is_profiled_as_it_is_timed_in_eager_pytorch(
    exported: Export, tmp_path: Path
) -> None:
    kernels = profiled(exported(case("partly_compiled")), tmp_path)
    assert {(kernel.operator, kernel.modules) for kernel in kernels} == {
        ("linear", ("0",)),
        ("linear", ("1.0",)),
        ("tanh", ("1.1",)),
    }


def test_a_module_that_differentiates_is_profiled_without_inference_mode(exported: Export, tmp_path: Path) -> None:
    kernels = profiled(exported(case("forces_in_any_mode", "differentiating")), tmp_path)
    assert "linear" in {kernel.operator for kernel in kernels}
    assert any("linear" in kernel.modules for kernel in kernels)


def test_what_a_module_calls_twice_is_not_fused(exported: Export, tmp_path: Path) -> None:
    artifact = exported(case("residual"))
    operations, kernels = nodes(artifact), profiled(artifact, tmp_path)
    assert {(kernel.operator, len(kernel.nodes), kernel.runs) for kernel in kernels} == {
        ("linear", 1, 1),
        ("add", 2, 2),
    }
    apart = [Kernel(name=node.name, operator=node.operator, seconds=1.0, nodes=(node.name,)) for node in operations]
    eager, other = (
        Profile(name=name, nodes=tuple(operations), blocks=(Block(latency_s=1.0, kernels=tuple(found)),))
        for name, found in (("identity", kernels), ("other", apart))
    )
    assert compare(eager, other).lost == {}


def test_a_part_with_several_names_works_for_all_that_are_called(exported: Export, tmp_path: Path) -> None:
    artifact = exported(case("shared_head"))
    known = {node.name: node for node in nodes(artifact)}
    kernels = {(kernel.operator, kernel.modules): kernel for kernel in profiled(artifact, tmp_path)}
    assert {key for key in kernels if key[1] != ("",)} == {
        ("linear", ("body",)),
        ("linear", ("heads.0.linear", "heads.1.linear")),
        ("relu", ("heads.0", "heads.1")),
    }
    linear = kernels["linear", ("heads.0.linear", "heads.1.linear")]
    assert [known[name].module for name in linear.nodes] == ["heads.0.linear", "heads.1.linear"]
    assert place(linear, known) == ("module", "heads")


def test_what_hooks_compute_counts_for_their_module_as_in_the_program(exported: Export, tmp_path: Path) -> None:
    artifact = exported(case("hooked"))
    known = {node.name: node for node in nodes(artifact)}
    kernels = profiled(artifact, tmp_path)
    assert {(kernel.operator, kernel.modules) for kernel in kernels} == {
        ("cos", ("0",)),
        ("linear", ("0",)),
        ("sin", ("0",)),
        ("relu", ("1",)),
    }
    assert all(known[name].module in kernel.modules for kernel in kernels for name in kernel.nodes)
    assert {name for kernel in kernels for name in kernel.nodes} == known.keys()


def test_what_a_module_does_in_python_counts_for_it(exported: Export, tmp_path: Path) -> None:
    artifact = exported(case("busy_in_python"))
    with closing(profiling.instrument("identity", Identity(), artifact, CPU, tmp_path)) as model:
        found = model.profile(2)
    longest = max(found, key=lambda kernel: kernel.seconds)
    assert (longest.operator, longest.modules, longest.nodes) == (PYTHON, ("slow",), ())
