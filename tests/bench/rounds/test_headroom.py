from __future__ import annotations

import pytest

from pytest_ngraph.bench.rounds.headroom import DeviceMemory, Headroom


@pytest.mark.parametrize(
    ("in_use", "fit"),
    [
        pytest.param([0.2, 0.25, 0.3, 0.35], [True, True, True, True], id="small arms all fit"),
        pytest.param([0.2, 0.55], [True, False], id="another as large as the first does not"),
        pytest.param([0.1, 0.4, 0.45, 0.5], [True, True, True, False], id="the largest counts, not the last"),
        pytest.param([0.9, 0.95], [True, False], id="the first always fits"),
    ],
)
def test_another_arm_fits_while_as_much_as_the_largest_needs_is_left(in_use: list[float], fit: list[bool]) -> None:
    room = Headroom(iter(in_use).__next__)
    assert [room.is_left() for _ in in_use] == fit


@pytest.mark.parametrize(
    ("after_each", "fit"),
    [
        pytest.param([DeviceMemory(0.1, 0.1), DeviceMemory(0.2, 0.1)], [True, True, True], id="small arms all fit"),
        pytest.param([DeviceMemory(0.5, 0.4)], [True, False], id="another as large as the first does not"),
        pytest.param([DeviceMemory(0.4, 0.05)], [True, True], id="what others hold is no arm's"),
        pytest.param([DeviceMemory(0.3, 0.3), DeviceMemory(0.55, 0.1)], [True, True, False], id="the largest counts"),
    ],
)
def test_the_memory_of_a_gpu_counts_as_the_machines(after_each: list[DeviceMemory], fit: list[bool]) -> None:
    room = Headroom(lambda: 0.1)
    assert [room.is_left(device) for device in (None, *after_each)] == fit
