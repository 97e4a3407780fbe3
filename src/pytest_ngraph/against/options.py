"""The gate's options as plain data: what a run is compared with, and when it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_ngraph.settings import Explained

Policy = Literal["warn", "fail", "pass"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    """What a run is compared with, and which verdicts fail a test.

    Attributes:
        against: the git revision to compare with; empty for none. With `history`, the anchor; empty for that of the
            last night.
        history: whether cases are measured beside an anchor for a history, which fails nothing.
        against_python: the interpreter of the environment to compare with; empty for none.
        calibrate: whether to compare every case with itself, to learn this machine's noise.
        margin: the slowdown that is tolerated, as a share.
        level: the chance, over the whole run, of falsely calling a case regressed.
        inconclusive: what happens to a test that noise left undecided.
        broken_base: what happens where the base cannot be collected, built or run.
        explain: which cases are profiled, to say where they differ from their base; `all` also those without one.
        untracked: patterns of the files that git does not track, such as weights, and that the base reads, too.
        launches: fresh launches that a comparison may take; None for the usual number.
        two_sided: whether an unchanged case is surely neither slower nor faster by more than the margin.
        threads: cores that a comparison runs on; None for those of the device that other work leaves free.
        compare: names of the stored baselines to compare with.
        save: the stored baseline that this run is added to; empty for none.
        foreign_baseline: whether baselines of other machines are accepted.
    """

    against: str = ""
    history: bool = False
    against_python: str = ""
    calibrate: bool = False
    margin: float = 0.01
    level: float = 0.01
    inconclusive: Policy = "warn"
    broken_base: Policy = "fail"
    explain: Explained = "regressed"
    untracked: tuple[str, ...] = ()
    launches: int | None = None
    two_sided: bool = False
    threads: int | None = None
    compare: tuple[str, ...] = ()
    save: str = ""
    foreign_baseline: bool = False

    @property
    def measures_base(self) -> bool:
        """Whether a base is measured beside the cases."""
        return self.calibrate or self.history or bool(self.against or self.against_python)

    def policy(self, verdict: str, *, broken: bool) -> Policy:
        """Return what happens to a test with this verdict.

        Args:
            broken: whether it is undecided because the base failed.
        """
        if self.history:
            return "warn" if broken else "pass"
        if verdict in ("regressed", "lost"):
            return "fail"
        if verdict == "inconclusive":
            return self.broken_base if broken else self.inconclusive
        return "pass"

    @property
    def compares_with_other_code(self) -> bool:
        """Whether the run is compared with another revision, environment or run: a calibration is not."""
        return self.history or bool(self.against or self.against_python or self.compare)
