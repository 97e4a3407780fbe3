"""A module that has another path in the head is found by what it does, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from explained import kernel, node, profile

from pytest_ngraph.artifact import Node
from pytest_ngraph.explain import moves
from pytest_ngraph.explain.explanation import explain
from pytest_ngraph.explain.profile import Profile
from pytest_ngraph.gate.parts import surely_differing
from pytest_ngraph.gate.why import why
from pytest_ngraph.stats import Estimate

Layer = tuple[str, str]
"""A path, and what the module there does: operators with the shape of their result, `linear 8`."""


def program(*layers: Layer) -> list[Node]:
    return [
        node(f"{index}_{place}", path, operator=work.split()[0], shape=(int(work.split()[1]),))
        for index, (path, works) in enumerate(layers)
        for place, work in enumerate(works.split(", "))
    ]


def moved(base: Sequence[Layer], head: Sequence[Layer]) -> dict[str, str]:
    found = moves.matched(program(*base), program(*head))
    return {path: found.path(path) for path, _ in base if found.path(path) != path}


def block(path: str, first: str = "fc", *extra: Layer) -> list[Layer]:
    return [(f"{path}.{first}", "linear 8"), (path, "relu 8, add 8"), *extra, (f"{path}.out", "linear 8")]


def blocks(parent: str, first: str = "fc", count: int = 4) -> list[Layer]:
    return [layer for number in range(count) for layer in block(f"{parent}.{number}", first)]


HEAD = [("head", "linear 10")]
SEQUENTIAL = ["linear 8", "relu 8", "linear 64", "relu 64", "linear 8", "relu 8", "linear 8"]


def sequential(*works: str) -> list[Layer]:
    return [(str(index), work) for index, work in enumerate(works)]


def test_a_layer_with_another_name_is_the_same() -> None:
    base, head = blocks("blocks") + HEAD, blocks("blocks", "lin") + HEAD
    assert moved(base, head) == {f"blocks.{number}.fc": f"blocks.{number}.lin" for number in range(4)}


def test_a_trunk_that_moved_is_the_same_beside_a_layer_more() -> None:
    extra = ("backbone.2.extra.0", "linear 8")
    head = [*blocks("backbone", count=2), *block("backbone.2", "fc", extra), *block("backbone.3"), *HEAD]
    base = blocks("blocks") + HEAD
    assert moved(base, head) == {path: path.replace("blocks", "backbone") for path, _ in base if path != "head"}
    assert moves.matched(program(*base), program(*head)).moved == {"blocks": "backbone"}


@pytest.mark.parametrize("place", [0, 1, 4, 7])
def test_after_an_inserted_layer_the_others_have_the_next_numbers(place: int) -> None:
    head = sequential(*SEQUENTIAL[:place], "layer_norm 8", *SEQUENTIAL[place:])
    assert moved(sequential(*SEQUENTIAL), head) == {str(index): str(index + 1) for index in range(place, 7)}


def test_a_block_in_front_of_equal_ones_moves_all_of_them() -> None:
    head = [("blocks.0.merge", "cat 8"), *(layer for number in range(1, 5) for layer in block(f"blocks.{number}"))]
    assert moved(blocks("blocks"), head) == {
        path: f"blocks.{1 + int(path.split('.')[1])}{path[8:]}" for path, _ in blocks("blocks")
    }


def test_of_equal_blocks_one_more_is_the_last() -> None:
    assert moved(blocks("blocks"), blocks("blocks", count=5)) == {}


def test_a_network_in_a_wrapper_is_the_same() -> None:
    base = [*blocks("blocks"), ("", "add 8"), *HEAD]
    head = [(f"backbone.{path}".rstrip("."), work) for path, work in base]
    found = moves.matched(program(*base), program(*head))
    assert {found.path(path) for path, _ in base} == {path for path, _ in head}
    assert found.moved == {"": "backbone"}
    assert found.path("blocks.0.drop") == "backbone.blocks.0.drop", "it is in none of the two, but its block is"
    back = moves.matched(program(*head), program(*base))
    assert {back.path(path) for path, _ in head} == {path for path, _ in base}


def test_what_is_gone_does_not_have_the_path_of_another() -> None:
    base = [("0", "linear 8"), ("1.lin", "linear 64"), ("1.act", "relu 64"), ("2.conv", "conv2d 9")]
    assert moved(base, [("0", "linear 8"), ("1.conv", "conv2d 9")]) == {
        "1.lin": "1 (removed).lin",
        "1.act": "1 (removed).act",
        "2.conv": "1.conv",
    }
    assert moved(blocks("a") + HEAD, block("b.0") + HEAD)["a.3.fc"] == "b.3.fc", "where it would be"


def test_of_two_blocks_that_differ_the_one_that_is_gone_is_not_put_into_the_other() -> None:
    def attending(path: str, shape: int) -> list[Layer]:
        return [(f"{path}.norm", "layer_norm 8"), (path, f"roll {shape}, add 8"), (f"{path}.attn", f"softmax {shape}")]

    base, head = [*attending("blocks.0", 5), *attending("blocks.1", 6), *HEAD], [*attending("blocks.0", 6), *HEAD]
    found = moves.matched(program(*base), program(*head))
    assert found.path("blocks.1.attn") == "blocks.0.attn"
    assert len({found.path(path) for path, _ in base}) == len(base)


def test_a_layer_that_became_several_keeps_its_path() -> None:
    base = [("stem", "conv2d 9"), ("layer.conv", "conv2d 8"), ("layer.act", "relu 8")]
    head = [base[0], ("layer.conv.inner", "conv2d 8"), ("layer.conv.added", "conv2d 8"), base[2]]
    assert moved(base, head) == {}
    assert moved(head, base) == {}


def test_equal_paths_say_which_is_which() -> None:
    """Else layers that all became wider would be the next ones of the base."""
    narrow, wide = ([(f"layer{n}", f"linear {8 * 2 ** (n + more)}") for n in range(5)] for more in (0, 1))
    assert moved(narrow, wide) == {}
    assert moved(narrow, [*wide, ("act", "relu 8")]) == {}


def test_what_runs_in_another_order_keeps_its_path() -> None:
    base, head = (
        [("norm", "layer_norm 8"), ("fc", "linear 8"), ("x", "relu 8")],
        [("fc", "linear 8"), ("norm", "layer_norm 8")],
    )
    assert moved(base, head) == {}


def test_programs_that_are_too_large_are_known_by_their_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "MOST_PAIRS", 1)
    assert moved([("a", "linear 8"), ("b", "linear 8")], [("c", "linear 8"), ("a", "linear 8")]) == {}


def timed(layers: Sequence[Layer], slow: dict[str, float], *, by_path: bool = False) -> Profile:
    """Return a profile in which each operation takes a second, or longer where its module is slow."""
    nodes = program(*layers)
    kernels = [
        kernel(each.name, slow.get(each.module, 1.0), [] if by_path else [each.name], modules=(each.module,) * by_path)
        for each in nodes
    ]
    return profile(kernels, nodes, latency_s=sum(each.seconds for each in kernels))


@pytest.mark.parametrize("by_path", [False, True])
def test_nothing_is_named_for_a_new_name(by_path: bool) -> None:
    base, head = blocks("blocks") + HEAD, blocks("blocks", "lin") + HEAD
    explained = explain(
        [timed(base, {}, by_path=by_path), timed(head, {}, by_path=by_path)], fuses_alike=True
    ).to_dict()
    for slower in (True, False):
        assert surely_differing(explained["rows"], slower=slower) == []
    assert why(explained, Estimate.exactly(1.01)).split("; ")[1:] == [
        "`blocks.0.fc` is now `blocks.0.lin`, `blocks.1.fc` is now `blocks.1.lin`, `blocks.2.fc` is now `blocks.2.lin` "
        "and 1 more",
        "100 % of a call was profiled",
    ]


def test_an_inserted_layer_is_the_first_that_is_named() -> None:
    head = sequential(SEQUENTIAL[0], "layer_norm 8", *SEQUENTIAL[1:])
    explained = explain([timed(sequential(*SEQUENTIAL), {}), timed(head, {"1": 3.0})], fuses_alike=True).to_dict()
    assert [row["name"] for row in surely_differing(explained["rows"], slower=True)] == ["1"]
    assert "added: layer_norm in `1`" in why(explained, Estimate.exactly(10 / 7))
    assert "removed" not in why(explained, Estimate.exactly(10 / 7))
