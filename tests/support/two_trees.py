"""Head and base as two folders of code, compared by real workers (`tests/bench/conftest.py` has the fixtures)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings

NETWORK = """
import torch

def network(batch_size):
    return torch.nn.Sequential(*(torch.nn.Linear({width}, {width}) for _ in range(4))), torch.ones(batch_size, {width})
"""
SETTINGS = Settings(budget_s=0.2, launch_s=0.05, warmup_s=0.1, cache=None)
CASE = Case(workload="nets:network", compiler="torchscript", batch_size=2)
Compare = Callable[..., list[Record]]


@dataclass(frozen=True)
class Decided:
    """Decides every comparison once it has this many launches."""

    launches: int = 1
    is_regressed: Callable[[Comparison], bool] = lambda comparison: False

    def is_decided(self, comparison: Comparison) -> bool:
        return len(comparison.launches) >= self.launches


def comparison_of(records: list[Record]) -> Comparison:
    (record,) = records
    assert record.outcome == "measured", record.failure
    assert record.comparison is not None
    return record.comparison
