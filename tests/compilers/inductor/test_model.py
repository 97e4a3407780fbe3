"""What a model compiled at its first call says of what was compiled, with a backend that compiles in no time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
import torch
from compiled import CPU, Load
from recompiled import Counting, PartlyCounting

from pytest_ngraph.artifact import CAVEAT
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.inductor.model import InductorModel
from pytest_ngraph.errors import Unsupported

LIMIT = torch._dynamo.config.recompile_limit


@contextmanager
def compiled(module: torch.nn.Module) -> Iterator[InductorModel]:
    """Yield a model of the module after its first call."""
    run = torch.compile(module.eval(), backend="eager")
    with closing(InductorModel(run, (torch.ones(2, 4),), CPU)) as model:
        model.call_first()
        model.note_compiled(module)
        yield model


def test_a_branch_counts_as_a_graph_break() -> None:
    with compiled(Counting()) as model:
        assert int(model.facts["graphs"]) > 0
        assert int(model.facts["graph_breaks"]) > 0


def test_what_was_compiled_is_counted_again_once_it_is_warm() -> None:
    with compiled(Counting()) as model:
        first = int(model.facts["graphs"])
        for _ in range(2):
            model()
        model.outputs()
        assert int(model.facts["graphs"]) > first


def test_a_module_that_eager_pytorch_runs_from_the_ninth_call_on_is_not_measured_as_inductors() -> None:
    with compiled(Counting()) as model:
        for _ in range(LIMIT + 1):
            model()
        with pytest.raises(Unsupported, match=r"leaves the model to eager PyTorch.*recompile_limit.*in tensors"):
            model.outputs()


def test_a_part_that_eager_pytorch_runs_is_named() -> None:
    with compiled(PartlyCounting()) as model:
        for _ in range(LIMIT + 1):
            model()
        model.outputs()
        assert "eager PyTorch runs 'forward' (recompiled.py:" in model.facts[CAVEAT]


def test_a_model_that_still_compiles_says_so() -> None:
    with compiled(Counting()) as model:
        model.outputs()
        assert "compiles the model again in later calls" in model.facts[CAVEAT]


def test_a_module_that_was_compiled_once_has_no_caveat() -> None:
    with compiled(torch.nn.Linear(4, 4)) as model:
        for _ in range(LIMIT + 1):
            model()
        model.outputs()
        assert (model.facts["graphs"], model.facts["graph_breaks"], CAVEAT in model.facts) == ("1", "0", False)


@pytest.mark.slow
def test_inductor_refuses_it_too(load: Load) -> None:
    model = load(Case(workload="recompiled:counting", compiler="inductor", batch_size=2))
    for _ in range(LIMIT + 1):
        model()
    with pytest.raises(Unsupported, match="leaves the model to eager PyTorch"):
        model.outputs()
