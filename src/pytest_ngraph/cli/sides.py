"""The two sides that `pytest-ngraph report --compare` names: runs of the stores, or devices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph import store
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.machine import is_same_machine
from pytest_ngraph.store import Run

if TYPE_CHECKING:
    from pytest_ngraph.report.study.sides import Sides

MOST_NAMED = 10
BOTH = "Both are devices, or both are runs."


def runs_named(names: Sequence[str], stores: Sequence[Path]) -> list[Run] | None:
    """Return the two runs, or None if the names are no runs. `latest` is the last run of the last store.

    Raises `UsageError` if only one of them is a run, or both are the same.
    """
    folders = {run: folder for folder in stores for run in store.run_ids(folder)}
    if folders:
        folders[store.LATEST] = stores[-1]
    others = [name for name in names if name not in folders]
    if len(others) == len(names):
        return None
    if others:
        raise UsageError.unknown("--compare", others[0], [*folders][-MOST_NAMED:], BOTH)
    found = [store.read(folders[name], name) for name in names]
    if found[0].id == found[1].id:
        raise UsageError(f"--compare {names[0]} {names[1]}: both are run {found[0].id}. Name two runs, or two devices.")
    return found


def of_runs(runs: Sequence[Run]) -> Sides:
    """Return two runs as sides."""
    from pytest_ngraph.report.study.sides import Side, Sides

    one, other = runs
    return Sides(
        what="run",
        one=Side.of_run(one.id, one.records),
        other=Side.of_run(other.id, other.records),
        alike=lambda device: is_same_machine(one.environment_of(device), other.environment_of(device)),
    )


def of_devices(names: Sequence[str], runs: Sequence[Run]) -> Sides:
    """Return two devices as sides. Raises `UsageError` if the runs do not have one of them."""
    from pytest_ngraph.report.study.sides import Side, Sides

    devices = list(dict.fromkeys(device for run in runs for device in run.devices))
    for name in names:
        if name not in devices:
            known = [*devices, *[run.id for run in runs][-MOST_NAMED:]]
            raise UsageError.unknown("--compare", name, known, BOTH)
    records = [record for run in runs for record in run.records]
    one, other = (Side.of_device(name, records) for name in names)
    return Sides(what="device", one=one, other=other)
