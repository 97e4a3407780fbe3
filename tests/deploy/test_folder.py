"""What `pytest-ngraph deploy` says where the folder that it has written fails its check."""

from __future__ import annotations

import pytest

from pytest_ngraph.deploy.folder import _error_in

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
