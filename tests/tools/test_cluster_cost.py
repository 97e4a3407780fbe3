"""`tools/cluster_cost.py`: its arithmetic, and that a client can use simulated devices like real ones."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from cluster_costs import fair, idle, scale
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


def test_clients_of_simulated_devices_take_turns(tmp_path: Path) -> None:
    """The figures depend on the machine, but not that each client is served."""
    parsed = argparse.Namespace(devices=1, clients=2, cases=3, case_seconds=0.01, apart=0.0)
    rows = [line.split("|") for line in fair.find(tmp_path, parsed).splitlines()[2:4]]
    assert [(client.strip(), cases.strip()) for _, client, _, cases, *_ in rows] == [("1", "3"), ("2", "3")]


def test_waits_are_those_of_each_device() -> None:
    answers = [("xeon", 14.0), ("orin", 11.0), ("xeon", 12.0), ("orin", 19.0)]
    assert fair.waits_s(10.0, answers) == (2.0, 8.0)
    assert fair.verdict(2.01).startswith("A client waited for more than 2 of its shares")
