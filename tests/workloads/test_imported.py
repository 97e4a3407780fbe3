from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.imported import Imported

if TYPE_CHECKING:
    from pathlib import Path

NETS = """
import torch
from torch import nn

KEPT = nn.BatchNorm1d(4)
DRAWN = nn.Linear(4, 4)
NUMBER = 3

def image_net():
    return nn.Conv2d(3, 2, 1)

def stack(depth, width=4, *, activation="relu", batch_size=0):
    stack.called_with = dict(depth=depth, width=width, activation=activation, batch_size=batch_size)
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(depth))), torch.ones(1, width)

def anything(**arguments):
    anything.called_with = arguments
    return nn.Identity(), torch.ones(1, 4)

def tokens():
    return nn.Embedding(10, 4), (torch.tensor([[1, 2], [3, 4]]),)

def half():
    return nn.Linear(4, 4).half(), torch.ones(2, 4).half()

def kept():
    return KEPT.train(), torch.ones(2, 4)

def drawn_before():
    return DRAWN, torch.ones(2, 4)

def nothing():
    pass

def lazy():
    return nn.LazyLinear(3), torch.ones(1, 4)

def raises(hidden=3):
    return {}["weight"]

def exits():
    raise SystemExit(3)

def empty():
    return nn.Linear(4, 3), torch.ones(0, 4)

def nested():
    return nn.Identity(), torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])

def sparse():
    return nn.Identity(), torch.eye(2).to_sparse()

def without_values():
    return nn.Linear(4, 3), torch.ones(1, 4, device="meta")

def pair_of_numbers():
    return nn.Identity(), 3

class Net(nn.Module):
    def forward(self, x):
        return x
"""


@pytest.fixture(autouse=True)
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's package: `nets_of_user`, and `broken_of_user`, which raises when it is imported."""
    (tmp_path / "nets_of_user.py").write_text(NETS)
    (tmp_path / "broken_of_user.py").write_text("raise ValueError('not today\\nnor tomorrow')")
    monkeypatch.syspath_prepend(tmp_path)


def _case(
    function: str, *, batch_size: int = 2, depth: int | None = None, width: int | None = None, **model_args: Scalar
) -> Case:
    return Case(
        workload=function if ":" in function else f"nets_of_user:{function}",
        compiler="identity",
        batch_size=batch_size,
        depth=depth,
        width=width,
        model_args=tuple(model_args.items()),
    )


def test_a_module_alone_gets_images() -> None:
    built = Imported().build(_case("image_net"))
    assert built.inputs[0].shape == (2, 3, 224, 224)
    assert not built.module.training


def test_a_class_is_a_function_too() -> None:
    assert type(Imported().build(_case("Net")).module).__name__ == "Net"


def test_the_function_gets_what_it_accepts() -> None:
    Imported().build(_case("stack", batch_size=5, depth=3, width=8, activation="gelu"))
    from nets_of_user import stack  # type: ignore[import-not-found]

    assert stack.called_with == {"depth": 3, "width": 8, "activation": "gelu", "batch_size": 5}


def test_unset_sizes_leave_the_functions_own_defaults() -> None:
    Imported().build(_case("stack", depth=1))
    from nets_of_user import stack

    assert stack.called_with["width"] == 4


def test_keyword_arguments_take_what_is_set_but_not_the_batch_size() -> None:
    Imported().build(_case("anything", depth=3, colour="red"))
    from nets_of_user import anything

    assert anything.called_with == {"depth": 3, "colour": "red"}


@pytest.mark.parametrize(("batch_size", "rows"), [(2, [1, 3]), (4, [1, 3, 1, 3]), (5, [1, 3, 1, 3, 1])])
def test_example_inputs_are_repeated_to_the_batch_size(batch_size: int, rows: list[int]) -> None:
    (tokens,) = Imported().build(_case("tokens", batch_size=batch_size)).inputs
    assert tokens.dtype is torch.int64
    assert tokens[:, 0].tolist() == rows


def test_half_precision_is_widened() -> None:
    built = Imported().build(_case("half"))
    assert built.inputs[0].dtype is torch.float32
    assert next(built.module.parameters()).dtype is torch.float32


