"""What a compiler and a compiled model have to provide, and the precisions that a compiler refuses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from pytest_ngraph.artifact import Array, Artifact, Kind, Target
from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.errors import Unsupported


class CompiledModel(Protocol):
    """A workload that runs on its inputs, which stay where the device reads them."""

    def __call__(self) -> object:
        """Run one iteration. On a GPU it may return before the work is done; `stopwatch` waits for it."""
        ...

    def outputs(self) -> Sequence[Array]:
        """Run once and return the outputs, flattened in the graph's order, floats of any precision as fp32."""
        ...

    @property
    def concurrency(self) -> int:
        """Iterations that one call runs side by side; 1 where they run one after another."""
        ...

    @property
    def stopwatch(self) -> Stopwatch:
        """Times bursts of calls on the device that runs them."""
        ...

    @property
    def facts(self) -> dict[str, str]:
        """What really runs, from the library itself where it can be asked: version, precision, provider, threads."""
        ...

    def close(self) -> None:
        """Free what is held. Called once."""
        ...


class Compiler(Protocol):
    """Turns an artifact into a compiled model. An instance is one compiler with its options set.

    The class declares what is known without importing its library. Options are the fields of a frozen dataclass,
    typed `bool`, `int`, `float`, `str`, `Literal[...]` or one of these `| None`, each with a default.

    A class may also declare:

    - `install_hint`, a sentence on installing its libraries where pip alone is not enough;
    - `objectives`, those that it can be measured for; without them it is measured for latency only;
    - `for_priming`, a method that returns a compiler like itself, with which something tiny is compiled before the
      first compile of a process is timed: often `self`. Without it, the first one also pays for what the library does
      once per process;
    - `searches`, whether it tries alternatives and keeps the fastest, so that two compiles of one graph differ by luck;
      a property where that depends on its options. Without it, it does not search. One that keeps what it finds
      outside its folder must leave that alone where `Target.draw` is not 0.

    - `worth_trying`, a method that returns for a target which of its options are worth trying there, as
      `{"streams=2": 1.0}`: each with about how many times as long as the default it takes to compile. Without it, only
      the defaults are tried.

    One whose compiled models can be deployed has a method `deploy(artifact, target, compiled, folder)`, which writes
    into `folder` what serves the model that `compile` left in `compiled`, and returns a `serving.Serving`.

    One whose compiled models can be profiled has a method `instrument(artifact, target, compiled)`, which loads the
    model that `compile` left in `compiled` once more, instrumented, and returns a `profiling.ProfiledModel`.

    One that also compiles modules which `torch.export` refuses has a method `runs_module` (`registry.runs_module`).

    Attributes:
        libraries: modules that must be importable, the compiler's own first.
        kinds: kinds of device it compiles for.
    """

    libraries: ClassVar[tuple[str, ...]]
    kinds: ClassVar[tuple[Kind, ...]]

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Compile into `folder`, which is empty. Raise `Unsupported` for what it cannot do at all.

        A worker calls it with all cores of the device. What makes the library's input of the program is marked
        (`conversion.converting`), so that it is timed apart.
        """
        ...

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        """Make what `compile` left in `folder` runnable, with the artifact's inputs in place."""
        ...


def refuse_precision(compiler: str, target: Target, supported: tuple[str, ...]) -> None:
    """Raise `Unsupported` when the target's precision is not among those supported."""
    if target.precision not in supported:
        raise Unsupported(
            f"{compiler} does not run {target.precision} on {target.kind}; it runs {', '.join(supported)}"
        )
