"""A session is put together from the options of a run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.bench.local_site import LocalSite
from pytest_ngraph.bench.site import Site
from pytest_ngraph.plugin import options
from pytest_ngraph.plugin.collected import collected
from pytest_ngraph.plugin.status import Status
from pytest_ngraph.session.options import Options
from pytest_ngraph.session.session import Session

if TYPE_CHECKING:
    from pytest_ngraph.against.from_revision import FromRevision
    from pytest_ngraph.against.live import LiveBase
    from pytest_ngraph.against.stored import StoredBase
    from pytest_ngraph.case import Case
    from pytest_ngraph.metrics import Metric
    from pytest_ngraph.record import Record
    from pytest_ngraph.session.resume import ResumedRun

SESSION = pytest.StashKey[Session]()
BASE = pytest.StashKey["LiveBase | None"]()
"""What the session compares with."""


def assemble(config: pytest.Config) -> Session:
    """Return the session that the options of this run ask for. Raises `UsageError` for options that do not fit."""
    chosen = options.read(config)
    status = Status(config)
    site = _site(chosen, config, status)
    config.stash[BASE] = against = _against(chosen, config)
    resumed = _resumed(chosen)
    baselines = _baselines(chosen, site, resumed)

    def on_record(record: Record) -> None:
        config.hook.pytest_ngraph_record(record=record)

    def extra_metrics(records: Sequence[Record]) -> list[Metric]:
        return list(chain.from_iterable(config.hook.pytest_ngraph_metrics(records=records)))

    def source() -> dict[str, str]:
        from pytest_ngraph.against.revision import source_of

        return source_of(config.invocation_params.dir) | (against.source if against else {})

    return Session(chosen, status, on_record, extra_metrics, against, baselines, resumed, site, source=source)


def _site(chosen: Options, config: pytest.Config, status: Status) -> Site:
    """Return where this run measures."""
    if not chosen.cluster.scheduler or options.is_xdist_worker(config):
        return LocalSite()
    from pytest_ngraph.cluster.client.on_demand import OnDemandSite

    return OnDemandSite(chosen.cluster.scheduler, lambda: _cluster(chosen, config, status))


def _cluster(chosen: Options, config: pytest.Config, status: Status) -> Site:
    """Return the devices of a cluster. Raises `UsageError` for one that cannot be reached or lacks a device."""
    from pytest_ngraph.cluster import check_libraries

    check_libraries()
    from pytest_ngraph.cluster.client.site import ClusterSite

    given = chosen.cluster
    cluster = ClusterSite(given.endpoint, config.rootpath, written(chosen), given.send, given.wait_s, status.waiting)
    devices = chosen.devices.command_line or chosen.devices.ini or ()
    machines = [machine for device in devices for machine in chosen.inventory[device].machines]
    try:
        cluster.require(machines)
    except BaseException:
        cluster.close()
        raise
    return cluster


def written(chosen: Options) -> list[Path]:
    """Return what this run writes."""
    return [path for path in (chosen.store, chosen.report) if path]


def _against(chosen: Options, config: pytest.Config) -> LiveBase | None:
    """Return the base that is measured beside the cases; None for none."""
    gate = chosen.gate
    if not (gate.measures_base and chosen.measures):
        return None
    from pytest_ngraph.against.calibrating import Calibrator, kept
    from pytest_ngraph.against.interpreter import FromInterpreter
    from pytest_ngraph.against.live import LiveBase

    if gate.calibrate:
        return Calibrator(gate)
    if gate.history:
        return _beside_anchor(chosen, config)
    if gate.against_python:
        return LiveBase(FromInterpreter(gate.against_python, config.rootpath), gate, kept())
    calibration = None if chosen.cluster.scheduler else kept()
    return LiveBase(_revision(gate.against, chosen, config), gate, calibration)


def _revision(name: str, chosen: Options, config: pytest.Config) -> FromRevision:
    """Return a revision of the project under test."""
    from pytest_ngraph.against.from_revision import FromRevision

    return FromRevision(
        name,
        _arguments(config),
        config.invocation_params.dir,
        config.rootpath,
        config.args,
        chosen.gate.untracked,
        lambda: collected(config).with_functions,
    )


def _arguments(config: pytest.Config) -> list[str]:
    """Return the arguments that pytest was started with."""
    return [str(argument) for argument in config.invocation_params.args]


def _beside_anchor(chosen: Options, config: pytest.Config) -> LiveBase:
    """Return the anchor of a history. Raises `UsageError` where none is named, and none can be taken from before."""
    from pytest_ngraph.against.anchor import Anchor, WithLibraries, chosen_before
    from pytest_ngraph.against.interpreter import FromInterpreter
    from pytest_ngraph.history.index import Index

    name = chosen.gate.against
    if not name:
        with Index(chosen.store) as index:
            index.update()
            name = chosen_before(index.last_anchored(), config.invocation_params.dir)
    revision = _revision(name, chosen, config)
    python = chosen.gate.against_python
    origin = WithLibraries(revision, FromInterpreter(python, config.rootpath)) if python else revision
    return Anchor(origin, name, chosen.gate)


def link(config: pytest.Config, cases: Collection[Case]) -> None:
    """Measure the anchor of a history beside an earlier one, for those of these cases that it is new to."""
    session, anchor = config.stash[SESSION], config.stash[BASE]
    chosen = session.options
    if anchor is None or not chosen.gate.history:
        return
    from pytest_ngraph.against import linking
    from pytest_ngraph.history.index import Index
    from pytest_ngraph.store.run import ANCHOR_COMMIT

    with Index(chosen.store) as index:
        index.update()
        due = linking.changed(index, anchor.name, anchor.source[ANCHOR_COMMIT], [case.id for case in cases])
    for anchors in due:
        beside = f"beside the previous one, {anchors.earlier}"
        print(f"\npytest-ngraph: measuring the new anchor, {anchors.new}, {beside}, once.", flush=True)
        place = config.invocation_params.dir, config.rootpath, chosen.store
        anchor.notes.append(linking.measure(anchors, _arguments(config), *place, chosen.gate.untracked))
        session.start_clock()


def _baselines(chosen: Options, site: Site, resumed: ResumedRun | None) -> list[StoredBase]:
    """Return the stored baselines to compare with, after checking that this run can be saved as one."""
    gate = chosen.gate
    if not ((gate.compare or gate.save) and chosen.measures):
        return []
    from pytest_ngraph.against import stored

    stored.check_can_save(chosen.store, gate, site.environment_of)
    return stored.load(chosen.store, gate, site.environment_of, own=resumed.run.id if resumed else "")


def _resumed(chosen: Options) -> ResumedRun | None:
    """Return the run that this session resumes; None for a new one."""
    if not (chosen.resume.run and chosen.measures):
        return None
    from pytest_ngraph.session.resume import open_run

    return open_run(chosen.store, chosen.resume)
