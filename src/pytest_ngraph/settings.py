"""Settings of measuring: plain numbers, the same for every case of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

Isolation = Literal["compiler", "case"]
Goal = Literal["rank", "best", "threshold", "precision"]
Explained = Literal["regressed", "all", "none"]
"""Which cases are profiled beside their base, to explain where they differ. All: also those that have no base."""
MEMORY_SHARE = 0.8
"""A worker that holds more than this share of the machine's memory is killed, before the kernel kills something
else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How cases are measured. The defaults suit models that take 1 ms to 1 s per iteration.

    Attributes:
        budget_s: seconds of timed rounds per case; the rounds end earlier when the precision target is met.
        precision_target: distance of the further end of the 95 % interval from the median, over the median.
        goal: the question that the rounds answer: how fast each case is (`precision`), which of those that are measured
            in turn is the fastest (`best`), in which order they are (`rank`), whether each limit is kept (`threshold`).
        indifference: for `best` and `rank`, the lead, as a share, that does not matter.
        round_s: most seconds that a round aims for; a slower iteration is a round by itself.
        min_rounds: fewest rounds of a measured case. Fewer than twelve show too little of their own correlation; below
            six there is no 95 % interval of a median.
        warmup_s: most seconds of warming up.
        timeout_s: seconds that a phase (build, compile, verify, ...) may take before the worker is killed.
        memory_bytes: resident memory of a worker and its children at which they are killed; None for no limit.
        tails_s: seconds of single calls, timed one by one, per case whose single calls are asked for.
        leaders: of the cases of a group whose single calls and costs to serve are asked for, how many have them: the
            fastest by their rounds, each of another compiler; None for all.
        serving_launches: fresh processes that show what serving a case costs; None for the fewest with an interval.
        launch_s: seconds that one launch of a comparison with a base is measured for.
        load_s: seconds under load, per case of the objective `serving`.
        load_p99_s: under load, the time within which 99 of 100 requests must be answered.
        batch_wait_s: under load, how long a request waits for others to fill the batch.
        isolation: one worker process per compiler, or a fresh one per case.
        cache: folder of compiled artifacts; None keeps none.
        cache_bytes: size limit of that folder.
        needs_compile_s: whether an artifact of the cache is compiled again if it is not known how long that took.
        times_compiling: whether the seconds that compiling takes are recorded. If not, no compiler compiles something
            tiny first, to have done what it does once.
        is_race: for the goal `best`: an arm that is probably slower than the fastest runs in one cycle in four, and the
            budget counts the seconds of the others only.
        smoke: build, compile, verify and run once, without measuring (pytest-benchmark's `--benchmark-disable`).
    """

    budget_s: float = 5.0
    precision_target: float = 0.01
    goal: Goal = "precision"
    indifference: float = 0.02
    round_s: float = 0.05
    min_rounds: int = 12
    warmup_s: float = 3.0
    timeout_s: float = 1800.0
    memory_bytes: int | None = None
    tails_s: float = 1.0
    leaders: int | None = None
    serving_launches: int | None = None
    launch_s: float = 1.0
    load_s: float = 120.0
    load_p99_s: float = 0.1
    batch_wait_s: float = 0.0
    isolation: Isolation = "compiler"
    cache: Path | None = None
    cache_bytes: int = 10 * 2**30
    needs_compile_s: bool = True
    times_compiling: bool = True
    is_race: bool = False
    smoke: bool = False

    @property
    def aim_s(self) -> float:
        """The seconds that a round aims for: so few that the fewest rounds do not exceed the budget."""
        return min(self.round_s, self.budget_s / self.min_rounds)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON-ready data, also for another machine: `cache` is only whether to use one."""
        return asdict(self) | {"cache": self.cache is not None}

    @classmethod
    def from_dict(cls, data: dict[str, Any], cache: Path) -> Settings:
        """Return the settings that `to_dict` wrote. `cache` is the folder to use if they ask for a cache."""
        return cls(**data | {"cache": cache if data["cache"] else None})

    def cache_to_dict(self) -> dict[str, Any] | None:
        """Return the cache of compiled artifacts, as sent to a worker; None without one."""
        if not self.cache:
            return None
        limits = {"limit_bytes": self.cache_bytes, "needs_compile_s": self.needs_compile_s}
        return {"folder": str(self.cache), **limits}

    def on_machine(self, memory_bytes: int) -> Settings:
        """Return the settings with a memory limit. Where none is set, it is a share of this machine's memory."""
        return self if self.memory_bytes else replace(self, memory_bytes=int(MEMORY_SHARE * memory_bytes))

    @property
    def of_load(self) -> dict[str, float]:
        """The settings that a record under load depends on besides."""
        return {name: getattr(self, name) for name in ("load_s", "load_p99_s", "batch_wait_s")}

    def relevant_to(self, kind: str = "") -> dict[str, Any]:
        """Return the settings that a record depends on. A limit counts only for a failure that it caused.

        Args:
            kind: of the record's failure; empty without one.
        """
        names = ["budget_s", "precision_target", "round_s", "min_rounds", "warmup_s", "launch_s", "isolation"]
        limits = {"timed out": "timeout_s", "out of memory": "memory_bytes"}
        if kind in limits:
            names.append(limits[kind])
        if self.goal != "precision":
            names += ["goal", "indifference"]
        return {name: getattr(self, name) for name in names}
