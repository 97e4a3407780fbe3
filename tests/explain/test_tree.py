"""The tree of a case has all its time, each part within the one above it."""

from __future__ import annotations

import pytest
from profiled import kept, residual

from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.profile import PYTHON, Kernel
from pytest_ngraph.explain.tree import Branch, Twig, grown


def check(of: Branch) -> None:
    """Assert that what is inside fills a branch from its start to its end."""
    now = of.start
    for each in of.inside:
        assert each.start == pytest.approx(now)
        now += each.seconds
        if isinstance(each, Branch):
            check(each)
    if of.inside:
        assert now == pytest.approx(of.start + of.seconds)


def names(of: Branch) -> list[str]:
    return [each.name if isinstance(each, Branch) else each.label for each in of.inside]


@pytest.mark.parametrize("compiler", ["identity", "openvino"])
@pytest.mark.parametrize("coverage", [0.95, 0.6, 1.2])
def test_its_branches_add_up_to_the_latency(compiler: str, coverage: float) -> None:
    found = grown(kept(residual(), compiler, 0.1, coverage=coverage, layout=0.1))
    assert sum(branch.seconds for branch in found) == pytest.approx(0.1)
    for branch in found:
        check(branch)
    kinds = ["module"] if coverage >= 0.8 else ["operator"] * (len(found) - 2)
    assert [branch.kind for branch in found] == [*kinds, "layout", "outside"]


def test_a_kernel_stands_among_the_parts_that_it_spans_and_in_the_order_of_the_network() -> None:
    network, *_ = grown(kept(residual(1, 2), "openvino", 0.1))
    assert names(network) == ["conv+bn+act", "layer1", "pool", "fc"]
    layer = next(each for each in network.inside if isinstance(each, Branch))
    block = layer.inside[0]
    assert isinstance(block, Branch)
    assert names(block) == ["conv+bn+act", "conv+bn"]


def test_kernels_that_do_the_same_in_a_module_are_one_twig() -> None:
    kernels = [Kernel(name=str(n), operator="mm", seconds=0.2, kind="gemm", modules=("a",)) for n in range(4)]
    network, _ = grown(KeptProfile(latency_s=1.0, modules=("a",), kernels=tuple(kernels)))
    assert isinstance(network.inside[0], Branch)
    (twig,) = network.inside[0].inside
    assert twig == Twig(label="mm", kind="gemm", count=4, start=0.0, seconds=0.8)


def test_time_in_python_is_no_kernel_that_is_counted() -> None:
    kernels = [Kernel(name=path, operator=PYTHON, seconds=0.2, modules=(path,)) for path in ("a", "b")]
    operator, *_ = grown(KeptProfile(latency_s=1.0, modules=("a", "b"), kernels=tuple(kernels)))
    assert operator.inside == (Twig(label="Python", kind="", count=0, start=0.0, seconds=0.4),)


def test_modules_are_open_where_something_happens() -> None:
    network, *_ = grown(kept(residual(6, 19), "identity", 0.1))
    assert network.is_open
    assert not any(each.is_open for each in network.inside if isinstance(each, Branch))
