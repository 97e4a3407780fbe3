"""A session where nothing is measured in earnest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from synthetic import case, measured

from pytest_ngraph.bench.local_site import LocalSite
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.site import Measurer
from pytest_ngraph.bench.work_order import WorkOrder
from pytest_ngraph.case import Case
from pytest_ngraph.errors import DeviceAway
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.record import Record
from pytest_ngraph.session.session import Session

EAGER, TVM, BY_ITSELF = case("identity", 8), case("tvm", 8), case("identity", 1)


class Counting(Silent):
    def __init__(self) -> None:
        self.counts = {"planned": 0, "finished": 0}

    def planned(self, case: Case) -> None:
        self.counts["planned"] += 1

    def finished(self, case: Case) -> None:
        self.counts["finished"] += 1


class Instant(LocalSite):
    """away: whether the device is gone."""

    def __init__(self, *, away: bool = False) -> None:
        self.is_away = away
        self.orders: list[WorkOrder] = []

    def open(self, work: WorkOrder) -> Measurer:  # type: ignore[override]  # what it gives is no `Bench`
        self.orders.append(work)
        return self

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        if self.is_away:
            raise DeviceAway("device xeon has been away for 15 minutes")
        yield from (measured(each, 0.5) for each in cases)


def begun(pytester: pytest.Pytester, site: Instant, *arguments: str) -> tuple[Session, Counting]:
    """A session whose tests will ask for two cases of a group."""
    progress = Counting()
    session = Session(pytester.parseconfigure(*arguments).stash[SESSION].options, progress, site=site)
    for each in (EAGER, TVM):
        session.expect(each, f"test_it.py::test[{each.id}]")
    return session, progress


def test_what_is_finished_was_planned(pytester: pytest.Pytester) -> None:
    """What a test measures itself was not."""
    session, progress = begun(pytester, Instant())
    session.add(measured(BY_ITSELF, 0.5))
    assert session.record_of(TVM).nodeid == f"test_it.py::test[{TVM.id}]"
    assert progress.counts == {"planned": 2, "finished": 2}
    assert set(session.records) == {BY_ITSELF, EAGER, TVM}
    assert session.expects(TVM)
    assert not session.expects(BY_ITSELF)
    session.close()


def test_the_end_of_a_run_says_what_devices_measured_again_and_why(pytester: pytest.Pytester) -> None:
    class Again(Instant):
        def open(self, work: WorkOrder) -> Measurer:  # type: ignore[override]
            for each in (EAGER, TVM):
                work.measured_again(each, "weights.pt changed")
            return super().open(work)

    session, _ = begun(pytester, Again())
    session.record_of(TVM)
    ended = session.conclude(whole=True)
    assert ended is not None
    assert "2 cases measured again on device xeon: weights.pt changed." in ended.notes
    session.close()


def test_a_device_that_is_gone_cuts_the_session_short(pytester: pytest.Pytester) -> None:
    session, _ = begun(pytester, Instant(away=True))
    assert not session.is_cut_short
    record = session.record_of(TVM)
    assert (record.outcome, record.skip_reason) == ("skipped", "device xeon has been away for 15 minutes")
    assert session.is_cut_short
    assert session.unmeasured == [EAGER, TVM]
    session.close()


def test_a_goal_knows_how_many_cases_a_group_has_whatever_is_measured_already(pytester: pytest.Pytester) -> None:
    site = Instant()
    session, _ = begun(pytester, site, "--ngraph-goal=best")
    session.add(measured(TVM, 0.5))
    session.record_of(EAGER)
    [order] = site.orders
    assert order.groups == [[EAGER]]
    assert order.knowledge.groups == {EAGER.group: 2}
