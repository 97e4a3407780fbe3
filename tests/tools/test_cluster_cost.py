"""`tools/cluster_cost.py`: its arithmetic, and that a client can use simulated devices like real ones."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from cluster_costs import idle, scale
from cluster_costs.idle import Counters


def test_usage_is_the_difference_of_counters() -> None:
    before = Counters(cpu_s=1.0, switches=100, resident_bytes=0)
    after = Counters(cpu_s=1.5, switches=400, resident_bytes=64 * 2**20)
    assert idle.row("it", before, after, seconds=50.0) == ("it", "1.00", "64", "6.0")


def test_switches_of_all_threads_are_counted() -> None:
    assert idle.switches(os.getpid()) > 0


def test_a_session_on_simulated_devices_is_whole(tmp_path: Path) -> None:
    parsed = argparse.Namespace(devices="2", cases=10, case_seconds=0.01)
    *_, row = scale.find(tmp_path, parsed).splitlines()
    devices, cases, *_ = (cell.strip() for cell in row.strip("|").split("|"))
    assert (devices, cases) == ("2", "20")
