"""Workarounds for the faults of TVM's wheels."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from pytest_ngraph.compilers.tvm import imports
from pytest_ngraph.errors import Unsupported


def test_a_crashing_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "version", lambda _: "0.1.15.post2")
    with pytest.raises(Unsupported, match=r'pip install "apache-tvm-ffi==0\.1\.14'):
        imports.check_tunable()


def test_a_good_library_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "version", lambda _: "0.1.14.post1")
    imports.check_tunable()


def test_the_stack_without_source_names_the_same_frames() -> None:
    with imports.stack_without_source():
        quick = [(frame.filename, frame.function) for frame in inspect.stack()]
    full = [(frame.filename, frame.function) for frame in inspect.stack()]
    assert quick == full
    assert inspect.stack()[0].code_context is not None


def test_the_compiler_is_described_without_importing_the_library() -> None:
    code = "import sys, pytest_ngraph.compilers.tvm as t; t.Tvm(); print({'tvm', 'torch'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
