"""Fixtures for tests of TVM."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ngraph.artifact import Target


@pytest.fixture
def host() -> Any:
    """Return TVM's target for this machine; skip the test where TVM is missing."""
    pytest.importorskip("tvm")
    from pytest_ngraph.compilers.tvm.target import tvm_target

    return tvm_target(Target(cores=(0, 1)))
