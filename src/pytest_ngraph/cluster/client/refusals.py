"""Which machines refuse to measure, and which machines of their devices are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pytest_ngraph.cluster.answers import Unreadable
from pytest_ngraph.cluster.presence import JoinedDevice


class Refusals:
    """The machines that have refused in this session. Nothing more is sent to them."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._members: dict[str, set[str]] = {}
        self._present: list[JoinedDevice] = []
        self._counts: Counter[str] = Counter()

    def see(self, present: Iterable[JoinedDevice]) -> None:
        """Note which machines there are."""
        self._present = list(present)
        for each in self._present:
            for device in (each.name, each.pool):
                self._members.setdefault(device, set()).add(each.name)
        self._count()

    def add(self, device: str, machine: str, reason: str, sent_to: Mapping[str, str]) -> bool:
        """Note that a machine refuses, and return whether that is new.

        Args:
            device: what the group was sent to that it refuses.
            machine: what the machine calls itself. It may say anything.
            reason: why it refuses.
            sent_to: the names of the machines that the group could go to, by address; empty for all of the device.

        Raises:
            Unreadable: the group cannot have gone to a machine of this name.
        """
        could = sent_to.values() if sent_to else self._members.get(device, ())
        if machine not in could:
            raise Unreadable("its answer cannot be read: it does not say which of its machines refuses")
        is_new = machine not in self._reasons
        self._reasons[machine] = reason
        self._count()
        return is_new

    def concern(self, device: str) -> bool:
        """Return whether a machine of a device refuses."""
        return not self._reasons.keys().isdisjoint(self._members.get(device, ()))

    def left(self, device: str, present: Iterable[JoinedDevice]) -> dict[str, str]:
        """Return the machines of a device that do not refuse: their names, by address."""
        return {each.address: each.name for each in self.without(present) if device in (each.name, each.pool)}

    def count(self, device: str) -> int:
        """Return how many machines of a device there were when they were noted last, without those that refuse.

        A client asks this of each device whenever it receives something.
        """
        return self._counts[device]

    def without(self, present: Iterable[JoinedDevice]) -> list[JoinedDevice]:
        """Return the machines that do not refuse."""
        return [each for each in present if each.name not in self._reasons]

    def by_all(self, device: str) -> str:
        """Return why all machines of a device refuse, for users; empty if one of them does not."""
        members = self._members.get(device, set())
        if not members or not members <= self._reasons.keys():
            return ""
        reasons = [f"{name}: {self._reasons[name]}" for name in sorted(members)]
        said = "; ".join(reasons) if len(reasons) > 1 else self._reasons[next(iter(members))]
        return f"device {device} refuses to measure: {said}. Once that is over, --ngraph-resume continues this run"

    def _count(self) -> None:
        """Count the machines of each device that are left."""
        self._counts = Counter(device for each in self.without(self._present) for device in {each.name, each.pool})
