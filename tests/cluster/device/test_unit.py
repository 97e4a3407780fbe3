from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_ngraph.cluster.device.unit import MARGIN_S, STOP_S, unit

COMMAND = ["/bin/echo", "--folder=/srv/a b", "--name=50%", 'say "$x"']


def test_arguments_are_quoted_as_systemd_reads_them() -> None:
    text = unit("orin", "bench", COMMAND)
    assert "User=bench\n" in text
    assert f"TimeoutStopSec={STOP_S + MARGIN_S:.0f}\n" in text, "systemd waits for longer than the device"
    assert 'ExecStart=/bin/echo "--folder=/srv/a b" --name=50%% "say \\"$$x\\""\n' in text


def test_variables_are_quoted_as_systemd_reads_them() -> None:
    text = unit("orin", "bench", COMMAND, environment={"HF_HOME": "/srv/a b/50%/$x", "TORCH_HOME": "/torch"})
    assert 'Environment="HF_HOME=/srv/a b/50%%/$x"\nEnvironment=TORCH_HOME=/torch\nExecStart=' in text


def test_a_unit_starts_at_boot_and_after_a_crash_but_not_after_a_stop() -> None:
    """A device that is stopped ends with status 0: tests/cluster/test_joining.py."""
    lines = unit("orin", "bench", COMMAND).splitlines()
    assert "Restart=on-failure" in lines
    assert "WantedBy=multi-user.target" in lines


def test_a_unit_gains_no_rights_and_sees_the_system_read_only() -> None:
    lines = unit("orin", "bench", COMMAND).splitlines()
    for line in ("NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=read-only"):
        assert line in lines


def test_a_unit_writes_to_its_own_folders_alone() -> None:
    text = unit("orin", "bench", COMMAND, [Path("/srv/a b")])
    assert 'ReadWritePaths=-/tmp -/var/tmp -/dev/shm "-/srv/a b"\n' in text
    assert "PrivateTmp" not in text, "measurements of several users share a lock in /tmp"


@pytest.mark.parametrize("setting", ["ProtectClock", "DeviceAllow", "DevicePolicy", "PrivateDevices"])
def test_a_unit_leaves_the_device_files_open(setting: str) -> None:
    set_ = [line.partition("=")[0] for line in unit("orin", "bench", COMMAND).splitlines()]
    assert "ProtectKernelTunables" in set_
    assert setting not in set_, "in older versions of systemd, ProtectClock implies DeviceAllow, which hides every GPU"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_little_exposed(tmp_path: Path) -> None:
    path = tmp_path / "device.service"
    path.write_text(unit("orin", "bench", COMMAND))
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unrecognized option" in checked.stderr:
        pytest.skip("systemd-analyze has no --offline before version 250")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    path = tmp_path / "device.service"
    path.write_text(unit("orin", "root", COMMAND, [Path("/srv/a b")], {"HF_HOME": "/srv/a b/50%/$x"}))
    checked = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert path.name not in checked.stderr, "it warns of what it ignores, but its exit status is 0"
