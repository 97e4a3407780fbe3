"""Compile an artifact and load it, with the seconds of each step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.clock import Clock
from pytest_ngraph.compilers import CompiledModel, Compiler, conversion, threads
from pytest_ngraph.system import garbage
from pytest_ngraph.worker.memory import Footprint


class ColdStart(NamedTuple):
    """What a cold start took. Each is as in `record.Record`."""

    convert_s: float | None = None
    compile_s: float | None = None
    compile_cores: int | None = None


class Loaded(NamedTuple):
    """A model that is ready to run.

    Attributes:
        load_s: seconds from what was compiled to the model.
    """

    model: CompiledModel
    load_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An artifact, what it is compiled with and for, and the folder of what is compiled.

    Attributes:
        footprint: is notified before the model is loaded; None while another model is held beside it.
    """

    compiler: Compiler
    artifact: Artifact
    target: Target
    folder: Path
    clock: Clock
    footprint: Footprint | None

    def load(self) -> Loaded:
        """Load what is in the folder."""
        if self.footprint:
            self.footprint.begin_loading(self.target.kind)
        started = self.clock()
        model = self.compiler.load(self.artifact, self.target, self.folder)
        return Loaded(model, self.clock() - started)

    def start(self) -> tuple[Loaded, ColdStart]:
        """Compile on all cores, and load."""
        with conversion.timed(self.clock) as converting:
            with garbage.with_little_garbage_collection(), threads.on_all_cores():
                started = self.clock()
                self.compiler.compile(self.artifact, self.target, self.folder)
                compile_s = self.clock() - started
            loaded = self.load()
        total_s = compile_s + loaded.load_s
        return loaded, ColdStart(converting.seconds, total_s - converting.seconds, len(threads.compiling_cores()))
