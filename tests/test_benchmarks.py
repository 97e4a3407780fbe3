"""The benchmarks work as a template for users: their metric and the selection of subsets."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from synthetic import case, failed, measured

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def conftest(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`benchmarks/conftest.py`."""
    monkeypatch.syspath_prepend(BENCHMARKS)  # where pytest puts the folder of a conftest
    spec = importlib.util.spec_from_file_location("conftest_of_benchmarks", BENCHMARKS / "conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_transfer_cost_reduction_by_hand(conftest: ModuleType) -> None:
    """An image has 150,528 bytes and its latent 12 channels of 28 by 28; 40 images are compressed per second."""
    of = case("openvino", 4, workload="encoder:build", width=32)
    records = [measured(of, 0.1), failed(case("tvm", 4, workload="encoder:build")), measured(case(), 0.1)]
    (metric,) = conftest.pytest_ngraph_metrics(records)
    assert (metric.name, metric.scope) == ("study.tcr_per_s", of)
    assert metric.estimate.value == pytest.approx((150_528 - 12 * 28 * 28) * 40)


@pytest.mark.parametrize(
    ("arguments", "collected"),
    [
        (("-k", "quick"), "14"),
        (("-m", "quick"), "14"),
        (("-k", "test_small or test_medium or test_large", "--batch-size=1"), "15"),
        (("-k", "compile_times"), "10"),
        (("-k", "compression"), "12"),
    ],
    ids=["quick by name", "quick by mark", "models", "compile times", "compression"],
)
def test_subsets_are_selected_with_pytests_options(
    pytester: pytest.Pytester, arguments: tuple[str, ...], collected: str
) -> None:
    command = [str(BENCHMARKS), "--compiler=identity", "--collect-only", "-q", f"--rootdir={BENCHMARKS.parent}"]
    result = pytester.runpytest(*command, *arguments)
    result.stdout.fnmatch_lines([f"{collected}/* tests collected*"])
