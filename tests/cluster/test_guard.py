"""Who may ask for what, on data: the rules of the head, of devices and of clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cluster.certificates import credentials_of
from cryptography import x509

from pytest_ngraph.cluster import certs
from pytest_ngraph.cluster.guard import CLIENT_LIMIT_BYTES, LIMIT_BYTES, REPORT_BYTES, Guard, Refused
from pytest_ngraph.cluster.registry import Standing
from pytest_ngraph.cluster.revocation import Revoked
from pytest_ngraph.cluster.roles import Peer, Role


def holder(*roles: str, name: str = "orin", serial: int = 1) -> Peer:
    return Peer(name=name, roles=frozenset(roles), serial=serial)


@pytest.fixture
def revoked(authority: Path) -> Revoked:
    return Revoked(credentials_of(authority).ca)


def refused(guard: Guard, peer: Peer, standing: Standing | None = None, **message: Any) -> bool:
    try:
        guard.check(peer, [message], standing)
    except Refused:
        return True
    return False


@pytest.mark.parametrize(
    ("operation", "allowed"),
    [
        ("update-graph", {"submit"}),
        ("broadcast", {"submit"}),
        ("run_function", {"submit"}),
        ("register_scheduler_plugin", {"submit"}),
        ("gather", {"submit"}),
        ("scatter", {"submit"}),
        ("terminate", {"submit"}),
        ("proxy", {"submit"}),
        ("feed", {"submit"}),
        ("register-client", {"submit", "observe"}),
        ("processing", {"submit", "observe"}),
        ("identity", {"submit", "observe", "measure"}),
        ("register-worker", {"measure"}),
        ("task-finished", {"submit", "measure"}),  # a client has no worker's stream to send it in
        ("heartbeat_worker", {"measure"}),
    ],
)
def test_each_role_may_ask_the_head_for_its_own_things(revoked: Revoked, operation: str, allowed: set[str]) -> None:
    head = Guard("head", revoked)
    roles = ("submit", "measure", "observe")
    assert {role for role in roles if not refused(head, holder(role), op=operation, name="orin")} == allowed


def test_every_request_that_the_engine_knows_is_refused_to_devices_unless_it_is_listed(revoked: Revoked) -> None:
    head = Guard("head", revoked)
    for odd in (1, None, ["update-graph"], "no-such-thing"):
        assert refused(head, holder("measure"), op=odd)
    with pytest.raises(Refused, match=r"orin \(measure\): may not ask for 'update-graph'"):
        head.check(holder("measure"), ({"op": "keep-alive"}, {"op": "update-graph"}))
    head.check(holder("measure"), {"python": (3, 11), "compression": None})  # how each connection begins
    head.check(holder("measure"), "OK")


def test_a_device_does_not_say_how_long_tasks_take(revoked: Revoked) -> None:
    """The engine computes with it for the tasks of all devices, whatever it is, and no task of ours says so."""
    said = {"op": "long-running", "key": "measure-1", "run_id": 1, "compute_duration": "long"}
    with pytest.raises(Refused, match="may not ask for 'long-running'"):
        Guard("head", revoked).check(holder("measure"), said)


@pytest.mark.parametrize(
    ("part", "calls", "welcome"),
    [
        ("head", True, {"submit", "measure", "observe"}),
        ("head", False, {"measure"}),
        ("measure", True, {"head"}),
        ("measure", False, {"head"}),
        ("submit", False, {"head"}),
        ("observe", False, {"head"}),
    ],
)
def test_both_ends_check_each_other(revoked: Revoked, part: Role, calls: bool, welcome: set[str]) -> None:
    guard = Guard(part, revoked)
    for role in ("head", "submit", "measure", "observe"):
        if role in welcome:
            guard.admit(holder(role), calls=calls)
        else:
            with pytest.raises(Refused, match=rf"orin \({role}\): its certificate is not for"):
                guard.admit(holder(role), calls=calls)
    with pytest.raises(Refused):
        guard.admit(holder(), calls=calls)
    with pytest.raises(Refused):
        guard.admit(None, calls=calls)


def test_who_may_run_code_where(revoked: Revoked) -> None:
    """Clients on the head and on devices, by way of the head; nobody on a client; devices nowhere."""
    trusted = {
        (part, role)
        for part in ("head", "measure", "submit", "observe")
        for role in ("head", "measure", "submit", "observe")
        if Guard(part, revoked).trusts(holder(role))
    }
    assert trusted == {("head", "submit"), ("measure", "head")}


def test_without_certificates_a_client_still_runs_nothing() -> None:
    assert not Guard("submit", None).trusts(None)
    Guard("submit", None).admit(None, calls=False)


def test_a_certificate_that_is_revoked_during_the_session_is_refused(tmp_path: Path) -> None:
    certs.issue(tmp_path, ["lost"], ["submit"])
    head = Guard("head", Revoked(tmp_path / certs.CA))
    serial = x509.load_pem_x509_certificate((tmp_path / "lost.pem").read_bytes()).serial_number
    head.admit(holder("submit", serial=serial), calls=True)
    certs.revoke(tmp_path, ["lost"])
    with pytest.raises(Refused, match="its certificate is revoked"):
        head.admit(holder("submit", serial=serial), calls=True)


@pytest.mark.parametrize("operation", ["register-worker", "heartbeat_worker"])
def test_what_the_head_keeps_and_shows_to_clients_is_small(revoked: Revoked, operation: str) -> None:
    head, client = Guard("head", revoked), Guard("submit", revoked)
    assert head.limit_of({"op": operation}) == REPORT_BYTES
    for other in ({"op": "task-finished"}, {"op": [operation]}, [{"op": "task-finished"}], {}, "OK"):
        assert head.limit_of(other) == LIMIT_BYTES
    assert client.limit_of({"op": operation}) == CLIENT_LIMIT_BYTES


def test_who_was_expelled_stays_out(revoked: Revoked) -> None:
    head, client = Guard("head", revoked), Guard("submit", revoked)
    head.expel(holder("measure"), "its message has 4,096 MiB")
    with pytest.raises(Refused, match=r"4,096 MiB; restart the head"):
        head.admit(holder("measure"), calls=True)
    head.admit(holder("measure", serial=2), calls=True)
    client.expel(holder("head"), "an accident")
    client.admit(holder("head"), calls=False)
