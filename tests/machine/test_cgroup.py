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


class Kernel:
    """A `/proc/self` and a `/sys/fs/cgroup` with the groups that a test makes.

    Attributes:
        process: the folder of the process in `/proc`.
        groups: where version 2 is mounted, or version 1 with a folder for each controller.
    """

    def __init__(self, root: Path, version: int, own: str = "/", mounted: str = "/") -> None:
        self.process, self.groups = root / "proc", root / "cg roup"
        self.process.mkdir()
        self.groups.mkdir()
        top = str(self.groups).replace(" ", "\\040")
        if version == 2:
            lines = [f"0::{own}"]
            mounts = [f"31 23 0:28 {mounted} {top} rw,relatime - cgroup2 cgroup rw,nsdelegate"]
        else:
            lines = [f"4:memory:{own}", f"2:cpu,cpuacct:{own}", "1:name=systemd:/", "0::/"]
            mounts = [
                f"31 23 0:28 / {top} rw - tmpfs tmpfs rw,mode=755",
                f"33 31 0:31 {mounted} {top}/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct",
                f"35 31 0:32 {mounted} {top}/memory rw,relatime shared:3 - cgroup cgroup rw,memory",
            ]
        (self.process / "cgroup").write_text("\n".join(lines) + "\n")
        (self.process / "mountinfo").write_text("\n".join(mounts) + "\n")

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.groups / name).parent.mkdir(parents=True, exist_ok=True)
            (self.groups / name).write_text(text + "\n")


def _kernel(root: Path, version: str) -> Kernel:
    kernel = Kernel(root, 1 if "1" in version else 2)
    kernel.write(FILES[version])
    return kernel


@pytest.mark.parametrize("version", ["version 1", "version 2"])
def test_limits_are_read(version: str, tmp_path: Path) -> None:
    process = _kernel(tmp_path, version).process
    assert cgroup.cpus(process) == 2
    assert cgroup.memory_bytes(process) == 4 * 2**30
    assert cgroup.memory(process) == [(4 * 2**30, 1500)]


@pytest.mark.parametrize("version", ["version 1", "version 2"])
def test_what_else_is_mounted_may_have_any_name(version: str, tmp_path: Path) -> None:
    process = _kernel(tmp_path, version).process
    mounts = process / "mountinfo"
    mounts.write_bytes(b"44 25 8:17 / /media/M\xfcsik rw - vfat /dev/sdb1 rw\n" + mounts.read_bytes())
    assert cgroup.cpus(process) == 2


@pytest.mark.parametrize("version", ["version 1 without limits", "version 2 without limits", "none"])
def test_without_limits_there_are_none(version: str, tmp_path: Path) -> None:
    process = _kernel(tmp_path, version).process
    assert cgroup.cpus(process) is None
    assert cgroup.memory_bytes(process) is None
    assert cgroup.memory(process) == []


def test_a_system_without_groups_has_no_limits(tmp_path: Path) -> None:
    assert cgroup.cpus(tmp_path) is cgroup.memory_bytes(tmp_path) is None
    assert cgroup.pressure_file(tmp_path) is None


def test_less_than_one_cpu_is_one(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, 2)
    kernel.write({"cpu.max": "50000 100000"})
    assert cgroup.cpus(kernel.process) == 1


def test_the_limits_of_the_own_group_hold_where_the_whole_tree_is_mounted(tmp_path: Path) -> None:
    """As in a systemd slice, or a container in the host's namespace of groups."""
    kernel = Kernel(tmp_path, 2, own="/kubepods/pod1/c1")
    kernel.write({f"kubepods/pod1/c1/{name}": text for name, text in FILES["version 2"].items()})
    assert cgroup.cpus(kernel.process) == 2
    assert cgroup.memory(kernel.process) == [(4 * 2**30, 1500)]


def test_version_1_has_a_path_for_each_controller(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, 1, own="/slice/job")
    kernel.write({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"})
    kernel.write({"cpu/slice/job/cpu.cfs_quota_us": "300000", "cpu/slice/job/cpu.cfs_period_us": "100000"})
    kernel.write({"memory/slice/job/memory.limit_in_bytes": "1000", "memory/slice/job/memory.usage_in_bytes": "900"})
    assert cgroup.cpus(kernel.process) == 3
    assert cgroup.memory(kernel.process) == [(1000, 900)]


def test_the_limits_of_groups_around_it_hold_too(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, 2, own="/pod/container")
    kernel.write({"pod/container/cpu.max": "800000 100000", "pod/cpu.max": "400000 100000"})
    kernel.write({"pod/container/memory.max": "max", "pod/memory.max": "5000", "pod/memory.current": "4000"})
    assert cgroup.cpus(kernel.process) == 4
    assert cgroup.memory(kernel.process) == [(5000, 4000)]


@pytest.mark.parametrize(("own", "mounted"), [("/docker/abc", "/docker/abc"), ("/", "/../.."), ("/elsewhere", "/x")])
def test_a_container_may_see_no_more_than_its_own_group(own: str, mounted: str, tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, 1, own=own, mounted=mounted)
    kernel.write(FILES["version 1"])
    assert cgroup.cpus(kernel.process) == 2
    assert cgroup.memory_bytes(kernel.process) == 4 * 2**30


def test_a_group_of_a_similar_name_is_another(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, 2, own="/docker/abcdef", mounted="/docker/abc")
    kernel.write({"cpu.max": "100000 100000", "def/cpu.max": "900000 100000"})
    assert cgroup.cpus(kernel.process) == 1


def test_pressure_is_that_of_the_own_group(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, 2, own="/pod")
    kernel.write({"cpu.pressure": "some total=9", "pod/cpu.pressure": "some total=1"})
    assert cgroup.pressure_file(kernel.process) == kernel.groups / "pod" / "cpu.pressure"
    (kernel.groups / "pod" / "cpu.pressure").unlink()
    assert cgroup.pressure_file(kernel.process) is None
