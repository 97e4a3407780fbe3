"""A device and a client that mean harm, at a real head: nothing runs, nobody stalls, each is named."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest
from cluster.certificates import credentials_of, options_for
from cluster.malicious import Bomb
from cluster.processes import Cluster
from distributed import Client, Security, Worker
from distributed.core import rpc
from distributed.protocol.pickle import dumps
from fault_project import wait_until

from pytest_ngraph.cluster import answers, certs
from pytest_ngraph.cluster.client.link import Link, NotHandedOver
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.resources import resource
from pytest_ngraph.cluster.security import endpoint

RED = "red"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, authority: Path) -> Iterator[Cluster]:
    """A head, the honest device `xeon`, and `red`, which is not honest; each has the certificate of its role."""
    cluster = Cluster(tmp_path_factory.mktemp("guarded"), options=options_for(authority))
    try:
        cluster.start_scheduler()
        cluster.start_device("xeon", *options_for(authority, "measure"))
        certs.issue(authority, [RED], ["measure"])
        files = credentials_of(authority, RED)
        cluster.start_other(
            RED, sys.executable, "-m", "cluster.malicious", cluster.address, RED,
            str(files.ca), str(files.cert), str(files.key), "127.0.0.1",
        )  # fmt: skip
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def link(guarded: Cluster, authority: Path) -> Iterator[Link]:
    link = Link(endpoint(guarded.address, credentials_of(authority, "submit")))
    yield link
    link.close()


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "ran"


def plain(authority: Path, role: str) -> Security:
    """Return the engine's own settings, without rules, with the certificate of a role."""
    files = credentials_of(authority, role)
    parts = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=str(files.ca),
        **{f"tls_{part}_cert": str(files.cert) for part in parts},
        **{f"tls_{part}_key": str(files.key) for part in parts},
    )


def address_of(link: Link, name: str) -> str:
    return next(each.address for each in link.present() if each.name == name)


def test_an_honest_device_is_refused_nothing(tmp_path: Path, authority: Path) -> None:
    """From joining to leaving, also at a head that was started again and knows no device."""
    cluster = Cluster(tmp_path, options=options_for(authority))
    try:
        cluster.start_scheduler()
        cluster.start_device("xeon", *options_for(authority, "measure"))
        assert "xeon  free" in cluster.run("device", "list").stdout
        cluster.kill("head")
        cluster.start_scheduler()
        cluster.wait_for("xeon", "joined", times=2)
        assert cluster.run("device", "stop", "xeon").returncode == 0
        cluster.wait_for("xeon", "stopped")
        assert "refused" not in cluster.log("head")
    finally:
        cluster.close()


@pytest.mark.parametrize("kind", ["pickle", "list of pickles"])
def test_an_answer_that_is_a_pickle_is_not_read(link: Link, mark: Path, kind: str) -> None:
    (future,) = link.submit(task.measure, [{"kind": kind, "mark": str(mark)}], resource(RED))
    wait_until(lambda: future.status == "finished")
    (answer,) = link.fetch([future]).result(60)
    with pytest.raises(answers.Unreadable):
        answers.read(answer)
    assert not mark.exists()


def test_an_exception_that_is_a_pickle_is_not_read(link: Link, mark: Path) -> None:
    (future,) = link.submit(task.measure, [{"kind": "raises", "mark": str(mark)}], resource(RED))
    wait_until(lambda: future.status == "error")
    assert "not read" in str(future.exception(timeout=60))
    assert not mark.exists()


def test_a_question_that_is_answered_by_a_pickle(link: Link, mark: Path) -> None:
    red, xeon = address_of(link, RED), address_of(link, "xeon")
    found = link.run(task.lacking, [str(mark)], on=[red, xeon])
    assert found == {xeon: [str(mark)]}
    with pytest.raises(answers.Unreadable):
        link.ask(task.lacking, [str(mark)], of=red).result(60)
    assert link.ask(task.lacking, [str(mark)], of=xeon).result(60) == [str(mark)]
    assert not mark.exists()


def test_a_device_that_keeps_its_result_does_not_break_the_connection(link: Link, mark: Path) -> None:
    (kept,) = link.submit(task.measure, [{"kind": "keeps it", "mark": str(mark)}], resource(RED))
    (honest,) = link.submit(task.measure, [{}], resource("xeon"))
    wait_until(lambda: kept.status == honest.status == "finished")
    with pytest.raises(NotHandedOver):
        link.fetch([kept]).result(60)
    assert "KeyError" in answers.read(link.fetch([honest]).result(60)[0])["failed"]


def test_while_a_device_answers_nothing_others_work(link: Link, mark: Path) -> None:
    (silent,) = link.submit(task.measure, [{"kind": "nothing", "mark": str(mark), "seconds": 5}], resource(RED))
    (honest,) = link.submit(task.measure, [{}], resource("xeon"))
    wait_until(lambda: honest.status == "finished")
    assert "KeyError" in answers.read(link.fetch([honest]).result(60)[0])["failed"]
    link.cancel([silent])


def refused(guarded: Cluster, attempt: Callable[[], Any]) -> str:
    """Make an attempt that must fail. Returns what the head has printed since."""
    before = len(guarded.log("head"))
    with pytest.raises((OSError, asyncio.TimeoutError, ValueError, CancelledError)):
        attempt()
    wait_until(lambda: "refused" in guarded.log("head")[before:])
    return guarded.log("head")[before:]


@pytest.mark.parametrize("role", ["measure", "head"])
def test_who_may_not_submit_is_no_client(guarded: Cluster, authority: Path, role: str) -> None:
    printed = refused(guarded, lambda: Client(guarded.address, security=plain(authority, role), timeout=2))
    assert f"refused {role} ({role}): " in printed


