"""Profile what a compiler made: the same model once more, instrumented, beside the one that is timed.

In: what `compile` wrote, the artifact and the target. Out: a `ProfiledModel`, whose `profile` returns kernels
(`explain/profile.py`), with the program's operations that went into each. Nothing of this runs where nobody asks. Each
library has a file; open `openvino.py` first. `workloads/nodes.py` has the operations, `matching.py` finds those that a
library does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from pytest_ngraph.compilers.progress import report
from pytest_ngraph.errors import Unsupported

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ngraph.artifact import Artifact, Target
    from pytest_ngraph.compilers.interface import Compiler
    from pytest_ngraph.explain.profile import Kernel


class ProfiledModel(Protocol):
    """An instrumented model with its inputs in place. It is warm.

    Where its kernels come from other operations than the artifact's, or it has read these, it has them as `nodes`.
    """

    def profile(self, calls: int) -> Sequence[Kernel]:
        """Call the model this often, and return its kernels with their seconds per call."""
        ...

    def close(self) -> None:
        """Free what is held. Called once."""
        ...


@contextmanager
def compiling_again() -> Iterator[None]:
    """Report that this block compiles once more, because what was timed cannot be profiled, and that it ends."""
    report("compiling once more, to profile it")
    yield
    report("profiling what was compiled")


def instrument(name: str, compiler: Compiler, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
    """Let a compiler load what it compiled once more, instrumented.

    Args:
        name: the compiler's name with its options.
        compiled: what `compile` filled.

    Raises:
        Unsupported: the compiler cannot profile this model, or has no method `instrument`.
    """
    method = getattr(compiler, "instrument", None)
    if method is None:
        raise Unsupported(
            f"{name} has no method instrument. docs/explain.md lists the compilers that have one, and "
            "docs/add-a-compiler.md says what it returns"
        )
    if target.objective == "throughput":
        raise Unsupported("a profile is of one call at a time, and this case runs several side by side for throughput")
    model: ProfiledModel = method(artifact, target, compiled)
    return model
