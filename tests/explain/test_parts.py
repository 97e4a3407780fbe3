"""Several compilers of one network are divided into the same few parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from profiled import SPEED, kept, residual

from pytest_ngraph.explain.parts import MOST_PARTS, by_modules, by_operators


@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize("modules", [residual(), residual(6, 19)], ids=["45 modules", "600 modules"])
def test_parts_add_up_to_the_latency_of_each_compiler(count: int, modules: list[str]) -> None:
    compilers = [*SPEED][:count]
    profiles = [kept(modules, name, 0.1 * SPEED[name], layout=0.05) for name in compilers]
    for divide in (by_modules, by_operators):
        parts = divide(profiles)
        sums = [sum(part.seconds[case] for part in parts) for case in range(count)]
        assert sums == pytest.approx([profile.latency_s for profile in profiles])
        named = [part for part in parts if part.kind in ("module", "between", "operator")]
        assert 2 < len(named) <= MOST_PARTS
        assert [part.kind for part in parts[-2:]] == ["layout", "outside"]


def test_modules_stand_in_the_order_of_the_network_and_joined_where_a_compiler_fuses_them() -> None:
    parts = by_modules([kept(residual(2, 1), name, 0.1) for name in ("openvino", "identity")])
    assert [part.name for part in parts if part.kind == "module"] == [
        "conv1, bn1, act1",
        "layer1.0.conv1, bn1, act1",
        "layer1.0.conv2, bn2",
        "layer2.0.conv1, bn1, act1",
        "layer2.0.conv2, bn2",
        "pool",
        "fc",
    ]


def test_a_module_of_many_small_parts_stays_closed() -> None:
    names = [part.name for part in by_modules([kept(residual(6, 19), "identity", 0.1)]) if part.kind == "module"]
    assert names == [f"layer{number}" for number in range(1, 7)]


def test_what_the_profiler_costs_is_no_part() -> None:
    *_, outside = by_modules([kept(residual(), "identity", 0.1, coverage=1.1)])
    assert (outside.kind, outside.seconds) == ("outside", (0.0,))


def test_of_many_parts_only_the_heaviest_have_a_name() -> None:
    profile = kept([f"m{number}" for number in range(40)], "identity", 1.0)
    *named, others, outside = by_modules([profile], most=5)
    assert len(named) == 5
    assert (others.kind, others.name) == ("others", "35")
    lightest = min(part.seconds[0] for part in named)
    assert sum(kernel.seconds > lightest for kernel in profile.kernels) == 4
    assert outside.seconds == pytest.approx((0.05,))


@pytest.mark.parametrize(("count", "shown"), [(1, ["op0"]), (2, ["3"])])
def test_operators_that_hardly_take_time_have_no_name_of_their_own(count: int, shown: list[str]) -> None:
    profile = kept(["a", "b"], "identity", 1.0)
    (kernel, *_) = profile.kernels
    kernels = [replace(kernel, name="heavy", operator="linear", seconds=0.5)]
    small = [replace(kernel, name=f"{index}", operator=f"op{index}", seconds=0.009) for index in range(2 * count - 1)]
    parts = by_operators([replace(profile, kernels=(*kernels, *small))])
    assert [part.name for part in parts[:-1]] == ["linear", *shown]


def test_kernels_without_a_module_are_unattributed() -> None:
    profile = kept(residual(1, 1), "identity", 1.0, coverage=0.9)
    lost = replace(profile.kernels[0], modules=())
    parts = by_modules([replace(profile, kernels=(lost, *profile.kernels[1:]))])
    (unattributed,) = (part for part in parts if part.kind == "unattributed")
    assert unattributed.seconds == pytest.approx((lost.seconds,))
