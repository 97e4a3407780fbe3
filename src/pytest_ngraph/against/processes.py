"""What is known of how much processes of the same code differ: from a calibration, from earlier runs, or in general."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from pathlib import Path

from pytest_ngraph.against.calibrating import kept
from pytest_ngraph.errors import StoreError
from pytest_ngraph.metrics.between import IN_GENERAL, Between
from pytest_ngraph.metrics.learned import learned, timed
from pytest_ngraph.record import Record
from pytest_ngraph.store import read, run_ids

MOST_RUNS = 4
"""How many runs of a store are read: the last ones."""


def known(records: Iterable[Record], store: Path) -> Between:
    """Return what is known of the machine of these records.

    Args:
        store: folder with earlier runs; those of the same code on that machine count.
    """
    measured = [record for record in records if record.follows_from]
    return known_of({_machine_of(record) for record in measured}, store, {record.run for record in measured})


def known_of(machines: set[object], store: Path, own: Collection[str] = ()) -> Between:
    """Return what is known of machines, given by their fingerprints.

    Args:
        store: folder with earlier runs; those of the same code on these machines count.
        own: ids of runs that do not count.
    """
    earlier = chain.from_iterable(_of_run(store, run) for run in run_ids(store)[-MOST_RUNS:] if run not in own)
    return learned(timed(each for each in earlier if _machine_of(each) in machines), calibrated(machines))


def calibrated(machines: Iterable[object]) -> Between:
    """Return what a calibration shows, if it is of the only one of these machines; else what holds in general."""
    calibration = kept()
    if calibration is None or set(machines) != {calibration.machine}:
        return IN_GENERAL
    return calibration.between


def _machine_of(record: Record) -> object:
    return record.follows_from.get("machine")


def _of_run(store: Path, run: str) -> Iterable[Record]:
    try:
        return read(store, run).records
    except StoreError:
        return ()
