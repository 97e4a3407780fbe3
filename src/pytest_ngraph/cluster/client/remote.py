"""A bench whose workers are the devices of a cluster, which measure in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from distributed import KilledWorker

from pytest_ngraph.bench.work_order import WorkOrder
from pytest_ngraph.case import Case
from pytest_ngraph.cluster import answers
from pytest_ngraph.cluster.client.dispatch import Arrival, Dispatch
from pytest_ngraph.cluster.client.link import NotHandedOver
from pytest_ngraph.cluster.client.sent_groups import SentGroup, SentGroups
from pytest_ngraph.cluster.client.turns import Turns
from pytest_ngraph.errors import DeviceAway, NgraphError, StoreError
from pytest_ngraph.machine.machine import CXX, FINGERPRINT
from pytest_ngraph.record import Failure, FailureKind, Record
from pytest_ngraph.system.installed import variables
from pytest_ngraph.wording import visible

TRIES = 5
"""How often a group is sent before it fails, if it comes back without records."""


class RemoteBench:
    """Sends groups in the order of the tests: the first ones as soon as one is asked for, others as these are measured.

    Args:
        dispatch: sends them.
        sent_groups: turns groups into tasks and answers into records.
        work: what is to be measured.
        environment: returns the environment of a device's machine.
        machines: returns how many machines a device has when the run begins. Others may join later.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        sent_groups: SentGroups,
        work: WorkOrder,
        environment: Callable[[str], dict[str, str]],
        machines: Callable[[str], int] = lambda device: 1,
    ) -> None:
        self._dispatch = dispatch
        self._sent_groups = sent_groups
        self._work = work
        self._environment = environment
        self._turns = Turns(lambda device: max(machines(device), dispatch.machines(device)))
        self._to_send: Sequence[Sequence[Case]] = work.groups
        self._pending: set[Case] = set()
        self._tried: dict[int, SentGroup] = {}
        self._described: set[str] = set()

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        """Yield the records of these cases, and those of others that arrive before. Raises `DeviceAway`."""
        groups, self._to_send = self._to_send, ()
        self._send(groups)
        self._send([[case for case in cases if case not in self._pending]])
        wanted = set(cases)
        while wanted:
            for case in wanted:
                if case.device in self._dispatch.gone:
                    raise DeviceAway(self._dispatch.gone[case.device])
            received = self._receive()
            self._pending.difference_update(
                record.case for record in received
            )  # first: the caller may not take them all
            for record in received:
                wanted.discard(record.case)
                yield record

    def close(self) -> None:
        """Stop what devices still measure for this session."""
        self._dispatch.close()

    def _send(self, groups: Iterable[Sequence[Case]]) -> None:
        sent = [self._sent_groups.make(group) for group in groups if group]
        for group in sent:
            self._describe(group.device)
        self._turns.add(sent)
        if first := self._turns.take():
            self._dispatch.send(first)
        self._pending.update(case for group in sent for case in group.cases)

    def _describe(self, device: str) -> None:
        """Store a device's environment, once. An error is ignored: storing a record will report it."""
        if device in self._described or self._work.settings.smoke:
            return
        self._described.add(device)
        with suppress(StoreError):
            self._work.describe_device(device, self._environment(device))

    def _receive(self) -> list[Record]:
        """Return the records that arrive next; an empty list if only messages arrive, or nothing."""
        received: list[Record] = []
        for each in self._dispatch.receive():
            if isinstance(each, Arrival):
                received += self._records(each)
            else:
                self._show(each)
        if following := self._turns.take():
            self._dispatch.follow(following)
        return received

    def _records(self, arrival: Arrival) -> list[Record]:
        """Return the records of an arrival; none if its group is sent again, or its device is given up."""
        records = self._measured(arrival)
        if records:
            self._turns.done(arrival.group)
        return records

    def _measured(self, arrival: Arrival) -> list[Record]:
        group = arrival.group
        try:
            if isinstance(arrival.error, NgraphError):
                raise arrival.error
            answer = answers.read(arrival.answer) if arrival.error is None else {}
            if "rows" in answer:
                return self._found(group, answer)
            if "failed" in answer:
                raise NgraphError(answers.said(answer["failed"]))
            if "reserved" in answer:
                self._work.progress.waiting(_reserved(group.device, answer["reserved"]))
                self._turns.put_back(group)
                return []
            if "refused" in answer:
                self._refused(group, str(answer.get("machine", "")), answers.said(answer["refused"]))
                return []
            group.tries += 1
            if group.tries < TRIES:
                self._tried[group.number] = group
                if "needs" in answer:
                    self._dispatch.deliver_to(*_needed(answer), group)
                else:
                    self._dispatch.send([group])
                return []
        except NgraphError as error:
            return _failed(group.cases, "raised", f"device {group.device}: {error}")
        return _failed(group.cases, *_problem(group, arrival.error))

    def _refused(self, group: SentGroup, machine: str, reason: str) -> None:
        if self._dispatch.refuse(group, machine, reason):
            self._work.note(f"{machine} refuses to measure ({reason}); the other machines of {group.device} go on.")

    def _found(self, group: SentGroup, answer: Mapping[str, Any]) -> list[Record]:
        """Return the records of a group, and failed ones for cases without. Raises `NgraphError` for other rows."""
        try:
            read = [self._sent_groups.record(group, place, data) for place, data in answer["rows"]]
            again = [(group.cases[place], answers.said(reason)) for place, reason in answer.get("again", ())]
            if len({record.case for record in read}) < len(read):
                raise ValueError("it sent two records of one case")
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise answers.Unreadable(f"its records cannot be read: {type(error).__name__}: {error}") from None
        self._progressed(group.device)
        for case, reason in again:
            self._work.measured_again(case, reason)
        found = [self._of(group, record) for record in read]
        missing = set(group.cases) - {record.case for record in found}
        return found + _failed(missing, "raised", f"device {group.device} returned no record")

    def _progressed(self, device: str) -> None:
        """Forgive groups of a device that came back: it left while they only waited for one that is done now."""
        for group in [each for each in self._tried.values() if each.device == device]:
            group.tries = 0
            del self._tried[group.number]

    def _of(self, group: SentGroup, record: Record) -> Record:
        """Return the record, or a failed one if its machine differs from the device's when the run began.

        A machine of a pool may join later, or come back with other libraries.
        """
        differs = _difference(record.follows_from, self._environment(group.device))
        if not differs:
            return record
        message = f"a machine of device {group.device} differs from the one that this run began with: {differs}"
        if differs.startswith(FINGERPRINT):
            message += ". If its power limit, power mode or clocks were set since, run again."
        return Record.failed(record.case, Failure(phase="build", kind="raised", message=message))

    def _show(self, message: Mapping[str, Any]) -> None:
        """Show a message about the progress of a device's bench. One that makes no sense is left out."""
        with suppress(LookupError, TypeError, ValueError, AttributeError, RecursionError):
            message = visible(message)
            progress, case = self._work.progress, self._sent_groups.case(message)
            if case is None:
                progress.waiting(f"{message['waiting']} ({message['worker']})")
            elif "phase" in message:
                progress.phase(case, message["phase"])
            elif "compiling" in message:
                progress.doing(case, str(message["compiling"]))
            else:
                progress.measuring(case, float(message["measuring"]))


