"""Nobody speaks for another at the head, on data: as whom connections are registered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cluster.certificates import credentials_of

from pytest_ngraph.cluster.guard import Guard, Refused
from pytest_ngraph.cluster.registry import DEVICES, Standing, is_literal
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.cluster.revocation import Revoked
from pytest_ngraph.cluster.roles import Peer

GOOD, BAD = (Peer(name=name, roles=frozenset({"measure"}), serial=1) for name in ("good", "bad"))
EYE, OTHER = (Peer(name=name, roles=frozenset({"observe"}), serial=1) for name in ("eye", "other"))
OWNER = Peer(name="anna", roles=frozenset({"submit"}), serial=1)
ADDRESS, ELSEWHERE = "tls://10.0.0.3:1", "tls://10.0.0.4:1"
TAKEN: dict[str, Any] = {"status": "OK"}


@pytest.fixture
def head(authority: Path) -> Guard:
    return Guard("head", Revoked(credentials_of(authority).ca))


def allowed(head: Guard, peer: Peer, standing: Standing | None = None, **message: Any) -> bool:
    try:
        head.check(peer, message, standing)
    except Refused:
        return False
    return True


def device(head: Guard, peer: Peer, address: str, answer: Any = TAKEN, is_open: Any = lambda: True) -> Standing:
    """Return the connection of a device that asks to be registered, and is answered this."""
    standing = Standing(is_open)
    head.check(peer, {"op": "register-worker", "address": address, "name": peer.name}, standing)
    head.answer(standing, answer)
    return standing


def client(head: Guard, peer: Peer, name: str) -> Standing:
    """Return the connection of a client that is registered under this id."""
    standing = Standing()
    head.check(peer, {"op": "register-client", "client": name}, standing)
    head.answer(standing, [{"op": "stream-start"}])
    return standing


ABOUT_A_WORKER: list[dict[str, Any]] = [
    {"op": "retire_workers", "workers": [ADDRESS]},
    {"op": "unregister", "address": ADDRESS},
    {"op": "heartbeat_worker", "address": ADDRESS},
]


@pytest.mark.parametrize("message", ABOUT_A_WORKER, ids=lambda message: str(message["op"]))
def test_a_device_asks_only_about_itself(head: Guard, message: dict[str, Any]) -> None:
    device(head, GOOD, ADDRESS)
    device(head, BAD, ELSEWHERE)
    assert allowed(head, GOOD, **message)
    assert not allowed(head, BAD, **message)


@pytest.mark.parametrize(
    "operation",
    ["task-finished", "task-erred", "reschedule", "worker-status-change", "add-keys", "log-event", "steal-response"],
)
def test_a_device_says_nothing_in_the_name_of_another(head: Guard, operation: str) -> None:
    """The engine would take the worker that the message names, and not the one whose connection it is."""
    good, bad = device(head, GOOD, ADDRESS), device(head, BAD, ELSEWHERE)
    assert allowed(head, BAD, bad, op=operation)
    assert allowed(head, GOOD, good, op=operation, worker=ADDRESS)
    assert not allowed(head, BAD, bad, op=operation, worker=ADDRESS)
    assert not allowed(head, BAD, bad, op=operation, client="anna")
    assert not allowed(head, BAD, op=operation, worker=ADDRESS)


@pytest.mark.parametrize(
    "message",
    [
        {"op": "retire_workers", "workers": None},
        {"op": "retire_workers", "workers": []},
        {"op": "retire_workers", "workers": [ELSEWHERE, ADDRESS]},
        {"op": "retire_workers", "workers": ["good"]},
        {"op": "retire_workers", "names": ["good"]},
        {"op": "retire_workers", "workers": [ELSEWHERE], "names": ["good"]},
        {"op": "retire_workers", "workers": {ADDRESS: 1}},
        {"op": "unregister", "address": "good"},
        {"op": "unregister", "address": "tls://10.0.0.3:01"},
        {"op": "unregister", "address": "tls://localhost:1"},
        {"op": "unregister", "address": None},
        {"op": "who_has"},
        {"op": "who_has", "keys": None},
        {"op": "register-worker", "address": "tls://localhost:1", "name": "bad"},
        {"op": "register-worker", "address": "tls://10.0.0.5:1", "name": ADDRESS},
    ],
    ids=str,
)
def test_what_the_engine_would_read_in_another_way_is_refused(head: Guard, message: dict[str, Any]) -> None:
    device(head, GOOD, ADDRESS)
    device(head, BAD, ELSEWHERE)
    assert not allowed(head, BAD, **message)


def test_who_has_is_answered_by_key(head: Guard) -> None:
    assert allowed(head, GOOD, op="who_has", keys=("a", "b"))


def test_an_address_belongs_to_who_has_registered_it_until_that_is_gone(head: Guard) -> None:
    there = [True]
    device(head, GOOD, ADDRESS, is_open=lambda: there[0])
    assert not allowed(head, BAD, op="register-worker", name="bad", address=ADDRESS)
    assert allowed(head, GOOD, op="register-worker", name="good", address=ADDRESS), "the head says that it is there"
    there[0] = False
    device(head, BAD, ADDRESS)
    assert not allowed(head, GOOD, op="unregister", address=ADDRESS)


@pytest.mark.parametrize("answer", [{"status": "error", "message": "name taken"}, {"status": "uncaught-error"}, None])
def test_a_registration_that_fails_claims_nothing(head: Guard, answer: Any) -> None:
    standing = device(head, BAD, ADDRESS, answer)
    if answer is None:  # it asked for no reply
        head.check(BAD, {"op": "heartbeat_worker", "address": ELSEWHERE}, standing)
        head.answer(standing, {"status": "OK"})
    assert standing.worker == ""
    device(head, GOOD, ADDRESS)
    assert not allowed(head, BAD, op="unregister", address=ADDRESS)


def test_a_certificate_is_for_so_many_devices_at_a_time(head: Guard) -> None:
    there = [True]
    for port in range(DEVICES):
        device(head, BAD, f"tls://10.0.0.4:{port + 2}", is_open=lambda: there[0])
    joins: dict[str, Any] = {"op": "register-worker", "address": "tls://10.0.0.4:1", "name": "one-more"}
    assert not allowed(head, BAD, **joins)
    assert allowed(head, GOOD, **joins)
    there[0] = False
    assert allowed(head, BAD, **joins)


@pytest.mark.parametrize("name", [7, None, "", "-x", "xeon\x1b[2J", "xeon\n", "xe\u200eon", "x on", ["xeon"]], ids=repr)
def test_a_device_has_a_name_that_looks_like_no_other(head: Guard, name: Any) -> None:
    """The engine takes 7 and "7" for two; and two that look the same would be one in a file of metrics."""
    joins: dict[str, Any] = {"op": "register-worker", "address": ELSEWHERE}
    assert not allowed(head, BAD, **joins, name=name)
    assert allowed(head, BAD, **joins, name="7.orin_A-b")


def test_a_connection_is_of_one_worker(head: Guard) -> None:
    standing = device(head, BAD, ELSEWHERE)
    assert not allowed(head, BAD, standing, op="register-worker", name="bad", address="tls://10.0.0.9:1")


@pytest.mark.parametrize(
    ("resources", "pool", "taken"),
    [
        ({"ngraph:bad": 1}, "bad", True),
        ({"ngraph:bad": 1, "ngraph:shared": 1}, "shared", True),
        ({}, "bad", True),
        ({"ngraph:bad": 1, "ngraph:good": 1}, "bad", False),
        ({"ngraph:good": 1}, None, False),
        ({"GPU": 1}, "bad", False),
        (["ngraph:good"], "bad", False),
        (7, "bad", False),
    ],
)
def test_a_device_gets_the_cases_of_its_own_name_and_pool_alone(
    head: Guard, resources: Any, pool: str | None, *, taken: bool
) -> None:
    """The engine sends a task to whoever offers what the task needs."""
    joins: dict[str, Any] = {
        "op": "register-worker",
        "address": ELSEWHERE,
        "name": "bad",
        "extra": {KEY: {"pool": pool}},
    }
    assert allowed(head, BAD, **joins, resources=resources) is taken
    assert allowed(head, BAD, **joins | {"extra": 7}, resources=resources) is (resources in ({}, {"ngraph:bad": 1}))


def test_a_device_prints_nothing_at_clients(head: Guard) -> None:
    """The engine's clients print what they get under these topics, as it is."""
    standing = device(head, BAD, ELSEWHERE)
    printed: list[Any] = ["print", "warn", ["ngraph-1", "warn"], ["print"], ("print",), {"print": 1}, {"print"}]
    for topic in printed:
        assert not allowed(head, BAD, standing, op="log-event", topic=topic, msg="\x1b[2J")
    others: list[Any] = [ELSEWHERE, "worker-fail-hard", "ngraph-1", ["ngraph-1", [7]]]
    for topic in others:
        assert allowed(head, BAD, standing, op="log-event", topic=topic, msg="")


