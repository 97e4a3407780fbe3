"""A cluster is reached only when a test needs it."""

from __future__ import annotations

import pytest

from pytest_ngraph.bench.local_site import LocalSite
from pytest_ngraph.bench.site import Site
from pytest_ngraph.cluster.client.on_demand import OnDemandSite
from pytest_ngraph.errors import Unreachable, UsageError

NOWHERE = "--ngraph-scheduler=tcp://127.0.0.1:1"


def test_it_is_reached_once_and_when_it_is_needed() -> None:
    reached: list[Site] = []

    def reach() -> Site:
        reached.append(LocalSite())
        return reached[-1]

    site = OnDemandSite("tls://head:8786", reach)
    assert site.describe(["red"]) == "cluster tls://head:8786"
    assert not reached
    assert site.host("red") is site.host("red")
    assert site.describe(["red"]).startswith("device red: ")
    site.close()
    assert len(reached) == 1


def test_a_cluster_that_cannot_be_reached_is_tried_once() -> None:
    tries: list[bool] = []

    def reach() -> Site:
        tries.append(True)
        raise UsageError("there is no scheduler at tls://head:8786")

    site = OnDemandSite("tls://head:8786", reach)
    for _ in range(2):
        with pytest.raises(Unreachable, match="no scheduler at tls://head:8786"):
            site.host("red")
    assert tries == [True]
    site.close()


def test_tests_that_measure_nothing_need_no_cluster(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="def test_plain(): ...")
    result = project.runpytest(NOWHERE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["ngraph: cluster tcp://127.0.0.1:1; store *"])


def test_a_cluster_that_is_not_there_is_one_message(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="mine:network")
        def test_one(measurement): ...

        @pytest.mark.ngraph(workload="mine:network", batch_size=2)
        def test_two(measurement): ...
        """
    )
    result = project.runpytest(NOWHERE, "--compiler=mine:Exact")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert len([line for line in result.stderr.lines if "tcp://127.0.0.1:1" in line]) == 1
