"""The folders that `pytest-ngraph deploy` writes: their names, and what is said where one fails its check."""

from __future__ import annotations

import pytest
from synthetic import case, measured

from pytest_ngraph.deploy.folder import _error_in, names_of

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


def test_each_case_has_a_folder_of_its_own() -> None:
    workloads = ("nets/a.onnx", "nets_a.onnx", "hf:org/m")
    first, second, third = names_of(measured(case("tvm", 1, workload=each), 0.1) for each in workloads)
    assert third == "hf_org_m-tvm-b1-xeon"
    assert first != second
    assert all(name.startswith("nets_a.onnx-tvm-b1-xeon-") for name in (first, second))
