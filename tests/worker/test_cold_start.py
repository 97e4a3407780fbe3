"""The seconds of converting, compiling and loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import conversion, threads
from pytest_ngraph.worker.cold_start import ColdStart, Job
from pytest_ngraph.worker.memory import Footprint


class Clock:
    """A clock that stands still between calls of `go_on`."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def go_on(self, seconds: float) -> None:
        self.now_s += seconds


class Compiler:
    """Converts for 2 s, compiles for 3 s; when loaded, it converts for 1 s more and compiles for 4 s."""

    libraries: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu",)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        with conversion.converting():
            self._clock.go_on(2)
        self._clock.go_on(3)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> Any:
        with conversion.converting():
            self._clock.go_on(1)
        self._clock.go_on(4)
        return "model"


class Slow(Footprint):
    """Looks at the memory for 100 s."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def begin_loading(self, kind: Kind) -> None:
        self._clock.go_on(100)


def job(folder: Path, clock: Clock, footprint: Footprint | None = None) -> Job:
    artifact = Artifact(folder=folder, case=Case(workload="w", compiler="own", batch_size=1))
    return Job(
        compiler=Compiler(clock), artifact=artifact, target=Target(), folder=folder, clock=clock, footprint=footprint
    )


def test_a_cold_start_is_divided_into_converting_and_what_follows(tmp_path: Path) -> None:
    loaded, cold_start = job(tmp_path, Clock()).start()
    assert loaded.load_s == 5
    assert cold_start == ColdStart(3.0, 7.0, len(threads.compiling_cores()))


def test_what_is_loaded_later_takes_what_loading_takes(tmp_path: Path) -> None:
    assert job(tmp_path, Clock()).load().load_s == 5


def test_to_look_at_the_memory_takes_nothing(tmp_path: Path) -> None:
    clock = Clock()
    loaded, cold_start = job(tmp_path, clock, Slow(clock)).start()
    assert clock.now_s == 110
    assert loaded.load_s == 5
    assert cold_start[:2] == (3, 7)
