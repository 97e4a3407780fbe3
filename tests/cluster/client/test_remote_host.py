"""What a client knows of a device's machine, and what it asks, once each."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster.devices import ORIN

from pytest_ngraph.cluster.client.remote_host import RemoteHost
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.installed import is_importable


class Device:
    """Answers in place of a device."""

    def __init__(self, answer: Any = False) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self._answer = answer

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self.asked.append((function, *arguments))
        return self._answer

    def host(self, project: Path = Path("/nowhere")) -> RemoteHost:
        present = dataclasses.replace(
            ORIN,
            environment={"python": "3.10.12", "torch": "2.6.0", "fingerprint": "f"},
            compilers={"identity": "", "openvino": "openvino needs openvino, which is not installed"},
        )
        return RemoteHost(present, self, project)


def test_what_a_device_has_reported_is_not_asked() -> None:
    device = Device()
    host = device.host()
    assert (host.python, host.libraries) == ("3.10.12", {"torch": "2.6.0"})
    assert host.missing_library("identity") == ""
    assert host.missing_library("openvino") == "on orin-1: openvino needs openvino, which is not installed"
    assert device.asked == []


def test_a_library_is_asked_for_once() -> None:
    device = Device(answer=True)
    host = device.host()
    assert host.is_importable("torchao")
    assert host.is_importable("torchao")
    assert device.asked == [(is_importable, "torchao")]


def test_modules_of_the_project_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "travelling_module.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    device = Device(answer=False)
    assert device.host(tmp_path).is_importable("travelling_module")
    assert device.asked == []


def test_files_of_the_project_are_read_here_and_others_there(tmp_path: Path) -> None:
    ours = tmp_path / "nets.py"
    ours.write_text("layers = 3\n")
    device = Device(answer={"/var/weights.pt": "d2"})
    found = device.host(tmp_path).digests([str(ours), "/var/weights.pt"])
    assert found[str(ours)]
    assert found["/var/weights.pt"] == "d2"
    assert [arguments for _, arguments in device.asked] == [("/var/weights.pt",)]


@pytest.mark.parametrize("answer", [None, 7, "x", ["d2"], {"/var/weights.pt": 2}])
def test_an_answer_of_another_kind_is_one_message(answer: Any) -> None:
    host = Device(answer).host()
    with pytest.raises(UsageError, match=r"the answer of device orin-1 cannot be read \(digests: .* start it again"):
        host.digests(["/var/weights.pt"])
