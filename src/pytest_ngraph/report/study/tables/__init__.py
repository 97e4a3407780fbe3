"""The study's tables, and further ones. Each is a pure function of the study's frames."""

from __future__ import annotations

from collections.abc import Callable

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.changes import changes
from pytest_ngraph.report.study.tables.compile_times import break_even, compile_times
from pytest_ngraph.report.study.tables.deploy import deploy
from pytest_ngraph.report.study.tables.failures import failures
from pytest_ngraph.report.study.tables.family_means import families
from pytest_ngraph.report.study.tables.inversions import inversions
from pytest_ngraph.report.study.tables.machines import devices, libraries
from pytest_ngraph.report.study.tables.models import architectures, blocks
from pytest_ngraph.report.study.tables.own import own
from pytest_ngraph.report.study.tables.scaling import depth_conv, depth_mha, friction, growth, scaling
from pytest_ngraph.report.study.tables.side_by_side import side_by_side
from pytest_ngraph.report.study.tables.table import Table
from pytest_ngraph.report.study.tables.tails import tails

__all__ = ["TABLES", "Table"]

TABLES: dict[str, Callable[[Study], Table]] = {
    "side_by_side": side_by_side,
    "devices": devices,
    "libraries": libraries,
    "compile_times": compile_times,
    "architectures": architectures,
    "blocks": blocks,
    "families": families,
    "depth_conv": depth_conv,
    "depth_mha": depth_mha,
    "break_even": break_even,
    "friction": friction,
    "growth": growth,
    "scaling": scaling,
    "deploy": deploy,
    "tails": tails,
    "inversions": inversions,
    "own": own,
    "failures": failures,
    "changes": changes,
}
