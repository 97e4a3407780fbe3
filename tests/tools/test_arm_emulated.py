"""The table of the emulated run. The run itself takes hours, and is no test."""

from __future__ import annotations

import ast
import errno
import subprocess
import sys

import arm_emulated
import pytest

JUNIT = """<testsuites><testsuite>
<testcase classname="test_arm" name="test_block[conv-identity-b1-d1-w16-cpu]" time="9.1"/>
<testcase classname="test_arm" name="test_block[conv-tvm-b1-d1-w16-cpu]"><skipped message="tvm needs tvm"/></testcase>
<testcase classname="test_arm" name="test_model[resnet18-tvm-b1-cpu]"><skipped message="tvm needs tvm"/></testcase>
<testcase classname="test_arm" name="test_model[resnet18-identity-b1-cpu]"><failure message="crashed"/></testcase>
</testsuite></testsuites>"""


def test_the_table_says_what_agrees_and_why_the_rest_does_not() -> None:
    shown = arm_emulated.table(arm_emulated.outcomes(JUNIT), ["identity", "tvm", "openvino"], ["conv", "resnet18"])
    assert shown.splitlines() == [
        "| compiler | conv | resnet18 |",
        "| --- | --- | --- |",
        "| `identity` | agrees | failure (1) |",
        "| `tvm` | skipped (2) | skipped (2) |",
        "| `openvino` | error (3) | error (3) |",
        "",
        "1. failure: crashed",
        "2. skipped: tvm needs tvm",
        "3. error: not run",
    ]


def test_of_the_projects_tests_it_says_what_did_not_pass() -> None:
    assert arm_emulated.summary(JUNIT).splitlines() == [
        "1 passed, 2 skipped, 1 failure, 0 error",
        "- test_arm::test_model[resnet18-identity-b1-cpu]: crashed",
    ]


def test_what_runs_there_is_python() -> None:
    assert ast.parse(arm_emulated.RUN).body
    both = ast.parse(arm_emulated.tests(["identity"], ["conv", "resnet18"]))
    assert {each.name for each in both.body if isinstance(each, ast.FunctionDef)} == {"test_block", "test_model"}
    assert "test_model" not in arm_emulated.tests(["identity"], ["conv"])


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
def test_the_call_that_proot_does_not_know_is_refused() -> None:
    libc = "libc = ctypes.CDLL(None, use_errno=True)"
    asked = f"import ctypes; {libc}; print(libc.syscall(439, -100, b'/', 0, 0), ctypes.get_errno())"
    command = [sys.executable, "-c", asked]
    ran = subprocess.run(
        command, preexec_fn=arm_emulated.without_faccessat2, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["-1", str(errno.ENOSYS)]
