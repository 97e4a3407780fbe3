"""The gate's options as plain data: what a run is compared with, and when it fails."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Policy = Literal["warn", "fail", "pass"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """What a run is compared with, and which verdicts fail a test.

    Attributes:
        against: The git revision to compare with; empty for none.
        against_python: The interpreter of the environment to compare with; empty for none.
        calibrate: Whether to compare every case with itself, to learn this machine's noise.
        margin: The slowdown that is tolerated, as a share.
        level: The chance, over the whole run, of falsely calling a case regressed.
        inconclusive: What happens to a test whose comparison could not be decided.
        threads: Cores that a comparison runs on; None for those of the device that other work leaves free.
        compare: Names of the stored baselines to compare with.
        save: The stored baseline that this run is added to; empty for none.
        foreign_baseline: Whether baselines of other machines are accepted.
    """

    against: str = ""
    against_python: str = ""
    calibrate: bool = False
    margin: float = 0.01
    level: float = 0.01
    inconclusive: Policy = "warn"
    threads: int | None = None
    compare: tuple[str, ...] = ()
    save: str = ""
    foreign_baseline: bool = False

    @property
    def compares(self) -> bool:
        """Whether a base is measured beside the cases."""
        return self.calibrate or bool(self.against or self.against_python)

    @property
    def failing(self) -> Collection[str]:
        """The verdicts that fail a test."""
        return ("regressed", "inconclusive") if self.inconclusive == "fail" else ("regressed",)

    @property
    def has_base(self) -> bool:
        """Whether the run is compared with another revision, environment or run."""
        return bool(self.against or self.against_python or self.compare)
