"""Measure what serving costs: an arm writes the folder that serves its model, and fresh processes run it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes.leftovers import MARK
from pytest_ngraph.bench.processes.process import WorkerFailed
from pytest_ngraph.bench.processes.worker_variables import without_coverage
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import kinds
from pytest_ngraph.costs import Costs, ServingLaunch
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.record import Contention, Record
from pytest_ngraph.serving.launches import LAUNCHES, Place, cycles, in_turn
from pytest_ngraph.settings import Settings


@dataclass(frozen=True, slots=True)
class Deployment:
    """A folder whose launches are still to come.

    Attributes:
        known: the costs that are known without them.
        place: the folder, and how it is launched; None where there is none.
    """

    known: Costs
    place: Place | None = None


class ServingCosts:
    """Measures the serving costs of the cases that were asked for.

    Args:
        asked: the cases whose costs are asked for.
        temporary: where folders are written. What still runs there is killed when it is removed.
    """

    def __init__(self, asked: Collection[Case], temporary: Path, settings: Settings, progress: Progress) -> None:
        self._asked = asked
        self._temporary = temporary
        self._settings = settings
        self._progress = progress

    def asks(self, case: Case) -> bool:
        """Return whether this case's costs are measured."""
        return not self._settings.smoke and case in self._asked

    def finished(self, arm: Arm, contention: Contention, arms: tuple[str, ...], cycles: str = "") -> Record:
        """Finish an arm, and return its record with its costs where they are asked for.

        The model is freed before its folder is launched. Arguments are those of `Arm.finish`.
        """
        deployment = self.write(arm) if self.asks(arm.case) else None
        record = arm.finish(contention, arms, cycles)
        if deployment is None:
            return record
        (costs,) = self.measure(arm.case, [deployment])
        return replace(record, serving=costs)

    def write(self, arm: Arm, python: str = sys.executable) -> Deployment | None:
        """Have an arm, whose model is loaded, write the folder that serves it. Return None if it has no model.

        Args:
            python: the interpreter that serves.
        """
        if not arm.can_run:
            return None
        try:
            folder = Path(tempfile.mkdtemp(prefix="serving-", dir=self._temporary))
            written = arm.deploy(folder)
        except (Unsupported, WorkerFailed, OSError) as error:
            return Deployment(Costs(problem=f"it cannot be deployed: {error}"))
        place = Place(
            folder=folder,
            cores=arm.target.cores,
            python=python,
            variables=variables_of(self._temporary, arm.target),
            packages=written.packages,
        )
        return Deployment(written.costs, place)

    def measure(self, case: Case, deployments: Sequence[Deployment]) -> list[Costs]:
        """Launch these folders in turn, remove them, and return what each costs.

        Args:
            case: whose costs they are, as shown to users.
        """
        places = [each.place for each in deployments if each.place]
        try:
            count = self._settings.serving_launches
            launches = iter(launch(case, places, self._settings.timeout_s, self._progress, count))
        except NgraphError as error:
            if len(deployments) > 1:  # another may serve
                return [cost for each in deployments for cost in self.measure(case, [each])]
            return [replace(each.known, problem=str(error)) for each in deployments]
        finally:
            for place in places:
                shutil.rmtree(place.folder, ignore_errors=True)
        return [replace(each.known, launches=next(launches)) if each.place else each.known for each in deployments]


def launch(
    case: Case, places: Sequence[Place], timeout_s: float, progress: Progress, count: int | None = None
) -> list[tuple[ServingLaunch, ...]]:
    """Return the launches of each place, made in turn. Raises `NgraphError` where one does not serve.

    Args:
        count: launches of each place; None for as many as give an interval.
    """
    number_of_launches = count or LAUNCHES

    def show(number: int) -> None:
        progress.doing(case, f"serve, launch {number + 1} of {cycles(number_of_launches)}")

    return in_turn(places, timeout_s, show, number_of_launches) if places else []


def variables_of(temporary: Path, target: Target) -> Mapping[str, str]:
    """Return the environment of a process that serves: this one's, without the variables of coverage.

    Args:
        temporary: the folder with which it ends.
        target: the device, which is the only one of its kind that the process sees.
    """
    return without_coverage() | kinds.named(target.kind).only(target.index, os.environ) | {MARK: f"{temporary}#serving"}
