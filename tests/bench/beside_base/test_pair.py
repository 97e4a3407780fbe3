"""What a head and its base are compiled from, in one process and in one each."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

import pytest
from synthetic import case

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.beside_base.base_sides import BaseSide
from pytest_ngraph.bench.beside_base.pair import Pair
from pytest_ngraph.comparison import BASE, HEAD, Comparison

EAGER = case("identity", 8)


def pair_of(placement: Literal["together", "apart"]) -> Pair:
    """Return a pair whose base has another precision and objective."""
    base = dataclasses.replace(EAGER, precision="bf16", objective="throughput")
    ours, theirs = (Artifact(folder=Path(name), case=EAGER, program=Path("program")) for name in ("head", "base"))
    return Pair(
        case=EAGER,
        artifact=ours,
        target=Target(cores=(1, 3)),
        base_side=BaseSide(case=base, artifact=theirs),
        comparison=Comparison(placement=placement),
    )


@pytest.mark.parametrize(("placement", "compiler"), [("together", "identity:graph=program"), ("apart", "identity")])
def test_one_process_cannot_hold_the_modules_of_both(placement: Literal["together", "apart"], compiler: str) -> None:
    pair = pair_of(placement)
    assert {pair.compiled(which).case.compiler for which in (HEAD, BASE)} == {compiler}


def test_each_is_compiled_from_its_own_artifact_for_its_own_precision_and_objective() -> None:
    pair = pair_of("together")
    head, base = pair.compiled(HEAD), pair.compiled(BASE)
    assert (head.artifact, base.artifact) == (pair.artifact, pair.base_side.artifact)
    assert (head.target.precision, head.target.objective) == ("fp32", "latency")
    assert (base.target.precision, base.target.objective) == ("bf16", "throughput")
    assert head.target.cores == base.target.cores == (1, 3)
