"""Which record of a run is deployed, and whether it still stands for what is installed and for the user's files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.conditions import Conditions
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine import provenance
from pytest_ngraph.machine.devices import Device, named
from pytest_ngraph.machine.host import THIS_MACHINE
from pytest_ngraph.metrics.load import highest_rate
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import Run
from pytest_ngraph.system.files import compiled_folder
from pytest_ngraph.wording import listed

MOST_IDS = 8
"""Ids that a message lists."""


def by_id(run: Run, given: str) -> Record:
    """Return the measured record whose case has this id.

    A part of the id is enough where it belongs to one case only, and so is the whole name of the test.

    Raises:
        UsageError: no case or several have it, or the case has no measurement.
    """
    bracketed = re.fullmatch(r".*?\[(.*)\]", given)
    wanted = bracketed[1] if bracketed else given
    records = {record.case.id: record for record in run.records}
    found = [wanted] if wanted in records else [case for case in records if wanted in case]
    if not found:
        near = ", ".join(get_close_matches(wanted, records, n=MOST_IDS, cutoff=0.0)) or "none, it has no record"
        raise UsageError(f"run {run.id} has no case {wanted!r}. Nearest: {near}. Give another case, or another run.")
    if len(found) > 1:
        raise UsageError(
            f"{wanted!r} is part of {len(found)} cases of run {run.id}: {listed(found, MOST_IDS)}. Give more of the id."
        )
    return require_measured(records[found[0]], run)


def require_measured(record: Record, run: Run) -> Record:
    """Return the record. Raise `UsageError` where the case has no measurement."""
    if record.outcome == "measured":
        return record
    reason = record.skip_reason
    if record.failure is not None:
        reason = f"{record.failure.phase}: {record.failure.message}"
    elif record.outcome == "unchanged":
        reason = "it equals its base, so that nothing was measured"
    raise UsageError(
        f"{record.case.id} has no measurement in run {run.id}; it is {record.outcome}"
        f"{f' ({reason})' if reason else ''}. Give a case that was measured: pytest-ngraph report lists them."
    )


def require_deployable(record: Record) -> Record:
    """Return the record. Raise `UsageError` where it was measured, and is no candidate for deploying."""
    if record.undeployable:
        raise UsageError(
            f"{record.case.id} is not deployed: {record.undeployable}. To try it anyway: --case={record.case.id}."
        )
    return record


def fastest(run: Run) -> list[Record]:
    """Return the fastest measured record of each group, in the order of the run. Raise `UsageError` without any.

    A case that cannot be deployed is returned only where its group has no other.
    """
    best: dict[Case, Record] = {}
    for record in run.records:
        if record.outcome == "measured":
            other = best.get(record.case.group)
            if other is None or _rank(record) > _rank(other):
                best[record.case.group] = record
    if not best:
        raise UsageError(f"run {run.id} has no measurement to deploy. Give another run.")
    return list(best.values())


def _rank(record: Record) -> tuple[bool, float]:
    return not record.undeployable, _speed(record)


def _speed(record: Record) -> float:
    """Return samples per second; under load, the highest rate of requests that keeps the limit."""
    if record.load is None:
        return record.throughput
    rate = highest_rate(record.load)
    return -1.0 if isinstance(rate, str) else rate.value


def target_of(record: Record, profiles: Mapping[str, Device], purpose: str = "deploy") -> Target:
    """Return what the record's case is compiled for on this machine, with the threads that it was measured with.

    Args:
        purpose: what is done with it, as in "then deploy that run".

    Raises:
        UsageError: this machine is not the device, the compiler is not installed, or something that the measurement
            depends on has changed since.
    """
    case = record.case
    device = named(profiles, case.device)
    if absent := device.absent(THIS_MACHINE.machine):
        raise UsageError(f"{absent}. {purpose.capitalize()} on the device itself.")
    if missing := compilers.missing_library(case.compiler):
        raise UsageError(missing)
    again = f"Measure it again with pytest, then {purpose} that run."
    before = record.follows_from
    if not before.get("graph"):
        raise UsageError(f"the record of {case.id} does not say from which graph it was compiled. {again}")
    profiles = {**profiles, case.device: device}
    conditions = Conditions(common=Settings(), profiles=profiles, machine=THIS_MACHINE.machine, threads=record.threads)
    target = conditions.target(case)
    if changes := _changes(before, case, target):
        raise UsageError(f"{case.id} is not what was measured: {'; '.join(changes)}. {again}")
    return target


def settings_here() -> Settings:
    """Return how a case that was measured is compiled again: from the cache, within the memory of this machine."""
    return Settings(cache=compiled_folder(), needs_compile_s=False).on_machine(THIS_MACHINE.machine.memory_bytes)


def _changes(before: Mapping[str, Any], case: Case, target: Target) -> Sequence[str]:
    """Return what differs now of what the compiled model and its workload depend on, in words."""
    now = provenance.of_compiling(case, target, before["graph"], THIS_MACHINE)
    return provenance.changes(before, now | {"files": THIS_MACHINE.digests(before.get("files", {}))})
