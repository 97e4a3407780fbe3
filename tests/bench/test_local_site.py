from __future__ import annotations

import pytest

from pytest_ngraph.bench.local_site import LocalSite
from pytest_ngraph.machine import gpus, machine


def test_the_header_does_not_ask_the_driver_of_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every session prints one, even one whose tests fork and use CUDA in the child."""

    def asked() -> None:
        raise AssertionError("the driver was asked")

    monkeypatch.setattr(gpus, "found", asked)
    machine.this_machine.cache_clear()
    assert "core" in LocalSite().describe(["cpu"])
