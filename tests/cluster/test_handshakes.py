"""Whom a real scheduler and a real device let in."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cluster.certificates import credentials_of, issued, options_for
from cluster.processes import Cluster

from pytest_ngraph.cluster import certs
from pytest_ngraph.cluster.client.link import Link
from pytest_ngraph.cluster.connection import CERTIFICATES, connect, probe
from pytest_ngraph.cluster.security import Credentials, Endpoint, endpoint
from pytest_ngraph.cluster.versions import HERE, of_scheduler
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.installed import is_importable


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, authority: Path) -> Iterator[Cluster]:
    """A cluster that asks for certificates, with a device."""
    cluster = Cluster(tmp_path_factory.mktemp("guarded"), options=options_for(authority))
    try:
        cluster.start_scheduler()
        cluster.start_device("xeon")
        yield cluster
    finally:
        cluster.close()


def plain(cluster: Cluster) -> Endpoint:
    return endpoint(cluster.address.replace("tls:", "tcp:"), None, insecure=True)


def test_a_certificate_of_the_authority_is_let_in(guarded: Cluster, authority: Path) -> None:
    link = Link(endpoint(guarded.address, credentials_of(authority, "submit")))
    try:
        (xeon,) = [each.address for each in link.present() if each.name == "xeon"]
        assert link.run(is_importable, "pytest_ngraph", on=[xeon]) == {xeon: True}
    finally:
        link.close()


def test_the_scheduler_reports_its_version_without_a_client(guarded: Cluster, authority: Path) -> None:
    assert asyncio.run(of_scheduler(endpoint(guarded.address, credentials_of(authority)))) == HERE


def test_a_foreign_certificate_is_refused(guarded: Cluster, foreign_authority: Path) -> None:
    with pytest.raises(UsageError, match="your authority does not vouch for the scheduler"):
        connect(endpoint(guarded.address, credentials_of(foreign_authority)))


def test_a_foreign_certificate_is_refused_by_the_scheduler_itself(
    guarded: Cluster, authority: Path, foreign_authority: Path
) -> None:
    """Even if the client trusts the scheduler."""
    ours, theirs = credentials_of(authority), credentials_of(foreign_authority)
    mixed = type(ours)(ca=ours.ca, cert=theirs.cert, key=theirs.key)
    with pytest.raises(UsageError, match=r"the scheduler at .* refuses your certificate"):
        connect(endpoint(guarded.address, mixed))


def test_no_certificate_is_refused(guarded: Cluster) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    place = plain(guarded)
    with (
        socket.create_connection((place.host, place.port), 10) as connection,
        context.wrap_socket(connection) as encrypted,
        pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"),
    ):
        encrypted.recv(1)


def test_plain_text_is_refused(guarded: Cluster) -> None:
    with pytest.raises(UsageError, match=r"no answer .* write tls://"):
        connect(plain(guarded), timeout_s=2)


def test_a_device_with_a_foreign_certificate_says_why_it_cannot_join(guarded: Cluster, foreign_authority: Path) -> None:
    guarded.start_device("stranger", *options_for(foreign_authority), joins=False)
    printed = guarded.wait_for("stranger", "cannot join")
    assert "cannot join: your authority does not vouch for the scheduler" in printed


def test_a_scheduler_without_certificates_is_recognized(lasting: Cluster, authority: Path) -> None:
    address = lasting.address.replace("tcp:", "tls:")
    with pytest.raises(UsageError, match="does not speak TLS"):
        connect(endpoint(address, credentials_of(authority)))


@contextmanager
def head_with(credentials: Credentials, shown_by_client: Credentials) -> Iterator[str]:
    """Yield the address of a program that takes connections with its certificate, as a head does, however old it is."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=shown_by_client.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(credentials.cert, credentials.key)

    def take_one() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError), context.wrap_socket(connection, server_side=True) as encrypted:
            encrypted.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=take_one)
        thread.start()
        yield f"tls://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_a_certificate_that_expired_while_a_head_ran_is_renewed_and_the_head_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, heads = credentials_of(issued(tmp_path)), credentials_of(tmp_path, "head")
    monkeypatch.setattr(certs, "CERTIFICATE_DAYS", -0.5)
    certs.issue(tmp_path, ["head"], ["head"])
    with head_with(heads, ours) as address, pytest.raises(UsageError) as refused:
        probe(endpoint(address, ours))
    assert "has expired. Issue a new one (pytest-ngraph cluster certs) and restart the scheduler" in str(refused.value)
    assert CERTIFICATES not in str(refused.value)


def test_a_board_whose_clock_begins_in_1970_is_asked_to_set_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the certificate begins tomorrow: it is as if the clock were behind."""
    ours, heads = credentials_of(issued(tmp_path)), credentials_of(tmp_path, "head")
    monkeypatch.setattr(certs, "CLOCKS_DIFFER", -datetime.timedelta(days=1))
    certs.issue(tmp_path, ["head"], ["head"])
    with head_with(heads, ours) as address, pytest.raises(UsageError) as refused:
        probe(endpoint(address, ours))
    assert "is not valid yet by this machine's clock, which says 20" in str(refused.value)
    assert CERTIFICATES not in str(refused.value)


def test_a_certificate_that_expired_while_a_device_ran_is_said_to_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads, ours = credentials_of(issued(tmp_path)), credentials_of(tmp_path, "measure")
    place = endpoint("tls://127.0.0.1", ours, part="measure")
    monkeypatch.setattr(certs, "CERTIFICATE_DAYS", -0.5)
    certs.issue(tmp_path, ["measure"], ["measure"])
    with head_with(heads, ours) as address, pytest.raises(UsageError) as refused:
        probe(dataclasses.replace(place, address=address))
    said = "your certificate has expired. Issue a new one (pytest-ngraph cluster certs) and restart what uses it."
    assert said in str(refused.value)


def test_where_nobody_listens(authority: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(UsageError, match=r"nothing listens at .*pytest-ngraph cluster scheduler"):
            connect(endpoint(address, credentials_of(authority)))
    with pytest.raises(UsageError, match="no machine of the name"):
        connect(endpoint("no.such.host.invalid", credentials_of(authority)))
