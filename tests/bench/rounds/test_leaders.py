"""Of which arms more than rounds is measured."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from pytest_ngraph.bench.rounds.leaders import leading
from pytest_ngraph.case import Case
from pytest_ngraph.record import Round


@dataclass
class Arm:
    """An arm after its rounds, all of which took as long."""

    case: Case
    rounds: list[Round] = field(default_factory=list)
    can_run: bool = True


def arm(compiler: str, seconds: float, *, can_run: bool = True) -> Arm:
    rounds = [Round(2, 2 * seconds)] * 3 if seconds else []
    return Arm(Case(workload="net", compiler=compiler, batch_size=1), rounds, can_run)


ARMS = [
    arm("identity", 0.5),
    arm("openvino", 3.0),
    arm("openvino:streams=2", 1.0),
    arm("onnxruntime", 2.0),
    arm("torchscript", 1.5, can_run=False),
    arm("tvm", 0.0),
]
ASKED = {each.case for each in ARMS[1:]}


@pytest.mark.parametrize(
    ("most", "names"),
    [
        (1, ["openvino:streams=2"]),
        (2, ["openvino:streams=2", "onnxruntime"]),
        (3, ["openvino:streams=2", "onnxruntime"]),
    ],
)
def test_leaders_are_the_fastest_of_different_compilers_that_were_asked_for(most: int, names: list[str]) -> None:
    assert [case.compiler for case in leading(ARMS, ASKED, most)] == names


def test_without_a_number_all_that_were_asked_for_lead() -> None:
    assert leading(ARMS, ASKED, None) == ASKED
