from __future__ import annotations

from pathlib import Path

import pytest
from compiled import CPU, Export, Load

from pytest_ngraph.case import Case
from pytest_ngraph.compilers.torchscript import FILE, SOURCE, TorchScript
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.verify import verify


@pytest.mark.parametrize("optimize", ["true", "false"])
def test_optimizing_keeps_the_outputs(optimize: str, load: Load, exported: Export) -> None:
    case = Case(workload="conv", compiler=f"torchscript:optimize={optimize}", batch_size=1, width=16)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert model.facts["optimize"].lower() == optimize


def test_an_optimized_graph_that_does_not_run_is_replaced_by_the_frozen_one(
    load: Load, exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    def broken(module: torch.jit.ScriptModule) -> torch.nn.Module:  # as it makes them of weights that it shares wrongly
        return torch.nn.Conv2d(1, 1, 1)  # refuses the input, which has more channels

    case = Case(workload="conv", compiler="torchscript", batch_size=1, width=16)
    TorchScript().compile(exported(case), CPU, tmp_path)
    monkeypatch.setattr(torch.jit, "optimize_for_inference", broken)
    for _ in ("found now", "known"):
        model = load(case, folder=tmp_path)
        assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
        assert model.facts["optimize"] == "False"
        assert "channels" in model.facts["unoptimized"]
    (tmp_path / "served").mkdir()
    assert "optimize_for_inference" not in TorchScript().deploy(exported(case), CPU, tmp_path, tmp_path / "served").code


def test_a_graph_that_cannot_be_optimized_runs_as_it_is_frozen(load: Load, exported: Export) -> None:
    """PyTorch 2.14 joins a convolution only with limits that are floats, and stops at others (Deep Speech has them)."""
    case = Case(workload="odd_nets:between_integers", compiler="torchscript", batch_size=2)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert ("unoptimized" in model.facts) == (model.facts["optimize"] == "False")


def test_the_file_is_an_ordinary_torchscript_archive(exported: Export, tmp_path: Path) -> None:
    import torch

    case = Case(workload="conv", compiler="torchscript", batch_size=1, width=16)
    TorchScript().compile(exported(case), CPU, tmp_path)
    module = torch.jit.load(tmp_path / FILE)  # type: ignore[no-untyped-call]
    (x,) = exported(case).inputs()
    assert module(torch.from_numpy(x)).shape == exported(case).reference()[0].shape


def test_a_normalization_by_the_batch_is_not_folded(load: Load, exported: Export) -> None:
    case = Case(workload="as_is:in_training", compiler="torchscript", batch_size=2)
    assert verify(load(case).outputs(), exported(case).reference(), "fp32").agrees


def test_a_constant_that_the_graph_changes_is_the_same_in_each_call(load: Load, exported: Export) -> None:
    case = Case(workload="odd_nets:first_state", compiler="torchscript", batch_size=2)
    model = load(case)
    for _ in range(3):
        assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


def test_a_script_keeps_both_branches(exported: Export, tmp_path: Path) -> None:
    import torch

    case = Case(workload="twice:branching", compiler="torchscript", batch_size=2)
    TorchScript().compile(exported(case), CPU, tmp_path)
    module = torch.jit.load(tmp_path / FILE)  # type: ignore[no-untyped-call]
    assert module(torch.ones(2, 4))[0, 0] == 2
    assert module(-torch.ones(2, 4))[0, 0] == -2


@pytest.mark.parametrize(
    ("workload", "source"), [("twice:unscriptable", "trace"), ("twice:detector", "script"), ("mha", "program")]
)
def test_the_record_says_what_the_graph_was_made_from(workload: str, source: str, load: Load, exported: Export) -> None:
    case = Case(workload=workload, compiler="torchscript", batch_size=2, width=16 if workload == "mha" else None)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert model.facts["source"] == source


def test_a_module_that_can_be_exported_is_scripted_when_asked_to(load: Load, exported: Export) -> None:
    case = Case(workload="unusual:spectrum", compiler="torchscript:graph=module", batch_size=2)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert model.facts["source"] == "trace"
    with pytest.raises(Unsupported, match=r"torch\.export refuses twice:detector"):
        load(Case(workload="twice:detector", compiler="torchscript:graph=program", batch_size=2))


@pytest.mark.parametrize("workload", ["twice:heads", "twice:flagged"])
def test_a_module_is_traced_where_its_script_takes_tensors_for_other_arguments(
    workload: str, load: Load, exported: Export
) -> None:
    case = Case(workload=workload, compiler="torchscript:graph=module", batch_size=2)
    model = load(case)
    assert model.facts["source"] == "trace"
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


def test_trying_a_script_leaves_its_state_as_it_was(exported: Export, tmp_path: Path) -> None:
    import torch

    case = Case(workload="twice:counting", compiler="torchscript:graph=module", batch_size=2)
    TorchScript(graph="module").compile(exported(case), CPU, tmp_path)
    module = torch.jit.load(tmp_path / FILE)  # type: ignore[no-untyped-call]
    assert (tmp_path / SOURCE).read_text() == "script"
    assert module(torch.ones(2, 4))[1] == 0


@pytest.mark.parametrize("step", ["trace", "freeze"])
def test_what_torchscript_itself_refuses_is_unsupported(
    step: str, exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it refuses weights of types of their own, such as torchao's."""
    import torch

    def refuses(*_: object, **__: object) -> None:
        raise NotImplementedError("no aten.equal\nand a page of context")

    monkeypatch.setattr(torch.jit, step, refuses)
    with pytest.raises(Unsupported) as refusal:
        TorchScript().compile(
            exported(Case(workload="mha", compiler="torchscript", batch_size=1, width=16)), CPU, tmp_path
        )
    assert str(refusal.value) == f"torch.jit.{step} refuses mha: NotImplementedError: no aten.equal"


def test_weights_of_torchao_are_unsupported(exported: Export, tmp_path: Path) -> None:
    pytest.importorskip("torchao")
    case = Case(workload="as_is:of_torchao", compiler="torchscript", batch_size=2)
    with pytest.raises(Unsupported, match=r"torch\.jit\.\w+ refuses as_is:of_torchao: NotImplementedError: Int8Tensor"):
        TorchScript().compile(exported(case), CPU, tmp_path)
