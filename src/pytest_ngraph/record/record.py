"""A record: the result of one case, whether it was measured, unchanged, failed or skipped."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Model
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, renamed
from pytest_ngraph.costs import COSTS, Costs
from pytest_ngraph.load import Load
from pytest_ngraph.record.parts import (
    PASSING,
    Agreement,
    Contention,
    Failure,
    Outcome,
    Round,
    Warmup,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pytest_ngraph.stats import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The result of one case. Immutable; `to_dict` is JSON.

    Attributes:
        run: id of the run that made it.
        session: id of the session that measured it; empty for the one that began the run on this machine.
        nodeid: the test that asked for it.
        started_at: seconds since the epoch.
        calls: seconds of single calls that were timed one by one after the rounds, in that order, to four digits. Empty
            where nothing asked for them.
        pipelined_s: on an accelerator, seconds per iteration where calls are issued without waiting for each other, by
            the device's clock. The rounds and `calls` time calls that are waited for. None on a CPU, and where not
            recorded.
        stable: whether both ends of the median's 95 % interval reached the precision target before the budget ended, or
            the goal of the run had enough of it.
        stopped: why that goal had enough, as in `surely slower than openvino`; empty where its precision or the budget
            ended its rounds. Its interval is as wide as these make it.
        convert_s: seconds from the exported program to what the compiler itself takes (an ONNX graph, OpenVINO's
            representation, a TorchScript graph, or the program read back), in a cold start. None where nothing is
            compiled, and in records of earlier versions, whose `compile_s` contains it.
        compile_s: seconds from there to the first possible iteration, in a cold start, loading included; None where
            nothing is compiled, or other cases were compiled at the same time.
        compile_cores: logical CPUs that compiling could use; None where nothing is compiled, or it was not recorded.
        load_s: seconds from what was compiled, just now or earlier, to the first possible iteration.
        cached_at: when the artifact from the cache was compiled, in seconds since the epoch; None when it was compiled
            for this record.
        score: what the user's own function makes of its outputs (`Case.scored_by`), higher is better; None where there
            is none.
        cpu_percent: CPU seconds of the worker over wall seconds times logical CPUs, during the rounds.
        worker_memory_bytes: resident peak of the process that measures, from loading the model to the last round,
            without what compiling or earlier cases left in it (`worker.memory`). The process also holds PyTorch and
            this plugin.
        device_memory_bytes: peak on the accelerator; None on a CPU.
        serving: what a process costs that only serves this; None where that was not asked for.
        load: what its model showed under load; None where the objective is another.
        profile: where a call spends its time, as `KeptProfile.to_dict` writes it, or `problem`: why that is not known.
            Of an instrumented copy of the model, after the rounds. Empty where nobody asked.
        facts: what the compiled model reports about itself (version, precision really used, provider, threads).
        arms: the compilers whose rounds were interleaved with these.
        cycles: id of the cycles in which the arms took turns: the n-th rounds of all records with this id ran one after
            another. Empty where a cycle was not one round: beside a base, in a process of its own, before 2026-11-24,
            or where a goal left some out.
        comparison: the comparison with the base, when the run had one. Its rounds of the head are this record's.
        follows_from: the inputs of the measurement: when one changes, the case is measured again
            (`provenance.of_measuring`). Empty where it was not measured by a bench.
    """

    case: Case
    outcome: Outcome
    run: str = ""
    session: str = ""
    nodeid: str = ""
    started_at: float = 0.0
    rounds: tuple[Round, ...] = ()
    calls: tuple[float, ...] = ()
    pipelined_s: float | None = None
    stable: bool = False
    stopped: str = ""
    convert_s: float | None = None
    compile_s: float | None = None
    compile_cores: int | None = None
    load_s: float | None = None
    cached_at: float | None = None
    warmup: Warmup | None = None
    agreement: Agreement | None = None
    score: float | None = None
    cpu_percent: float | None = None
    worker_memory_bytes: int | None = None
    device_memory_bytes: int | None = None
    contention: Contention = field(default_factory=Contention)
    serving: Costs | None = None
    load: Load | None = None
    model: Model = field(default_factory=Model)
    profile: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    arms: tuple[str, ...] = ()
    cycles: str = ""
    failure: Failure | None = None
    skip_reason: str = ""
    comparison: Comparison | None = None
    follows_from: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def failed(cls, case: Case, failure: Failure) -> Record:
        """Return the record of a case that fails now, before it could become an arm."""
        return cls(case=case, outcome="failed", started_at=time.time(), failure=failure)

    @classmethod
    def skipped(cls, case: Case, reason: str) -> Record:
        """Return the record of a case that cannot be run here."""
        return cls(case=case, outcome="skipped", started_at=time.time(), skip_reason=reason)

    @property
    def measured_in(self) -> str:
        """The session that measured it, by an id that no other session has."""
        return self.session or self.run

    @property
    def tokens(self) -> int | None:
        """Tokens of one sample that an iteration works on; None where there is no text."""
        return self.model.tokens

    @property
    def first_tokens(self) -> int | None:
        """1 if an iteration ends with the first token of an answer (a prefill), else None."""
        return 1 if self.model.step == "prefill" else None

    @classmethod
    def unchanged(cls, case: Case, comparison: Comparison, model: Model) -> Record:
        """Return the record of a case that equals its base's, and that nobody has asked a figure of."""
        return cls(case=case, outcome="unchanged", started_at=time.time(), comparison=comparison, model=model)

    @property
    def total_compile_s(self) -> float | None:
        """Seconds from the exported program to the first possible iteration, in a cold start: converting, compiling."""
        return None if self.compile_s is None else (self.convert_s or 0.0) + self.compile_s

    def reading(self, metric: str) -> float | None:
        """Return a metric that is not sampled in rounds, by its name.

        `compile_s` is the total, of converting and compiling; a cost to serve is the median of its launches.
        """
        if metric in COSTS:
            estimate = self.serving.estimate(metric) if self.serving else None
            return estimate.value if estimate else None
        value: float | None = self.total_compile_s if metric == "compile_s" else getattr(self, metric)
        return value

    @property
    def samples(self) -> npt.NDArray[np.float64]:
        """Seconds per iteration, one value a round; shape (rounds,)."""
        import numpy as np

        return np.array([r.sample_s for r in self.rounds], dtype=np.float64)

    @property
    def latency_s(self) -> float:
        """Median seconds per iteration."""
        return median(r.sample_s for r in self.rounds)

    @property
    def throughput(self) -> float:
        """Samples per second: the batch size over the median seconds per iteration."""
        return self.case.batch_size / self.latency_s

    @property
    def throughput_interval(self) -> Estimate:
        """Samples per second with their 95 % interval, which has no upper end with fewer than six rounds."""
        import numpy as np

        from pytest_ngraph.stats import intervals_of_rounds

        return intervals_of_rounds(self.samples[None, :]).dividing(np.array([float(self.case.batch_size)]))[0]

    @property
    def problem(self) -> str:
        """Why the case has no measurement of its own; empty where it has one, or needs none."""
        return self.failure.message if self.failure else self.skip_reason

    @property
    def undeployable(self) -> str:
        """Why the case is no candidate for deploying, although it was measured; empty if that is not known."""
        if self.load and self.load.failed:
            return f"failed under load: {self.load.problem}"
        if self.serving:
            return self.serving.problem
        is_lazy = self.facts.get("ahead_of_time") == str(False)
        return "it cannot be deployed: it compiles at its first call and leaves no package" if is_lazy else ""

    @property
    def may_pass(self) -> bool:
        """Whether the case, or the base beside it, failed in a way that may have been chance."""
        if self.failure is not None:
            return self.failure.kind in PASSING
        return self.comparison is not None and any(way.broken in PASSING for way in self.comparison.ways)

    @property
    def lacks_costs(self) -> bool:
        """Whether the case was measured, and not what serving it costs."""
        return self.outcome == "measured" and self.serving is None

    @property
    def has_single_calls(self) -> bool:
        """Whether it was measured, and its calls ran by themselves, so that each can have a time."""
        return self.outcome == "measured" and self.case.runs_single_calls

    @property
    def lacks_compile_s(self) -> bool:
        """Whether the case was compiled and measured, and it is not known how long compiling takes by itself."""
        return self.outcome == "measured" and self.case.is_compiled and self.compile_s is None

    def lacks_score(self, case: Case) -> bool:
        """Whether the case was measured, and not scored by the function that this case names."""
        return self.outcome == "measured" and bool(case.scored_by) and self.case.scored_by != case.scored_by

    @property
    def lacks_profile(self) -> bool:
        """Whether the case was measured, and its time was not profiled."""
        return self.outcome == "measured" and not self.profile

    @property
    def threads(self) -> int | None:
        """Number of cores that computed; None where that was not recorded."""
        cores: list[int] | int | None = self.follows_from.get("target", {}).get("cores")
        return len(cores) if isinstance(cores, list | tuple) else cores  # under a CPU quota, only how many are kept

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data."""
        return dataclasses.asdict(self) | {"case": self.case.to_dict(), "rounds": [list(r) for r in self.rounds]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Record:
        """Return the record that `to_dict` wrote."""
        return cls(
            **renamed(data)
            | {
                "case": Case.from_dict(data["case"]),
                "rounds": tuple(map(Round._make, data["rounds"])),
                "calls": tuple(data.get("calls", ())),
                "warmup": Warmup(**data["warmup"]) if data["warmup"] else None,
                "agreement": Agreement(**data["agreement"]) if data["agreement"] else None,
                "contention": Contention(**data["contention"]),
                "serving": Costs.from_dict(data["serving"]) if data.get("serving") else None,
                "load": Load.from_dict(data["load"]) if data.get("load") else None,
                "model": Model(**data["model"]),
                "arms": tuple(data["arms"]),
                "failure": Failure(**data["failure"]) if data["failure"] else None,
                "comparison": Comparison.from_dict(data["comparison"]) if data.get("comparison") else None,
            }
        )
