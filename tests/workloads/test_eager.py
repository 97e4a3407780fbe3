"""What eager PyTorch is asked before its outputs become the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.export import export

if TYPE_CHECKING:
    from pathlib import Path


def _case(function: str, **model_args: Scalar) -> Case:
    return Case(
        workload=f"nets_with_state:{function}",
        compiler="identity",
        batch_size=2,
        model_args=tuple(model_args.items()),
    )


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("buffer", "it changes its buffer buffer in each call"),
        ("attribute", "each call with the same inputs returns other values in all of its outputs"),
        ("kept", "each call with the same inputs returns other values"),
    ],
)
def test_a_state_is_seen_wherever_it_is_kept(where: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"smoothed: {said}.* Let forward take"):
        export(_case("smoothed", where=where), tmp_path)


@pytest.mark.parametrize("where", ["numpy", "generator"])
def test_random_numbers_are_seen_wherever_they_come_from(where: str, tmp_path: Path) -> None:
    assert export(_case("draws_elsewhere", where=where), tmp_path).random == ("output[1]",)


def test_outputs_that_become_more_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it returns 1 tensor in a first call and 2 in a second one"):
        export(_case("growing"), tmp_path)
