"""Which compilers say that they search."""

from __future__ import annotations

import pytest

from pytest_ngraph import compilers


@pytest.mark.parametrize(
    ("compiler", "searches"),
    [
        ("inductor", False),
        ("inductor:mode=max-autotune", True),
        ("tvm", False),
        ("tvm:trials=8", True),
        ("tensorrt", True),
        ("tensorrt_rtx", False),
        ("mine:Exact", False),
        ("lucky:Lucky", True),
    ],
)
def test_a_compiler_says_so_given_its_options(compiler: str, searches: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TORCHINDUCTOR_MAX_AUTOTUNE", "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM"):
        monkeypatch.delenv(name, raising=False)
    assert compilers.searches(compiler) is searches


def test_inductors_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_MAX_AUTOTUNE", "1")
    assert compilers.searches("inductor")