def test_an_observer_looks_but_runs_nothing(guarded: Cluster, authority: Path, mark: Path) -> None:
    listed = guarded.run("device", "list", *options_for(authority, "observe"))
    assert "xeon  " in listed.stdout, listed.stderr
    stopped = guarded.run("device", "stop", "xeon", *options_for(authority, "observe"))
    assert "is for observe, but who has cases measured, and stops devices needs submit" in stopped.stderr

    def run_on_the_head() -> None:
        with Client(guarded.address, security=plain(authority, "observe"), timeout=5) as client:
            client.run_on_scheduler(Path.touch, mark)

    assert "refused observe (observe): may not ask for 'run_function'" in refused(guarded, run_on_the_head)

    def submit() -> None:
        with Client(guarded.address, security=plain(authority, "observe"), timeout=5) as client:
            client.submit(Path.touch, mark, pure=False).result(timeout=5)

    assert "may not ask for 'update-graph'" in refused(guarded, submit)
    assert not mark.exists()


def test_an_observer_closes_no_other_client(guarded: Cluster, link: Link, authority: Path) -> None:
    victim = link._client.id

    def close() -> None:
        with Client(guarded.address, security=plain(authority, "observe"), timeout=5) as client:
            client._send_to_scheduler({"op": "close-client", "client": victim})
            wait_until(lambda: "may not ask for 'close-client'" in guarded.log("head"))
            raise OSError("its connection was closed")

    assert "refused observe (observe): may not ask for 'close-client'" in refused(guarded, close)
    (future,) = link.submit(task.measure, [{}], resource("xeon"))
    wait_until(lambda: future.status == "finished")


@pytest.mark.parametrize(
    ("operation", "about"),
    [
        ("retire_workers", {"names": ["xeon"]}),
        ("retire_workers", {"workers": ["xeon"]}),
        ("unregister", {"address": "xeon", "stimulus_id": "x"}),
        ("who_has", {}),
    ],
)
def test_a_device_asks_for_nothing_about_others(
    guarded: Cluster, link: Link, authority: Path, operation: str, about: dict[str, Any]
) -> None:
    async def ask() -> None:
        security = plain(authority, RED).get_connection_args("worker")
        async with rpc(guarded.address, connection_args=security) as head:
            await asyncio.wait_for(getattr(head, operation)(**about), 5)

    assert f"refused red (measure): may not ask for '{operation}'" in refused(guarded, lambda: asyncio.run(ask()))
    assert [each.name for each in link.present()] == [RED, "xeon"]


def test_who_may_not_measure_is_no_device(guarded: Cluster, authority: Path) -> None:
    async def join() -> None:
        worker = Worker(guarded.address, security=plain(authority, "submit"), death_timeout=3, dashboard=False)
        try:
            await asyncio.wait_for(worker.start(), 5)
        finally:
            await worker.close()

    assert "refused submit (submit): may not ask for 'register-worker'" in refused(guarded, lambda: asyncio.run(join()))


@pytest.mark.parametrize("role", ["measure", "submit"])
def test_a_device_listens_to_the_head_alone(
    guarded: Cluster, link: Link, authority: Path, mark: Path, role: str
) -> None:
    async def run() -> None:
        security = plain(authority, role).get_connection_args("client")
        async with rpc(address_of(link, "xeon"), connection_args=security) as device:
            await device.run(function=dumps(Path.touch), args=dumps((mark,)), kwargs=dumps({}))

    with pytest.raises(OSError):  # noqa: PT011 (the device closes the connection)
        asyncio.run(run())
    wait_until(lambda: f"refused {role} ({role}): its certificate is not for head" in guarded.log("xeon"))
    assert not mark.exists()


def test_a_pickle_that_a_device_sends_to_the_head_is_not_read(guarded: Cluster, authority: Path, mark: Path) -> None:
    async def send() -> None:
        security = plain(authority, "measure").get_connection_args("worker")
        async with rpc(guarded.address, connection_args=security) as head:
            await head.identity(Bomb(str(mark)))

    with pytest.raises(Exception):  # noqa: B017,PT011 (whatever the head makes of it)
        asyncio.run(send())
    assert not mark.exists()


@pytest.mark.parametrize(
    ("metrics", "said"),
    [("y" * 2**19, "message has 0.5 MiB; at most 0.25 are read"), ([[]] * 2**17, "report has more than 20,000 parts")],
    ids=["long", "many parts"],
)
def test_a_heartbeat_that_says_too_much_is_not_read(
    guarded: Cluster, link: Link, authority: Path, metrics: Any, said: str
) -> None:
    """Each look at the cluster would be sent all of it."""
    certs.issue(authority, ["wordy"], ["measure"])

    async def send() -> None:
        security = plain(authority, "wordy").get_connection_args("worker")
        async with rpc(guarded.address, connection_args=security) as head:
            await asyncio.wait_for(head.heartbeat_worker(address="tls://127.0.0.1:1", metrics={"x": metrics}), 5)

    printed = refused(guarded, lambda: asyncio.run(send()))
    assert f"refused wordy (measure): its {said}" in printed


def test_who_sends_too_much_is_expelled(guarded: Cluster, link: Link, mark: Path) -> None:
    """This is the last test: afterwards the head lets that device in no more."""
    (future,) = link.submit(task.measure, [{"kind": "gigabyte", "mark": str(mark)}], resource(RED))
    wait_until(lambda: future.status == "finished")
    with pytest.raises((TimeoutError, asyncio.TimeoutError)):  # two classes before Python 3.11
        future.result(timeout=2)
    printed = guarded.wait_for("head", "refused red (measure): its message has")
    assert "at most 256 are read" in printed
    wait_until(lambda: [each.name for each in link.present()] == ["xeon"])
