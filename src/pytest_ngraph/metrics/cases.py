"""The metrics of one case."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.metrics.cells import Cell, Inapplicable, Missing, Panel
from pytest_ngraph.metrics.metric import Metric
from pytest_ngraph.stats import ONE, Estimate, Sampled

Formula = Callable[[Panel, Case], Sampled | Estimate]


def case_metrics(panel: Panel, cell: Cell) -> dict[str, Metric]:
    """Every metric of a cell's case by name, absent ones included."""
    case = cell.case
    try:
        panel.throughput(case.compiler, case.batch_size)
    except Missing as reason:
        return {name: Metric(name, case, absent=str(reason)) for name in FORMULAS}
    return {name: _metric(name, formula, panel, case) for name, formula in FORMULAS.items()}


def _metric(name: str, formula: Formula, panel: Panel, case: Case) -> Metric:
    try:
        result = formula(panel, case)
    except Missing as reason:
        return Metric(name, case, absent=str(reason), by_definition=isinstance(reason, Inapplicable))
    if isinstance(result, Sampled):
        return Metric(name, case, result.estimate(), by_definition=result is ONE)
    return Metric(name, case, result)


def _throughput(panel: Panel, case: Case) -> Estimate:
    latency = _latency_s(panel, case)
    # Fewer seconds are more samples: the bounds change places.
    low = case.batch_size / latency.high
    high = case.batch_size / latency.low if latency.low > 0 else math.inf
    return Estimate(case.batch_size / latency.value, low, high)


def _latency_s(panel: Panel, case: Case) -> Estimate:
    latency = panel.cell(case.compiler, case.batch_size).latency_s
    assert latency is not None
    return latency._replace(low=max(0.0, latency.low))


def _speedup(panel: Panel, case: Case) -> Sampled:
    return panel.speedup(case.compiler, case.batch_size)


def rtr(panel: Panel, compiler: str, batch_size: int) -> Sampled:
    """Relative throughput rate, T_c(b) / T_c(1) (study V-A4). Raises `Missing`."""
    return panel.throughput(compiler, batch_size) / panel.throughput(compiler, 1)


def _rtr(panel: Panel, case: Case) -> Sampled:
    if (case.compiler, 1) not in panel:
        raise Missing("batch size 1 was not measured")
    return rtr(panel, case.compiler, case.batch_size)


def _ase(panel: Panel, case: Case) -> Sampled:
    return _rtr(panel, case).scaled(1 / case.batch_size)


def _bsr(panel: Panel, case: Case) -> Sampled:
    # Both efficiencies are at the same batch size, so the ratio of the rates is the ratio of the efficiencies.
    own = _rtr(panel, case)
    return own / (own if case.compiler == IDENTITY else rtr(panel, IDENTITY, case.batch_size))


def _break_even(panel: Panel, case: Case) -> Sampled:
    _refuse_identity(case)
    compile_s = _compile_s(panel, case).value
    own = panel.throughput(case.compiler, case.batch_size)
    identity = panel.throughput(IDENTITY, case.batch_size)
    gains_s = 1 / identity.draws - 1 / own.draws
    draws = np.divide(compile_s, gains_s, out=np.full_like(gains_s, math.inf), where=gains_s > 0)
    gain_s = 1 / identity.value - 1 / own.value
    return Sampled(compile_s / gain_s if gain_s > 0 else math.inf, draws, own.known and identity.known)


def _compile_s(panel: Panel, case: Case) -> Estimate:
    return _reading(panel, case, "compile_s", Inapplicable("nothing is compiled"))


def _cpu_percent(panel: Panel, case: Case) -> Estimate:
    return _reading(panel, case, "cpu_percent", Missing("CPU time was not recorded"))


def _cpu_reduction(panel: Panel, case: Case) -> Estimate:
    _refuse_identity(case)
    panel.throughput(IDENTITY, case.batch_size)
    identity = _cpu_percent(panel, dataclasses.replace(case, compiler=IDENTITY)).value
    if identity == 0:
        raise Missing(f"identity at batch size {case.batch_size} used no CPU time")
    return Estimate.exactly(1 - _cpu_percent(panel, case).value / identity)


def _peak_memory_bytes(panel: Panel, case: Case) -> Estimate:
    return _reading(panel, case, "peak_memory_bytes", Missing("memory was not recorded"))


def _device_memory_bytes(panel: Panel, case: Case) -> Estimate:
    return _reading(panel, case, "device_memory_bytes", Inapplicable("there is no accelerator"))


def _reading(panel: Panel, case: Case, field: str, otherwise: Missing) -> Estimate:
    """What was read once for a case: no samples, so no interval."""
    value: float | None = getattr(panel.cell(case.compiler, case.batch_size).record, field)
    if value is None:
        raise otherwise
    return Estimate.exactly(value)


def _refuse_identity(case: Case) -> None:
    if case.compiler == IDENTITY:
        raise Inapplicable("identity is what the others are compared with")


FORMULAS: dict[str, Formula] = {
    "throughput": _throughput,
    "latency_s": _latency_s,
    "speedup": _speedup,
    "rtr": _rtr,
    "ase": _ase,
    "bsr": _bsr,
    "compile_s": _compile_s,
    "break_even": _break_even,
    "cpu_percent": _cpu_percent,
    "cpu_reduction": _cpu_reduction,
    "peak_memory_bytes": _peak_memory_bytes,
    "device_memory_bytes": _device_memory_bytes,
}
