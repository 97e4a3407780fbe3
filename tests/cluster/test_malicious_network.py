"""Whole runs on a network with somebody who means harm: nothing runs, nobody stalls, each is named."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cluster.certificates import credentials_of, options_for
from cluster.network import Network
from cluster.processes import CLIENT, Cluster
from cluster.remote_project import RemoteProject
from fault_project import finished, wait_until

from pytest_ngraph.cluster import certs

pytestmark = pytest.mark.slow

WORKLOADS = [f"plain{number}" for number in range(3)]
ATTACK = """
import sys
from pathlib import Path
from distributed import Client, Security

address, ca, cert, key, mark = sys.argv[1:]
files = {"tls_ca_file": ca, "tls_client_cert": cert, "tls_client_key": key}
with Client(address, security=Security(require_encryption=True, **files), timeout=5) as client:
    for attempt in (
        lambda: client.run_on_scheduler(Path.touch, Path(mark)),
        lambda: client.run(Path.touch, Path(mark)),
        lambda: client.submit(Path.touch, Path(mark), pure=False).result(timeout=5),
    ):
        try:
            attempt()
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.fixture
def cluster(tmp_path: Path, network: Network, authority: Path) -> Iterator[Cluster]:
    """A head and the honest device `xeon`."""
    cluster = Cluster(tmp_path, network, options_for(authority))
    try:
        cluster.start("xeon")
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """The file that exists once harm was done."""
    yield tmp_path / "ran"
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def orin_answers(cluster: Cluster, authority: Path, mark: Path) -> Callable[[str], None]:
    """Start the device `orin`, whose certificate is good, and whose answers are of one kind."""

    def start(kind: str) -> None:
        certs.issue(authority, ["orin"], ["measure"])
        files = credentials_of(authority, "orin")
        cluster.start_other(
            "orin", sys.executable, "-m", "cluster.malicious", cluster.address, "orin",
            str(files.ca), str(files.cert), str(files.key), cluster.place.address("orin"), kind, str(mark),
        )  # fmt: skip

    return start


@pytest.fixture
def project(cluster: Cluster, tmp_path: Path) -> RemoteProject:
    return RemoteProject(tmp_path, cluster, ["xeon", "orin"], workloads=WORKLOADS)


def outcomes(project: RemoteProject, device: str) -> list[str]:
    return [record.outcome for case, record in project.records.items() if case.endswith(f"-{device}")]


def failures(project: RemoteProject) -> list[str]:
    return [record.failure.message for record in project.records.values() if record.failure]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("pickle", "device orin: its answer cannot be read: Expecting value"),
        ("raises", "device orin raised in place of an answer: "),
        ("other case", "device orin: its records cannot be read: ValueError: it sent the record of"),
        ("keeps all", "device orin did not hand over what it measured, 5 times: "),
    ],
)
def test_a_run_on_a_device_that_answers_falsely(
    project: RemoteProject, orin_answers: Callable[[str], None], kind: str, said: str
) -> None:
    orin_answers(kind)
    status, printed = finished(project.start())
    assert status == 1, printed
    assert outcomes(project, "xeon") == ["measured"] * len(WORKLOADS)
    assert outcomes(project, "orin") == ["failed"] * len(WORKLOADS)
    assert all(message.startswith(said) for message in failures(project)), failures(project)


def test_a_run_on_a_device_that_answers_a_gigabyte(
    cluster: Cluster, project: RemoteProject, orin_answers: Callable[[str], None]
) -> None:
    orin_answers("gigabyte")
    run = project.start()
    assert "at most 256 are read" in cluster.wait_for("head", "refused orin (measure): its message has")
    wait_until(lambda: outcomes(project, "xeon") == ["measured"] * len(WORKLOADS))
    assert run.poll() is None, "the device is waited for: its owner may mend it"
    run.send_signal(signal.SIGINT)
    assert finished(run)[0] == 2


def test_a_run_on_a_device_that_answers_nothing(
    cluster: Cluster, project: RemoteProject, orin_answers: Callable[[str], None]
) -> None:
    orin_answers("nothing")
    run = project.start()
    wait_until(lambda: outcomes(project, "xeon") == ["measured"] * len(WORKLOADS))
    assert "orin  busy" in cluster.run("device", "list", machine=CLIENT).stdout
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    assert finished(run)[0] == 2


@pytest.mark.parametrize("role", ["measure", "observe"])
def test_a_client_that_may_not_submit_disturbs_no_run(
    cluster: Cluster, authority: Path, tmp_path: Path, mark: Path, role: str
) -> None:
    project = RemoteProject(tmp_path, cluster, ["xeon"], workloads=WORKLOADS)
    run = project.start()
    project.wait_for(1, run)
    files = credentials_of(authority, role)
    command = (sys.executable, "-c", ATTACK, cluster.address, files.ca, files.cert, files.key, mark)
    attack = subprocess.run(
        [*cluster.place.on(CLIENT), *map(str, command)], capture_output=True, text=True, timeout=120
    )
    assert attack.returncode or attack.stdout.count("\n") == 3, attack.stdout
    assert f"refused {role} ({role}): may not ask for" in cluster.log("head")
    status, printed = finished(run)
    assert status == 0, printed
    project.assert_whole()
