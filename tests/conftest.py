"""Fixtures of the tests."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import alone
import bytecode
import kept_frameworks
import plain
import pytest
from forking import CollectingServer, LightServer, TorchServer
from hypothesis import HealthCheck, settings
from other_distributions import Distributed, pretend
from repository import Repository

import pytest_ngraph
from pytest_ngraph import compilers, workloads
from pytest_ngraph.case import Case
from pytest_ngraph.settings import Settings
from pytest_ngraph.workloads import telemetry

if TYPE_CHECKING:
    from pytest_ngraph.report.study.data import Study


if worker := os.environ.pop("PYTEST_XDIST_WORKER", ""):  # runs that tests make are not pytest-xdist's
    # Only one process at a time measures on a machine. Tests that need no quiet machine do not wait for each other.
    os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix=f"{worker}-")
else:
    bytecode.write()

# OpenMP's threads wait asleep: spinning between operators takes more of a shared machine than the tests do.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Inductor believes which vector instructions the processor says it has. Otherwise every process that compiles first
# compiles six programs that try them, which takes longer than what the test compiles.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")

# How long an example takes says how busy the machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Python looks for garbage among the objects of all frameworks. By default it does so every 70,000 objects.
gc.set_threshold(10_000, 10, 10)

telemetry.disable_telemetry()  # for the compilers that tests call in this process

# pytester forgets the modules that a run in this process is the first to import; caches would hold what was in them.
kept_frameworks.install()
import_module("pytest_ngraph.bench.bench")
import_module("pytest_ngraph.report.summary")
for name in compilers.names():
    compilers.resolve(name)
workloads.family("resnet18")  # all families


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(alone)
    if not worker:
        bytecode.write_rewritten(config, pytest_ngraph.__path__)
    if not config.getoption("numprocesses", None):  # not in the process that only distributes tests
        gc.disable()  # until all is collected: the frameworks that tests import are a million objects, which stay
        bytecode.only_read()
        os.environ["PYTEST_ADDOPTS"] = f"{os.environ.get('PYTEST_ADDOPTS', '')} {plain.WITHOUT_PLUGINS}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    if worker:
        bytecode.write_rewritten(session.config, session.config.args, "test_*.py")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def distributed(monkeypatch: pytest.MonkeyPatch) -> Distributed:
    """Return a function that has other distributions provide the module `onnxruntime`."""
    return pretend(monkeypatch)


@pytest.fixture(autouse=True)
def _outside_github(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that tests make write nothing into the summary of the job that runs the tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def _frozen() -> None:
    """What has been imported so far is not looked at when garbage is collected. pytest does that five times at the end
    of each run, a worker before it compiles and loads, and with the frameworks that other tests have imported these are
    seconds. It stays frozen, as what collecting imported does."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def pytester(_frozen: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The plugin's own, for whose runs what they find is frozen. It takes away the options of all runs."""
    monkeypatch.setenv("PYTEST_ADDOPTS", plain.WITHOUT_PLUGINS)
    return pytester


@pytest.fixture(scope="session")
def torch_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TorchServer]:
    """A process with PyTorch imported, from which workers can be forked."""
    server = TorchServer(tmp_path_factory.mktemp("forked"))
    yield server
    server.close()


@pytest.fixture
def forked_workers(torch_server: TorchServer) -> Iterator[None]:
    """All workers of benches in this process are forked from one with PyTorch imported."""
    with torch_server.used():
        yield


@pytest.fixture(scope="session")
def light_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightServer]:
    """Such a process without PyTorch."""
    server = LightServer(tmp_path_factory.mktemp("forked"))
    yield server
    server.close()


@pytest.fixture
def light_workers(light_server: LightServer) -> Iterator[None]:
    """All workers of benches in this process are forked from that one, whatever other fixture says."""
    with light_server.used():
        yield


@pytest.fixture(scope="session")
def collecting_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectingServer]:
    """Such a process with pytest, from which those are forked that collect the tests of a base."""
    server = CollectingServer(tmp_path_factory.mktemp("forked"))
    yield server
    server.close()


@pytest.fixture
def forked_collecting(collecting_server: CollectingServer) -> Iterator[None]:
    """Runs in this process have the tests of their bases collected in processes that are forked from that one."""
    with collecting_server.collecting():
        yield


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs in this process spend tenths of a second on warming up and on launches, for which they have no options."""
    defaults = Settings.__init__.__kwdefaults__
    assert defaults
    for name in ("warmup_s", "launch_s"):
        monkeypatch.setitem(defaults, name, 0.1)


@pytest.fixture
def a_case() -> Case:
    return Case(workload="resnet18", compiler="identity", batch_size=8)


@pytest.fixture
def project(brief: None, forked_workers: None, forked_collecting: None, pytester: pytest.Pytester) -> pytest.Pytester:
    """A project of a user: `mine.py` with a small workload and compilers of its own, good ones and faulty ones."""
    pytester.makepyfile(mine=(plain.USERS / "mine.py").read_text())
    pytester.makeini("[pytest]\nngraph_budget = 0.05\nngraph_precision_target = 50%\nngraph_cache = off\n")
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="mine:network", batch_size=[1, 4])
        def test_throughput(measurement):
            assert measurement.throughput > 0
        """
    )
    return pytester


@pytest.fixture
def quick_project(project: pytest.Pytester, light_workers: None) -> Iterator[pytest.Pytester]:
    """The same with a workload that needs no framework."""
    plain.put_into(project.path)
    test = project.path / "test_it.py"
    test.write_text(test.read_text().replace("mine:network", "plain"))
    with plain.importable(project.path):
        yield project


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A user's repository: on branch `main`, one commit with `nets.py` and `tests/deep/test_deep.py`."""
    made = Repository.create(tmp_path / "project")
    made.write("nets.py", "REVISION = 'first'\n")
    made.write("tests/deep/test_deep.py", "import nets\n")
    made.commit("first")
    return made


@pytest.fixture(scope="session")
def synthetic() -> Study:
    """The study that follows from `formula`: three devices, six compilers, fifteen models, blocks."""
    pytest.importorskip("polars")
    import formula

    from pytest_ngraph.report.study.data import Study

    return Study.of(formula.runs())
