"""Clients of one device take turns."""

from __future__ import annotations

from collections import deque

from synthetic import case

from pytest_ngraph.cluster.client.sent_groups import SentGroup
from pytest_ngraph.cluster.client.turns import AGAIN_S, AHEAD, GROWN_S, Turns


def groups(count: int, device: str = "xeon") -> list[SentGroup]:
    return [SentGroup(number, (case(device=device),), {}) for number in range(count)]


def numbers(sent: list[SentGroup]) -> list[int]:
    return [group.number for group in sent]


def test_each_machine_has_the_next_groups_and_no_more() -> None:
    turns = Turns({"xeon": 1, "pool": 3}.__getitem__)
    one, pool = groups(5), groups(9, "pool")
    turns.add([*one, *pool])
    taken = turns.take()
    assert [group.device for group in taken] == ["xeon"] * AHEAD + ["pool"] * 3 * AHEAD
    assert turns.take() == []
    turns.done(one[0])
    assert turns.take() == [one[2]]


def test_a_group_that_is_put_back_goes_first_after_a_while() -> None:
    now = [0.0]
    turns = Turns(lambda device: 1, lambda: now[0])
    ours = groups(4)
    turns.add(ours)
    first, second = turns.take()
    turns.put_back(second)
    turns.put_back(first)
    now[0] = AGAIN_S - GROWN_S / 2
    assert turns.take() == []
    now[0] = AGAIN_S
    assert numbers(turns.take()) == [0, 1]


def test_only_devices_of_which_something_has_changed_are_looked_at() -> None:
    asked: list[str] = []

    def machines(device: str) -> int:
        asked.append(device)
        return 1

    turns = Turns(machines, lambda: 0.0)
    sent = [group for number in range(100) for group in groups(AHEAD + 1, f"board{number}")]
    turns.add(sent)
    turns.take()
    asked.clear()
    turns.done(sent[0])
    assert turns.take() == [sent[AHEAD]]
    assert set(asked) == {"board0"}


def test_a_device_that_gets_another_machine_gets_more_groups() -> None:
    now, machines = [0.0], [1]
    turns = Turns(lambda _: machines[0], lambda: now[0])
    turns.add(groups(9))
    turns.take()
    machines[0] = 2
    now[0] = GROWN_S
    assert len(turns.take()) == AHEAD


def test_a_client_that_comes_late_waits_for_what_others_have_under_way_alone() -> None:
    """The device begins groups in the order of arrival, as the engine's worker does."""
    clients = {name: Turns(lambda device: 1) for name in ("early", "late")}
    queue: deque[tuple[str, SentGroup]] = deque()
    measured: list[str] = []
    clients["early"].add(groups(20))
    for step in range(30):
        if step == 5:
            clients["late"].add(groups(10))
        for name, turns in clients.items():
            queue.extend((name, group) for group in turns.take())
        if queue:
            name, group = queue.popleft()
            measured.append(name)
            clients[name].done(group)
    late = [place for place, name in enumerate(measured) if name == "late"]
    assert late[0] <= 5 + AHEAD
    assert late[-1] <= 5 + 2 * 10 + AHEAD
    assert len(measured) == 30