def test_a_device_that_has_joined_offers_nothing_else(head: Guard) -> None:
    standing = device(head, BAD, ELSEWHERE)
    beat: dict[str, Any] = {"op": "heartbeat_worker", "address": ELSEWHERE}
    assert allowed(head, BAD, standing, **beat)
    assert not allowed(head, BAD, standing, **beat, resources={"ngraph:good": 1})


def test_what_the_head_does_not_know_may_be_asked_about(head: Guard) -> None:
    """As when it was started again: it says that the worker is missing, which then joins again."""
    assert all(allowed(head, GOOD, **message) for message in ABOUT_A_WORKER)


def test_an_observer_acts_in_its_own_name(head: Guard) -> None:
    client(head, OWNER, "anna-1")
    own = client(head, EYE, "eye-1")
    for operation in ("close-client", "subscribe-topic", "unsubscribe-topic", "heartbeat-client"):
        assert allowed(head, EYE, own, op=operation)
        assert allowed(head, EYE, own, op=operation, client="eye-1")
        assert not allowed(head, EYE, own, op=operation, client="anna-1")
        assert not allowed(head, EYE, own, op=operation, worker=ADDRESS)
        assert not allowed(head, EYE, op=operation, client="eye-1"), "on another connection"
    assert not allowed(head, OTHER, op="register-client", client="anna-1")
    assert allowed(head, EYE, op="register-client", client="eye-1"), "it comes back"


@pytest.mark.parametrize("address", ["tls://10.0.0.3:1", "tls://[::1]:8786", "tcp://127.0.0.1:40000"])
def test_addresses_as_the_engine_keeps_them(address: str) -> None:
    assert is_literal(address)
