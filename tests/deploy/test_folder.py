"""The folders that `pytest-ngraph deploy` writes: their names, and what is said where one fails its check."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from synthetic import case, measured

from pytest_ngraph.deploy import folder
from pytest_ngraph.deploy.folder import _error_in, deploy, names_of
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.serving.launches import Place
from pytest_ngraph.serving.written import Written

OF_PYTORCH = """Traceback (most recent call last):
  File "serve.py", line 20, in load
RuntimeError:
Unknown builtin op: mine::slow.
Could not find any similar ops to mine::slow.
    y = ops.mine.slow(x)
        ~~~~~~~~~~~~~ <--- HERE
"""


@pytest.mark.parametrize(
    ("printed", "error"),
    [
        (OF_PYTORCH, "RuntimeError: Unknown builtin op: mine::slow."),
        ("Traceback\nValueError: one\nTraceback\nbox.Error: two\n", "box.Error: two"),
        ("output[0] differs by 0.2", "output[0] differs by 0.2"),
    ],
)
def test_the_error_is_named_and_not_the_last_line(printed: str, error: str) -> None:
    assert _error_in(printed) == error


def test_a_script_that_hangs_is_killed(tmp_path: Path) -> None:
    (tmp_path / "serve.py").write_text("import time\ntime.sleep(600)\n")
    place = Place(folder=tmp_path, cores=this_machine().cores[:1])
    with pytest.raises(
        NgraphError, match=r"^net-mine is compiled, .* fails its check, .*: it took longer than 0\.2 s$"
    ):
        folder._check(place, "net-mine", 0.2)


def test_what_libraries_print_is_no_type_of_an_output(tmp_path: Path) -> None:
    outputs = [["logits", "float32", "2 x 4"], ["text", "float32", "scalar"]]
    known: Any = {"serving": None, "inputs": [], "agreement": None, "artifact_bytes": 0, "install_bytes": 0}
    written = Written(folder=tmp_path, outputs=outputs, packages=[], **known)
    found = folder._as_answered(written, "devices (2)\nfloat16 (2, 4)\n<U3 ()\nbye\n").outputs
    assert found == [["logits", "float16", "2 x 4"], ["text", "<U3", "scalar"]]


def test_each_case_has_a_folder_of_its_own() -> None:
    workloads = ("nets/a.onnx", "nets_a.onnx", "hf:org/m")
    first, second, third = names_of(measured(case("tvm", 1, workload=each), 0.1) for each in workloads)
    assert third == "hf_org_m-tvm-b1-xeon"
    assert first != second
    assert all(name.startswith("nets_a.onnx-tvm-b1-xeon-") for name in (first, second))


def test_an_empty_folder_may_be_a_file_system_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = tmp_path / "out"
    mounted.mkdir()
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        if path.is_relative_to(mounted) != target.is_relative_to(mounted):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(path, target)

    @contextmanager
    def deploying(*arguments: Any) -> Iterator[SimpleNamespace]:
        building: Path = arguments[4]
        (building / "serve.py").touch()
        yield SimpleNamespace(packages=())

    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(folder, "deploying", deploying)
    answers: dict[str, Any] = {"_check": "", "_costs": None, "readme": "", "variables_of": {}, "throughput_in": 1.0}
    answers["_as_answered"] = SimpleNamespace(serving=SimpleNamespace(streams=1))
    for name, answer in answers.items():
        monkeypatch.setattr(folder, name, lambda *_, answer=answer: answer)
    record: Any = SimpleNamespace(case=case("tvm", 1), follows_from={"graph": "g"})
    anything: Any = SimpleNamespace(cores=(0,), timeout_s=1.0)
    deploy(record, anything, anything, anything, mounted, anything)
    assert sorted(path.name for path in mounted.iterdir()) == ["README.md", "SHA256SUMS", "serve.py"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
