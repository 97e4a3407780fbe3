"""The hooks. Each calls one function that says what it does."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.bench.local_site import LocalSite
from pytest_ngraph.bench.site import Site
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.plugin import hookspecs, items, marks, options, report_folder, summary_file, terminal
from pytest_ngraph.plugin.fixtures import (  # noqa: F401 (pytest finds fixtures in the namespace of the plugin)
    SESSION,
    compile_case,
    compiled_model,
    executorch_model,
    identity_model,
    inductor_model,
    measurement,
    ngraph_case,
    onnxruntime_model,
    openvino_model,
    tensorrt_model,
    tensorrt_rtx_model,
    torchscript_model,
    tvm_model,
)
from pytest_ngraph.plugin.status import Status
from pytest_ngraph.session.options import Options
from pytest_ngraph.session.session import Session

if TYPE_CHECKING:
    from pytest_ngraph.against.live import LiveBase
    from pytest_ngraph.against.stored import StoredBase
    from pytest_ngraph.metrics import Metric
    from pytest_ngraph.record import Record
    from pytest_ngraph.session.resume import ResumedRun


def pytest_addoption(parser: pytest.Parser) -> None:
    options.declare(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    for marker in marks.MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        chosen = options.read(config)
        site = _site(chosen, config)
        against = _against(chosen, config)
        resumed = _resumed(chosen)
        baselines = _baselines(chosen, site, resumed)
    except NgraphError as error:
        raise pytest.UsageError(str(error)) from None

    def on_record(record: Record) -> None:
        config.hook.pytest_ngraph_record(record=record)

    def extra_metrics(records: Sequence[Record]) -> list[Metric]:
        return list(chain.from_iterable(config.hook.pytest_ngraph_metrics(records=records)))

    config.stash[SESSION] = Session(chosen, Status(config), on_record, extra_metrics, against, baselines, resumed, site)


def _site(chosen: Options, config: pytest.Config) -> Site:
    """Where this run measures."""
    if not chosen.cluster.scheduler or options.is_xdist_worker(config):
        return LocalSite()
    from pytest_ngraph.cluster.client.on_demand import OnDemandSite

    return OnDemandSite(chosen.cluster.scheduler, lambda: _cluster(chosen, config))


def _cluster(chosen: Options, config: pytest.Config) -> Site:
    """The devices of a cluster. Raises `UsageError` for one that cannot be reached or lacks a device."""
    from pytest_ngraph.cluster import check_libraries

    check_libraries()
    from pytest_ngraph.cluster.client.site import ClusterSite

    written = [path for path in (chosen.store, chosen.report) if path]
    cluster = ClusterSite(chosen.cluster.endpoint, config.rootpath, leave_out=written)
    devices = chosen.devices.command_line or chosen.devices.ini or ()
    machines = [machine for device in devices for machine in chosen.inventory[device].machines]
    try:
        cluster.require(machines, chosen.cluster.wait_s)
    except BaseException:
        cluster.close()
        raise
    return cluster


def _against(chosen: Options, config: pytest.Config) -> LiveBase | None:
    """What this run is compared with."""
    gate = chosen.gate
    if not (gate.compares and chosen.measures):
        return None
    from pytest_ngraph.against.calibrating import Calibrator, kept
    from pytest_ngraph.against.from_revision import FromRevision
    from pytest_ngraph.against.interpreter import FromInterpreter
    from pytest_ngraph.against.live import LiveBase

    if gate.calibrate:
        return Calibrator(gate)
    if gate.against_python:
        return LiveBase(FromInterpreter(gate.against_python, config.rootpath), gate, kept())
    started = config.invocation_params
    arguments = [str(argument) for argument in started.args]
    calibration = None if chosen.cluster.scheduler else kept()
    origin = FromRevision(gate.against, arguments, started.dir, config.rootpath, config.args)
    return LiveBase(origin, gate, calibration)


def _baselines(chosen: Options, site: Site, resumed: ResumedRun | None) -> list[StoredBase]:
    """The stored baselines that this run is compared with, once it is sure that it can be saved as one."""
    gate = chosen.gate
    if not ((gate.compare or gate.save) and chosen.measures):
        return []
    from pytest_ngraph.against import stored

    stored.check_can_save(chosen.store, gate, site.environment_of)
    return stored.load(chosen.store, gate, site.environment_of, own=resumed.run.id if resumed else "")


def _resumed(chosen: Options) -> ResumedRun | None:
    """The run that this session goes on with."""
    if not (chosen.resume.run and chosen.measures):
        return None
    from pytest_ngraph.session.resume import open_run

    return open_run(chosen.store, chosen.resume.run, chosen.resume.retries)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    items.parametrize(metafunc, metafunc.config)


def pytest_collection_finish(session: pytest.Session) -> None:
    try:
        items.announce(session.items, session.config)
        summary_file.prepare(session.config)
        report_folder.prepare(session.config)
    except NgraphError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    items.set_up(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    items.require_measured(pyfuncitem)
    result = yield
    items.judge(pyfuncitem)
    return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    items.finish(session, exitstatus)
    summary_file.publish(session.config)
    report_folder.write(session.config)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminal.summarise(terminalreporter, terminalreporter.config.stash[SESSION])
    summary_file.tell(terminalreporter)
    report_folder.tell(terminalreporter)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (session := config.stash.get(SESSION, None)) is not None:
        session.close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    return terminal.header(config.stash[SESSION])


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    return terminal.reached(config.stash[SESSION])
