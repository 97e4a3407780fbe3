"""Operations that kernels do not name are found by what is around them."""

from __future__ import annotations

from explained import kernel, node

from pytest_ngraph.compilers.profiling.matching import Known, aligned, complete, located

RESIDUAL = [
    node("conv_1", "block.conv1", "conv2d", ["x"]),
    node("norm_1", "block.norm1", "batch_norm", ["conv_1"]),
    node("relu_1", "block.act", "relu", ["norm_1"]),
    node("conv_2", "block.conv2", "conv2d", ["relu_1"]),
    node("norm_2", "block.norm2", "batch_norm", ["conv_2"]),
    node("conv_3", "block.shortcut.0", "conv2d", ["x"]),
    node("norm_3", "block.shortcut.1", "batch_norm", ["conv_3"]),
    node("add", "block", "add", ["norm_2", "norm_3"]),
    node("relu_2", "block.act", "relu", ["add"]),
]
"""A block as of ResNet, with a convolution beside it."""


def test_what_a_fusion_lost_is_found_between_its_neighbours() -> None:
    known = {
        "Multiply_1": Known(nodes=("relu_1",)),
        "Multiply_3": Known(),
        "Multiply_2": Known(nodes=("add", "relu_2"), inputs=("Multiply_1", "Multiply_3")),
    }
    assert complete(known, RESIDUAL) == {
        "Multiply_1": ("conv_1", "norm_1", "relu_1"),
        "Multiply_3": ("conv_3", "norm_3"),
        "Multiply_2": ("conv_2", "norm_2", "add", "relu_2"),
    }


def test_what_follows_in_a_fusion_is_found_where_its_beginning_is_named() -> None:
    known = {
        "first": Known(nodes=("norm_1",)),
        "beside": Known(nodes=("norm_3",)),
        "last": Known(nodes=("norm_2",), inputs=("first", "beside")),
    }
    assert complete(known, RESIDUAL) == {
        "first": ("conv_1", "norm_1", "relu_1"),
        "beside": ("conv_3", "norm_3"),
        "last": ("conv_2", "norm_2", "add", "relu_2"),
    }


def test_a_kernel_that_is_whole_gets_no_other_operation() -> None:
    nodes = [
        node("relu_1", "before", "relu"),
        node("conv_2", "block.conv", "conv2d", ["relu_1"]),
        node("conv_3", "block.shortcut", "conv2d", ["relu_1"]),
        node("add", "block", "add", ["conv_2", "conv_3"]),
    ]

    def found(*, whole: bool) -> dict[str, tuple[str, ...]]:
        return complete(
            {
                "relu": Known(nodes=("relu_1",), whole=whole),
                "both": Known(nodes=("conv_2",), inputs=("relu",)),
                "add": Known(nodes=("add",), inputs=("both",), whole=whole),
            },
            nodes,
        )

    assert found(whole=False)["both"] == ("conv_2",)
    assert found(whole=True) == {"relu": ("relu_1",), "both": ("conv_2", "conv_3"), "add": ("add",)}


def test_layout_changes_are_looked_through() -> None:
    known = {
        "first": Known(nodes=("conv_1",)),
        "Reorder": Known(inputs=("first",), layout=True),
        "last": Known(nodes=("conv_2",), inputs=("Reorder",)),
    }
    nodes = RESIDUAL[:4]
    assert complete(known, nodes) == {"first": ("conv_1", "norm_1", "relu_1"), "Reorder": (), "last": ("conv_2",)}


def test_weights_that_are_computed_ahead_belong_to_no_kernel() -> None:
    nodes = [node("scale", "net", "mul", []), node("conv", "net", "conv2d", ["x", "scale"])]
    assert complete({"only": Known(nodes=("conv",))}, nodes) == {"only": ("conv",)}


def test_a_part_of_a_decomposed_operation_gets_the_modules_of_its_neighbours() -> None:
    nodes = [node("norm", "block.norm", "layer_norm", ["x"]), node("linear", "block.fc", "linear", ["norm"])]
    known = {
        "MVN": Known(nodes=("norm",)),
        "Multiply": Known(inputs=("MVN",)),
        "FullyConnected": Known(nodes=("linear",), inputs=("Multiply",)),
    }
    (found,) = located([kernel("Multiply", 1.0)], known, nodes)
    assert (found.nodes, found.modules) == ((), ("block.fc", "block.norm"))


def test_kernels_of_which_none_names_an_operation_are_not_guessed() -> None:
    kernels = [kernel("first", 1.0), kernel("last", 1.0)]
    assert located(kernels, {"first": Known(), "last": Known(inputs=("first",))}, RESIDUAL) == kernels


def test_the_only_kernel_has_all_operations() -> None:
    known = {"Reorder": Known(layout=True), "only": Known(inputs=("Reorder",))}
    (found,) = located([kernel("only", 1.0)], known, RESIDUAL)
    assert found.nodes == tuple(each.name for each in RESIDUAL)


def test_an_alignment_leaves_out_as_little_as_possible() -> None:
    """A long run of the same is no reason to leave out what lies before it. Seen with ResNet-18 and one layer more."""
    block, longer = ["conv", "norm", "relu", "conv", "norm", "add", "relu"], ["conv", *["conv", "norm", "relu"] * 2]
    program = [*block * 2, *longer, "conv", "norm", "add", "relu", *block * 3]
    fused = ["conv", "conv", "add", "relu"]
    kernels = [*fused * 2, *["conv"] * 4, "add", "relu", *fused * 3]
    found = list(aligned(kernels, program))
    assert [place for place, _ in found] == list(range(len(kernels)))
    assert [kernels[place] for place, _ in found] == [program[other] for _, other in found]
    assert sorted(other for _, other in found) == [other for _, other in found]


def test_what_only_one_has_is_left_out_of_an_alignment() -> None:
    assert list(aligned(["copy", "conv", "add"], ["conv", "relu", "add", "mean"])) == [(1, 0), (2, 2)]
    assert not list(aligned([], ["conv"]))
    assert not list(aligned(["conv"], []))
