"""A race of made-up compilers, with a measurer whose cases have true times."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from launched import costs
from synthetic import failed, noisy, skipped

from pytest_ngraph.advise.answer import Answer, answer
from pytest_ngraph.advise.candidates import Axes
from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.race import Race
from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.metrics.between import IN_GENERAL
from pytest_ngraph.record import Agreement, Record
from pytest_ngraph.settings import Settings

CLOSE = {"identity": 0.02, "torchscript": 0.017, "onnxruntime": 0.0102, "openvino": 0.0105, "openvino:streams=2": 0.01,
         "onnxruntime:rewrite=true": 0.0101}  # fmt: skip
CLEAR = {"identity": 0.02, "torchscript": 0.017, "onnxruntime": 0.012, "openvino": 0.008, "openvino:streams=2": 0.006,
         "onnxruntime:rewrite=true": 0.013}  # fmt: skip
OPTIONS = {"openvino": {"openvino:streams=2": 1.0}, "onnxruntime": {"onnxruntime:rewrite=true": 1.0}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MadeUpAxes(Axes):
    """Axes whose compilers need not be installed."""

    def options_of(self, compiler: str) -> dict[str, float]:
        return {} if CompilerSpec.parse(compiler).options else OPTIONS.get(compiler, {})


class Simulated:
    """Measures with a clock of its own, on which each case takes as long.

    Args:
        seconds: of an iteration at batch size 1, by compiler; a batch of four takes three times as long.
        fields: of the records of compilers.
    """

    def __init__(self, seconds: dict[str, float], case_s: float = 5.0, **fields: dict[str, Any]) -> None:
        self.now = 0.0
        self.taken: list[list[str]] = []
        self.budgets: list[float] = []
        self.wanted: list[list[str]] = []
        self._seconds = seconds
        self._case_s = case_s
        self._fields = fields

    def clock(self) -> float:
        return self.now

    def __call__(self, cases: Sequence[Case], budget_s: float, left_s: float, wanted: Sequence[Case]) -> list[Record]:
        del left_s
        self.taken.append([f"{case.compiler}-b{case.batch_size}-{case.device}" for case in cases])
        self.budgets.append(budget_s)
        self.wanted.append([case.compiler for case in wanted])
        self.now += self._case_s * len(cases)
        return [self._record(case, case in wanted) for case in cases]

    def _record(self, case: Case, is_wanted: bool) -> Record:
        if case.compiler not in self._seconds:
            return failed(case) if case.compiler == "tvm" else skipped(case, "it cannot")
        seconds = self._seconds[case.compiler] * (3.0 if case.batch_size == 4 else 1.0)
        fields = {
            "compile_s": 1.0,
            "load_s": 0.5,
            "agreement": Agreement(error=1e-6, tolerance=1e-4),
            **({"calls": tuple([seconds] * 500), "serving": costs()} if is_wanted else {}),
            **self._fields.get(CompilerSpec.parse(case.compiler).name, {}),
        }
        return noisy(case, seconds, spread=0.003, seed=len(case.compiler), **fields)


def raced(
    measure: Simulated, limits: Limits | None = None, budget_s: float = 300.0, **axes: Any
) -> tuple[Answer, Simulated]:
    """Return the answer of a race of five compilers, and what measured it."""
    chosen = MadeUpAxes(
        **{
            "case": Case(workload="net", compiler="identity", batch_size=1),
            "compilers": ("identity", "onnxruntime", "openvino", "torchscript", "tvm"),
            "batch_sizes": (1,),
            "precisions": ("fp32",),
            "devices": (Device(name="cpu"),),
            "objective": "latency",
            **axes,
        }
    )
    held = limits or Limits()
    race = Race(chosen, held, measure, budget_s, clock=measure.clock)
    return answer(race.run(), race.named, held, IN_GENERAL, "a-run", Settings().indifference), measure
