"""What Inductor's package says of its kernels, and what lies between."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from explained import node

from pytest_ngraph.compilers.profiling.inductor import in_order, information, own
from pytest_ngraph.compilers.profiling.matching import complete

CONVOLUTION = "aoti_torch_cpu_mkldnn__convolution_pointwise_binary"
NODES = [
    node("stem", "stem", "conv2d", ["x"]),
    node("conv", "block.conv", "conv2d", ["stem"]),
    node("norm", "block.norm", "batch_norm", ["conv"]),
    node("add", "block", "add", ["norm", "stem"]),
    node("relu", "block", "relu", ["add"]),
    node("mean", "", "mean", ["relu"]),
    node("linear", "head", "linear", ["mean"]),
]


def test_kernels_are_read_in_the_order_in_which_they_run(tmp_path: Path) -> None:
    found = {"b:10": {"pre_grad_nodes": ["relu"]}, "a:9": {"pre_grad_nodes": []}}
    with zipfile.ZipFile(tmp_path / "model.pt2", "w") as archive:
        archive.writestr("model/data/aotinductor/model/kernel_information.json", json.dumps(found))
    assert information(tmp_path / "model.pt2") == [("a", ()), ("b", ("relu",))]


def test_an_older_package_names_nothing(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.pt2", "w") as archive:
        archive.writestr("model/version", "2")
    assert information(tmp_path / "model.pt2") == []


def test_a_kernel_does_not_own_what_those_before_it_have_computed() -> None:
    """Along a residual stream, PyTorch 2.14 names all additions and normalizations so far."""
    named = [
        ("linear", ("add",)),
        ("norm", ("add", "norm")),
        ("linear", ("add", "norm", "gelu")),
        ("linear", ("add", "norm", "gelu", "add_1")),
        ("norm_again", ("add", "norm", "gelu", "add_1")),
        ("copy", ()),
    ]
    assert [operations for _, operations in own(named)] == [
        ("add",),
        ("norm",),
        ("gelu",),
        ("add_1",),
        ("add_1",),
        (),
    ]


def test_operations_that_no_kernel_names_lie_between_those_that_are_named() -> None:
    names = ["aoti_torch_cpu_mkldnn__convolution_pointwise", CONVOLUTION, "cpp_fused_mean_1", "aoti_torch_cpu__linear"]
    named = [(names[0], ("stem",)), (names[1], ("relu",)), (names[2], ("mean",)), (names[3], ())]
    assert complete(in_order(names, named), NODES) == {
        f"{names[0]}/0": ("stem",),
        f"{names[1]}/1": ("conv", "norm", "add", "relu"),
        f"{names[2]}/2": ("mean",),
        f"{names[3]}/3": ("linear",),
    }


def test_a_generated_kernel_that_no_operation_led_to_changes_a_layout() -> None:
    """It lies between all that runs before and after it, which is the whole network."""
    names = ["aoti_torch_cpu_mkldnn__convolution_pointwise", "cpp_fused_7", CONVOLUTION, "cpp_fused_mean_1"]
    named = [(names[0], ("stem",)), (names[1], ()), (names[2], ("relu",)), (names[3], ("mean",))]
    known = in_order(names, named)
    assert [name for name, each in known.items() if each.layout] == [f"{names[1]}/1"]
    assert complete(known, NODES)[f"{names[1]}/1"] == ()
    assert complete(known, NODES)[f"{names[2]}/2"] == ("conv", "norm", "add", "relu")