def _difference(follows_from: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Return in words how a record's machine differs from this environment; empty if it does not."""
    made_by = {FINGERPRINT: follows_from.get("machine"), "python": follows_from.get("python")}
    made_by |= {CXX: follows_from.get(CXX)} | follows_from.get("libraries", {})
    now = {name: value for name, value in made_by.items() if value is not None and name in environment}
    before = {name: environment[name] for name in now}
    if "variables" in follows_from:
        now |= follows_from["variables"]
        before |= variables(environment)
    differing = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return ", ".join(f"{name} is {now.get(name, 'unset')}, was {before.get(name, 'unset')}" for name in differing)


def _needed(answer: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the address of a device, and the projects that it lacks."""
    address, digests = answer.get("worker"), answer["needs"]
    if not isinstance(address, str) or not isinstance(digests, list):
        raise answers.Unreadable("its answer cannot be read: it does not say which projects it lacks")
    return address, [digest for digest in digests if isinstance(digest, str)]


def _reserved(device: str, reservation: Any) -> str:
    """Return in words who a device is reserved for."""
    try:
        left = timedelta(seconds=round(reservation["left_s"]))
        return f"{device} is reserved for {answers.said(reservation['by'])} for another {left}"
    except (LookupError, TypeError, ValueError, ArithmeticError):
        raise answers.Unreadable("its answer cannot be read: it does not say for how long it is reserved") from None


def _problem(group: SentGroup, error: BaseException | None) -> tuple[FailureKind, str]:
    """Return why there are no records of a group, in words."""
    where = f"device {group.device}"
    if isinstance(error, KilledWorker):
        return "crashed", f"{where} left the cluster again and again while it had this group"
    if error is not None:  # `task.measure` answers whatever happens: what raises is another program
        is_kept = isinstance(error, NotHandedOver)
        did = f"did not hand over what it measured, {TRIES} times" if is_kept else "raised in place of an answer"
        return "raised", f"{where} {did}: {answers.said(visible(str(error)))}"
    if group.undelivered:
        return "raised", (
            f"the project could not be sent to {where}, which asked for it {TRIES} times: {group.undelivered}. See "
            "to the connection, or send less: --ngraph-send=PATTERN."
        )
    return "raised", f"{where} started this group {TRIES} times without finishing it"


def _failed(cases: Iterable[Case], kind: FailureKind, message: str) -> list[Record]:
    """Return a failed record for each case, none of which could be tried."""
    failure = Failure(phase="build", kind=kind, message=message)
    return [Record.failed(case, failure) for case in cases]
