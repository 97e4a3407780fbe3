"""Candidates: compilers with their options, at each batch size, in each precision, with each number of threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import IDENTITY, Case, CompilerSpec, Objective, Precision
from pytest_ngraph.machine.devices import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """What a race chooses from. The first value of each axis is where compilers are compared first.

    Attributes:
        case: the workload, with everything that is not chosen.
        compilers: those to try, with or without options of their own.
        devices: the device with each number of threads.
        objective: what is compared: single calls, or calls side by side.
    """

    case: Case
    compilers: Sequence[str]
    batch_sizes: Sequence[int]
    precisions: Sequence[Precision]
    devices: Sequence[Device]
    objective: Objective

    @property
    def cells(self) -> list[Case]:
        """The combinations of everything but the compiler, each as the case of identity."""
        return [
            replace(
                self.case,
                compiler=IDENTITY,
                batch_size=batch_size,
                precision=precision,
                device=device.name,
                objective=self.objective,
            )
            for device, precision, batch_size in product(self.devices, self.precisions, self.batch_sizes)
        ]

    def options_of(self, compiler: str) -> dict[str, float]:
        """Return a compiler with each of its options that is worth trying, and how long compiling takes with it.

        The latter is a multiple of what the default takes. A compiler that was given with options is tried as it is.
        """
        if CompilerSpec.parse(compiler).options:
            return {}
        device = self.devices[0]
        target = Target(
            kind=device.kind,
            cores=device.target(self.case).cores,
            precision=self.precisions[0],
            objective=self.objective,
        )
        return compilers.worth_trying(compiler, target)


def installed(kind: str, objective: Objective) -> Iterator[str]:
    """Yield the registered compilers that are installed, and that compile for this kind of device and objective."""
    for name in compilers.names():
        compiler = compilers.resolve(name)
        runs = kind in compiler.kinds and objective in getattr(compiler, "objectives", ("latency",))
        if runs and not compilers.missing_library(name):
            yield name
