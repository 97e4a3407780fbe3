"""TVM's target for this machine."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ngraph.artifact import Target


@pytest.fixture
def host() -> Any:
    """TVM's target for this machine; skips where TVM is missing."""
    pytest.importorskip("tvm")
    from pytest_ngraph.compilers.tvm.target import tvm_target

    return tvm_target(Target(cores=(0, 1)))
