"""A comparison: the raw times of a case's head measured beside its base. `gate` turns them into verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from pytest_ngraph.costs import Costs

Placement = Literal["together", "apart"]
"""Both arms in one process, alternating; or each in a process of its own."""

Subject = Literal["", "program", "module", "compiler"]
"""What a comparison is about: eager PyTorch, as exported programs or as the modules themselves; or a compiler whose own
code differs, each model compiled by its own side's. Empty for all others, of which only the graph can differ."""

HEAD, BASE = "head", "base"
"""Names of the two arms."""
RENAMED = {"peak_memory_bytes": "worker_memory_bytes"}
"""Names of fields in stored records and launches of earlier versions, with those that they have today."""


class Quad(NamedTuple):
    """Four bursts in the order base, head, head, base, or head, base, base, head.

    In this order linear drift cancels. Each arm also follows itself once and the other once, so that neither gains
    from what the other leaves in the caches.

    Attributes:
        base: seconds per iteration of the base's two bursts.
        head: seconds per iteration of the head's two bursts.
    """

    base: tuple[float, float]
    head: tuple[float, float]

    @property
    def total_s(self) -> float:
        """Seconds of one iteration of each of the four bursts, added up."""
        return sum(self.base) + sum(self.head)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRound:
    """Quads that ran without a pause, and the other load on the machine during them.

    Attributes:
        elapsed_s: wall seconds.
        pressure_percent: as in `record.Contention`.
        steal_percent: as in `record.Contention`.
        involuntary_switches: as in `record.Contention`.
        throttled_by: as in `record.Contention`.
    """

    quads: tuple[Quad, ...]
    elapsed_s: float
    pressure_percent: float | None = None
    steal_percent: float | None = None
    involuntary_switches: int | None = None
    throttled_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """Both arms built once, in one order, and run alternately."""

    rounds: tuple[PairedRound, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One process (or one for each arm) in which the arms are built twice: base first, then head first.

    Both orders are needed because some compilers favour what they build first. Launches differ in speed by chance, so
    the launch is the sampling unit.

    Attributes:
        iterations: iterations of each burst, all streams together.
        fresh: whether its processes were started for this launch.
    """

    builds: tuple[Build, ...]
    iterations: int
    fresh: bool

    @property
    def rounds(self) -> tuple[PairedRound, ...]:
        """The rounds of all builds."""
        return tuple(each for build in self.builds for each in build.rounds)

    @property
    def elapsed_s(self) -> float:
        """Wall seconds of measuring."""
        return sum(each.elapsed_s for each in self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class AloneLaunch:
    """One arm in a fresh process of its own: figures that a process with both arms cannot attribute to either.

    Attributes:
        compile_s: seconds of converting and compiling in a cold start; None where nothing is compiled.
        cpu_percent: as in `record.Record`.
        worker_memory_bytes: as in `record.Record`.
    """

    arm: str
    compile_s: float | None
    cpu_percent: float | None
    worker_memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLaunch:
    """Seconds of single calls of both arms, timed one by one in one launch: in blocks of each arm in turn.

    As in `Launch`, half of them were timed with the base built first, and half with the head built first.
    """

    base: tuple[float, ...]
    head: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of measuring the head beside the base.

    Attributes:
        against: name of the base (`main at 1a2b3c4`).
        base: id of the base's case, where it differs from the head's.
        launches: first those of the screen, then those that confirm it.
        alone: launches of one arm each, where a threshold needs compile time, CPU time or memory.
        alone_problem: why the launches in `alone` ended early.
        calls: launches in which single calls are timed, where a threshold compares their percentiles.
        calls_problem: why the launches in `calls` ended early.
        serving: what serving the base costs, measured in turn with the head; None where that was not asked for.
        subject: what the verdict is about.
        module: the same case compared as modules as well, where files that they are built from differ.
        share: of the error level that the case is given; less than 1 where it is compared in two ways.
        same: head and base start from equal graphs and weights, so that nothing needed measuring.
        searched: the compiler searches, so that every fresh launch compiles both arms for itself.
        new: the base does not have this case.
        lost: why the head cannot be run here, where the base can.
        base_skipped: why the base cannot be run here, although it has not failed.
        broken: how the base failed to be built or run (a `FailureKind`); empty where it did not.
        problem: why the two could not be compared.
        facts: what the base's compiled model reports about itself.
        explanation: what differs between the two, as `Explanation.to_dict` writes it, or `problem`: why it is not
            known. Empty where nobody asked.
    """

    against: str = ""
    base: str = ""
    placement: Placement = "together"
    subject: Subject = ""
    module: Comparison | None = None
    share: float = 1.0
    launches: tuple[Launch, ...] = ()
    alone: tuple[AloneLaunch, ...] = ()
    alone_problem: str = ""
    calls: tuple[CallLaunch, ...] = ()
    calls_problem: str = ""
    serving: Costs | None = None
    same: bool = False
    searched: bool = False
    new: bool = False
    lost: str = ""
    base_skipped: str = ""
    broken: str = ""
    problem: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    explanation: dict[str, Any] = field(default_factory=dict)

    @property
    def ways(self) -> tuple[Comparison, ...]:
        """The comparison itself, and that of the modules where there is one."""
        return (self, self.module) if self.module else (self,)

    @property
    def elapsed_s(self) -> float:
        """Wall seconds of measuring, all launches together."""
        return sum(each.elapsed_s for each in self.launches)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Comparison:
        """Return the comparison that `to_dict` wrote."""
        launches = tuple(_launch(each) for each in data["launches"])
        alone = tuple(AloneLaunch(**renamed(each)) for each in data.get("alone", ()))
        calls = tuple(CallLaunch(**{arm: tuple(own) for arm, own in each.items()}) for each in data.get("calls", ()))
        module = cls.from_dict(data["module"]) if data.get("module") else None
        serving = Costs.from_dict(data["serving"]) if data.get("serving") else None
        lists = {"launches": launches, "alone": alone, "calls": calls}
        return cls(**data | lists | {"module": module, "serving": serving})


def renamed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored record or launch with the names that its fields have today."""
    return {RENAMED.get(name, name): value for name, value in data.items()}


def _launch(data: dict[str, Any]) -> Launch:
    return Launch(**data | {"builds": tuple(_build(each) for each in data["builds"])})


def _build(data: dict[str, Any]) -> Build:
    return Build(rounds=tuple(_round(each) for each in data["rounds"]))


def _round(data: dict[str, Any]) -> PairedRound:
    return PairedRound(**data | {"quads": tuple(Quad(tuple(base), tuple(head)) for base, head in data["quads"])})


MOST_STEAL_PERCENT = 2.0
"""Time taken by the hypervisor hits one burst and not the next. A quiet virtual machine shows 0 to 1 %."""


MOST_PRESSURE_PERCENT = 10.0
"""A thread that waits for a core during a tenth of the round delays some bursts by several times their length."""


MOST_SWITCHES_PER_S = 1000
"""Used where the kernel reports no pressure. On a quiet machine, threads that yield to each other at the end of every
iteration switch about 200 times a second. A thread that shares its core is switched hundreds of times more."""


def is_disturbed(measured: PairedRound) -> bool:
    """Return whether other work held the cores during the round, or heat held clocks down. None is ignored."""
    most_switches = MOST_SWITCHES_PER_S * measured.elapsed_s
    crowded = measured.pressure_percent is None and (measured.involuntary_switches or 0) > most_switches
    return crowded or bool(measured.throttled_by) or is_contended(measured.pressure_percent, measured.steal_percent)


def is_contended(pressure_percent: float | None, steal_percent: float | None) -> bool:
    """Return whether other work held the cores longer than on a quiet machine. A missing value (None) is ignored."""
    return (pressure_percent or 0) > MOST_PRESSURE_PERCENT or is_stolen(steal_percent)


def is_stolen(steal_percent: float | None) -> bool:
    """Return whether a hypervisor gave more CPU time to others than on a quiet machine."""
    return (steal_percent or 0) > MOST_STEAL_PERCENT
