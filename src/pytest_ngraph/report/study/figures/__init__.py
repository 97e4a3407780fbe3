"""The study's figures, and further ones. Each is a pure function of the study's frames."""

from __future__ import annotations

from collections.abc import Callable

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.ase_width import ase_width
from pytest_ngraph.report.study.figures.break_even import break_even
from pytest_ngraph.report.study.figures.bsr_depth import bsr_depth
from pytest_ngraph.report.study.figures.changes import changes
from pytest_ngraph.report.study.figures.cpu import cpu
from pytest_ngraph.report.study.figures.depth import depth
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.friction import friction
from pytest_ngraph.report.study.figures.inversions import inversions
from pytest_ngraph.report.study.figures.load import load
from pytest_ngraph.report.study.figures.pareto import (
    pareto_agreement,
    pareto_cold_start,
    pareto_memory,
    pareto_serving,
)
from pytest_ngraph.report.study.figures.parts import parts
from pytest_ngraph.report.study.figures.repeated import repeated
from pytest_ngraph.report.study.figures.reversals import reversals
from pytest_ngraph.report.study.figures.scaling import ase, bsr
from pytest_ngraph.report.study.figures.side_by_side import side_by_side
from pytest_ngraph.report.study.figures.sizes import sizes
from pytest_ngraph.report.study.figures.stacks import compile_blocks, memory_blocks, throughput_blocks
from pytest_ngraph.report.study.figures.tails import tails
from pytest_ngraph.report.study.figures.throughput import multiplier, throughput

__all__ = ["FIGURES", "Figure"]

FIGURES: dict[str, Callable[[Study], Figure]] = {
    "side_by_side": side_by_side,
    "reversals": reversals,
    "throughput": throughput,
    "multiplier": multiplier,
    "throughput_blocks": throughput_blocks,
    "depth": depth,
    "ase": ase,
    "bsr": bsr,
    "ase_width": ase_width,
    "bsr_depth": bsr_depth,
    "repeated": repeated,
    "parts": parts,
    "cpu": cpu,
    "break_even": break_even,
    "compile_blocks": compile_blocks,
    "memory_blocks": memory_blocks,
    "friction": friction,
    "sizes": sizes,
    "tails": tails,
    "load": load,
    "pareto_memory": pareto_memory,
    "pareto_serving": pareto_serving,
    "pareto_cold_start": pareto_cold_start,
    "pareto_agreement": pareto_agreement,
    "inversions": inversions,
    "changes": changes,
}