def test_complex_weights_stay_complex() -> None:
    built = Imported().build(Case(workload="complex_nets:filtered", compiler="identity", batch_size=1))
    assert [weights.dtype for weights in built.module.parameters()] == [torch.complex64]
    (x,) = built.args
    assert torch.equal(built.module(x), torch.fft.irfft(torch.fft.rfft(x) * built.module.weights))


def test_complex_numbers_in_double_become_those_of_fp32(tmp_path: Path) -> None:
    case = Case(workload="complex_nets:in_double", compiler="identity", batch_size=2)
    built = Imported().build(case)
    assert [tensor.dtype for tensor in (*built.inputs, *built.module.parameters())] == [torch.complex64] * 2
    assert Imported().export(case, tmp_path).reference()[0].dtype == np.complex64


def test_weights_of_the_user_are_left_alone() -> None:
    module = Imported().build(_case("kept")).module
    assert torch.equal(module.get_parameter("weight"), torch.ones(4))
    assert torch.equal(module.get_buffer("running_var"), torch.ones(4))


def test_weights_that_the_function_draws_are_the_same_every_time() -> None:
    first, second = (Imported().build(_case("image_net")).module.get_parameter("weight") for _ in range(2))
    assert torch.equal(first, second)


def test_weights_that_lazy_layers_draw_are_the_same_every_time() -> None:
    first, second = (Imported().build(_case("lazy")).module.get_parameter("weight") for _ in range(2))
    assert torch.equal(first, second)


def test_weights_that_its_module_draws_are_the_same_every_time() -> None:
    """Each process imports the module again."""
    weights = []
    for seed in range(2):
        torch.manual_seed(seed)
        sys.modules.pop("nets_of_user", None)
        weights.append(Imported().build(_case("drawn_before")).module.get_parameter("weight"))
    assert torch.equal(*weights)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (_case("not a module:f"), r"'not a module:f' is not an import string\. Write package\.module:function"),
        (_case("nets_of_user:"), "is not an import string"),
        (_case("./models/nets.py:Net"), r"is a path\. Write an import string: models\.nets:Net\."),
        (_case("missing_of_user:f"), "missing_of_user cannot be imported .*No module named 'missing_of_user'"),
        (_case("broken_of_user:f"), r"cannot be imported \(ValueError: not today\)"),
        (_case("image_nett"), "unknown function of nets_of_user 'image_nett'. Did you mean 'image_net'"),
        (
            Case(workload="timm:resnet18", compiler="identity", batch_size=1),
            r"unknown function of timm 'resnet18'.* timm's models have no prefix: .* write workload='resnet18'\.",
        ),
        (_case("NUMBER.missing"), "unknown function of nets_of_user 'NUMBER.missing'"),
        (_case("NUMBER"), r"NUMBER is not callable \(type: int\)"),
        (_case("nothing"), r"nothing returned NoneType\. Return a torch\.nn\.Module"),
        (_case("pair_of_numbers"), r"pair_of_numbers returned \(Identity, int\)"),
        (
            _case("stack", depth=1, activatio="gelu"),
            "'activatio'. Did you mean 'activation'. Known: activation,",
        ),
        (_case("image_net", depth=2), "unknown argument of nets_of_user:image_net 'depth'. It takes no arguments"),
        (
            _case("raises", hidden=4),
            r"nets_of_user:raises raises KeyError: 'weight' \(.*nets_of_user\.py, line \d+, in raises\)\. To see the "
            r"traceback, run in Python: import nets_of_user; nets_of_user\.raises\(hidden=4\)",
        ),
        (_case("exits"), r"nets_of_user:exits raises SystemExit: 3 \("),
        (_case("empty"), r"returned inputs without a value: input is 0x4\. Give it one sample"),
        (_case("nested"), r"not dense as its input input \(nested\)\. Let forward take dense ones"),
        (_case("sparse"), r"not dense as its input input \(sparse_coo\)"),
        (_case("without_values"), r"returned an input without values \(.*\)\. Make inputs on the CPU"),
        (_case("stack"), "cannot be called: missing a required argument: 'depth'"),
    ],
    ids=lambda value: value.workload if isinstance(value, Case) else "",
)
def test_impossible_cases_are_refused_in_one_line(case: Case, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refusal:
        Imported().build(case)
    assert "\n" not in str(refusal.value)
