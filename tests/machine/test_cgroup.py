"""The limits of a container, as both versions of control groups report them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.machine import cgroup

FILES: dict[str, dict[str, str]] = {
    "version 2": {
        "cpu.max": "250000 100000",
        "memory.max": "4294967296",
        "memory.current": "3000",
        "memory.stat": "anon 1000\nfile 2000\ninactive_file 1500\nactive_file 500\n",
    },
    "version 1": {
        "cpu/cpu.cfs_quota_us": "250000",
        "cpu/cpu.cfs_period_us": "100000",
        "memory/memory.limit_in_bytes": "4294967296",
        "memory/memory.usage_in_bytes": "3000",
        "memory/memory.stat": "cache 2000\ninactive_file 9\ntotal_inactive_file 1500\n",
    },
    "version 2 without limits": {"cpu.max": "max 100000", "memory.max": "max"},
    "version 1 without limits": {
        "cpu/cpu.cfs_quota_us": "-1",
        "cpu/cpu.cfs_period_us": "100000",
        "memory/memory.limit_in_bytes": "9223372036854771712",
    },
    "none": {},
}


def _group(root: Path, version: str) -> Path:
    for name, text in FILES[version].items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


@pytest.mark.parametrize("version", ["version 1", "version 2"])
def test_limits_are_read(version: str, tmp_path: Path) -> None:
    root = _group(tmp_path, version)
    assert cgroup.cpus(root) == 2
    assert cgroup.memory_bytes(root) == 4 * 2**30
    assert cgroup.memory_in_use(root) == 1500


@pytest.mark.parametrize("version", ["version 1 without limits", "version 2 without limits", "none"])
def test_without_limits_there_are_none(version: str, tmp_path: Path) -> None:
    root = _group(tmp_path, version)
    assert cgroup.cpus(root) is None
    assert cgroup.memory_bytes(root) is None
    assert cgroup.memory_in_use(root) is None


def test_less_than_one_cpu_is_one(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("50000 100000")
    assert cgroup.cpus(tmp_path) == 1
