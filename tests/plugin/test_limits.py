"""Which comparisons with limits share the chance of an error."""

from __future__ import annotations

import pytest

PRINTED = """
import pytest
from pytest_ngraph.plugin.assembly import SESSION

@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    limits, shared_by = session.config.stash[SESSION].judgement.knowledge_of_limits
    print("limits of:", sorted(case.id for case in limits), "shared by", shared_by)
    pytest.exit("enough")
"""


@pytest.mark.parametrize("given", ["option", "mark"])
def test_cases_that_cannot_run_here_make_no_comparison(project: pytest.Pytester, given: str) -> None:
    gate = '@pytest.mark.ngraph_gate("throughput<1")' if given == "mark" else ""
    project.makeconftest(PRINTED)
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.ngraph(workload="mine:network", batch_size=[1, 4], compiler="identity", device=["cpu", "orin"])
        {gate}
        def test_throughput(measurement): ...

        @pytest.mark.ngraph(workload="mine:network", batch_size=[1, 4], compiler="identity", device="cpu")
        {gate}
        def test_memory(measurement): ...

        @pytest.mark.skip
        @pytest.mark.ngraph(workload="mine:network", batch_size=2, compiler="identity", device="cpu")
        {gate}
        def test_never(measurement): ...
        """
    )
    options = ["--ngraph-fail-on=throughput<1"] if given == "option" else []
    result = project.runpytest(*options)
    result.stdout.fnmatch_lines(
        ["limits of: [[]'mine:network-identity-b1-cpu', 'mine:network-identity-b4-cpu'[]] shared by 2"]
    )
