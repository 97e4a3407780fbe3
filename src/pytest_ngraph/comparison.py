"""A comparison: what measuring a case's head beside its base yielded. Raw times; `gate` makes verdicts of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

Placement = Literal["together", "apart"]
"""Both arms in one process, alternating; or each in a process of its own."""

HEAD, BASE = "head", "base"
"""The arms."""


class Quad(NamedTuple):
    """Four bursts in the order base, head, head, base or the other way round: drift cancels, and either arm follows
    itself once and the other once, so that what one leaves in the caches favours neither.

    base, head: seconds per iteration of the bursts of each.
    """

    base: tuple[float, float]
    head: tuple[float, float]

    @property
    def total_s(self) -> float:
        """Of an iteration of each burst."""
        return sum(self.base) + sum(self.head)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRound:
    """Quads that ran without a pause, and what else the machine did meanwhile; None where the kernel does not tell.

    elapsed_s: wall seconds. The others as in `record.Contention`.
    """

    quads: tuple[Quad, ...]
    elapsed_s: float
    pressure_percent: float | None = None
    steal_percent: float | None = None
    involuntary_switches: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """Both arms built once, in one order, and run in turn."""

    rounds: tuple[PairedRound, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A process, or one for each arm, in which the arms are built twice: base first, then head first, because some
    compilers favour what they build first. Launches differ in speed by chance: the launch is the sampling unit.

    fresh: whether its processes were started for it. iterations: those of each burst, of all streams together.
    """

    builds: tuple[Build, ...]
    iterations: int
    fresh: bool

    @property
    def rounds(self) -> tuple[PairedRound, ...]:
        """Those of all builds."""
        return tuple(each for build in self.builds for each in build.rounds)

    @property
    def elapsed_s(self) -> float:
        """Wall seconds of measuring."""
        return sum(each.elapsed_s for each in self.rounds)


@dataclass(frozen=True, slots=True, kw_only=True)
class AloneLaunch:
    """One arm in a fresh process of its own: what a process that holds both arms cannot tell of either.

    compile_s: of a cold start; None where nothing is compiled. The others as in `record.Record`.
    """

    arm: str
    compile_s: float | None
    cpu_percent: float | None
    peak_memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What measuring head beside base yielded.

    against: names the base (`main at 1a2b3c4`). base: the id of its case, where that is not the head's own.
    launches: the screen's first, then those that confirm it.
    alone: launches of one arm each, where a threshold asked for what they tell. alone_problem: why they broke off.
    same: the two start from equal graphs and weights, so that nothing needed measuring.
    new: the base does not have this case. facts: what the base's compiled model says of itself.
    problem: why the two could not be compared, in words.
    """

    against: str = ""
    base: str = ""
    placement: Placement = "together"
    launches: tuple[Launch, ...] = ()
    alone: tuple[AloneLaunch, ...] = ()
    alone_problem: str = ""
    same: bool = False
    new: bool = False
    problem: str = ""
    facts: dict[str, str] = field(default_factory=dict)

    @property
    def elapsed_s(self) -> float:
        """Wall seconds of measuring, all launches together."""
        return sum(each.elapsed_s for each in self.launches)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Comparison:
        """The inverse of `to_dict`."""
        launches = tuple(_launch(each) for each in data["launches"])
        alone = tuple(AloneLaunch(**each) for each in data.get("alone", ()))
        return cls(**data | {"launches": launches, "alone": alone})


def _launch(data: dict[str, Any]) -> Launch:
    return Launch(**data | {"builds": tuple(_build(each) for each in data["builds"])})


def _build(data: dict[str, Any]) -> Build:
    return Build(rounds=tuple(_round(each) for each in data["rounds"]))


def _round(data: dict[str, Any]) -> PairedRound:
    return PairedRound(**data | {"quads": tuple(Quad(tuple(base), tuple(head)) for base, head in data["quads"])})


MOST_STEAL_PERCENT = 2.0
"""Time that the hypervisor takes strikes one burst and not the next; a quiet virtual machine shows none to 1 %."""


MOST_PRESSURE_PERCENT = 10.0
"""One thread that waits its turn for a tenth of the round delays some of the bursts by several times their length."""


MOST_SWITCHES_PER_S = 1000
"""Where the kernel does not tell of pressure. Threads that yield to each other at the end of every iteration switch
some 200 times a second on a quiet machine; one that shares its core is taken off it hundreds of times more."""


def is_disturbed(measured: PairedRound) -> bool:
    """Whether the kernel tells of other work on the cores meanwhile. What it does not tell does not count."""
    most_switches = MOST_SWITCHES_PER_S * measured.elapsed_s
    crowded = measured.pressure_percent is None and (measured.involuntary_switches or 0) > most_switches
    return crowded or is_contended(measured.pressure_percent, measured.steal_percent)


def is_contended(pressure_percent: float | None, steal_percent: float | None) -> bool:
    """Whether others had the cores for longer than they do on a quiet machine. None does not count."""
    return (pressure_percent or 0) > MOST_PRESSURE_PERCENT or (steal_percent or 0) > MOST_STEAL_PERCENT
