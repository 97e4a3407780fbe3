"""Sizes of the user's own are handed to functions by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import build

NETS = """
import torch

def net(seq_len, width=8, batch_size=1):
    return torch.nn.Linear(width, 2), torch.zeros(batch_size, seq_len, width)

def any_size(**sizes):
    return torch.nn.Identity(), torch.zeros(2, sizes["seq_len"])

def fixed():
    return torch.nn.Identity(), torch.zeros(2, 3)
"""


@pytest.fixture(autouse=True)
def _with_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sized_nets.py").write_text(NETS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sized_nets", raising=False)


def case(function: str, **fields: object) -> Case:
    given = {"batch_size": 2, "sizes": (("seq_len", 5),), **fields}
    return Case(workload=f"sized_nets:{function}", compiler="identity", **given)  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(("function", "shape"), [("net", (2, 5, 8)), ("any_size", (2, 5))])
def test_a_function_receives_its_sizes_by_name(function: str, shape: tuple[int, ...]) -> None:
    (tensor,) = build(case(function)).inputs
    assert tuple(tensor.shape) == shape


@pytest.mark.parametrize(
    ("function", "fields", "said"),
    [
        (
            "net",
            {"sizes": (("seqlen", 5),)},
            "unknown size of sized_nets:net 'seqlen'. Did you mean 'seq_len'? Known: batch_size, seq_len, width.",
        ),
        ("fixed", {}, "unknown size of sized_nets:fixed 'seq_len'. It takes no arguments."),
        ("net", {"sizes": ()}, "missing a required argument: 'seq_len'. Give depth, width, sizes or model arguments."),
        (
            "net",
            {"model_args": (("seq_len", 3),)},
            "sized_nets:net: seq_len is given as a size and in model_args. Give it once.",
        ),
    ],
)
def test_sizes_that_a_function_does_not_take_are_refused(function: str, fields: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        build(case(function, **fields))
    assert said in str(refusal.value)
