"""The register tile's size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels import AVX2, AVX512, NEON

from pytest_ngraph.compilers.tvm.cpu import tile
from pytest_ngraph.compilers.tvm.target import Processor

PROCESSOR = st.sampled_from([AVX512, AVX2, NEON])
EXTENT = st.integers(1, 300)


@given(EXTENT, EXTENT, PROCESSOR, st.booleans(), st.booleans())
def test_it_fits_the_registers_and_divides_the_output_unless_that_is_padded(
    rows: int, columns: int, processor: Processor, pads_rows: bool, pads_columns: bool
) -> None:
    best = tile.best(rows, columns, processor, pads_rows=pads_rows, pads_columns=pads_columns)
    assert best.registers <= processor.registers
    assert best.lanes <= processor.lanes
    assert pads_rows or rows % best.rows == 0
    assert pads_columns or columns % best.columns == 0


@given(EXTENT, EXTENT, PROCESSOR)
def test_padding_never_costs_cycles(rows: int, columns: int, processor: Processor) -> None:
    padded = tile.best(rows, columns, processor, pads_rows=True)
    assert padded.cycles(rows, columns) <= tile.best(rows, columns, processor).cycles(rows, columns)


@pytest.mark.parametrize(
    ("processor", "rows", "expected"), [(AVX512, 14, (14, 2)), (AVX2, 6, (6, 2)), (AVX512, 1, (1, 4))]
)
def test_a_wide_output_gets_the_tile_of_the_field(processor: Processor, rows: int, expected: tuple[int, int]) -> None:
    best = tile.best(rows, 16 * processor.lanes, processor)
    assert (best.rows, best.vectors) >= expected
    assert best.lanes == processor.lanes


def test_a_prime_number_of_rows_is_padded_instead_of_taken_one_by_one() -> None:
    assert tile.best(197, 384, AVX512).rows == 1
    padded = tile.best(197, 384, AVX512, pads_rows=True)
    assert padded.rows > 6
    assert padded.cycles(197, 384) < 1.05 * 197 * 384 / AVX512.lanes / tile.MULTIPLY_ADDS_PER_CYCLE


@pytest.mark.parametrize("core", ["cortex-a57", "cortex-a78", "neoverse-n1", "neoverse-v1"])
def test_a_core_of_arm_has_vectors_of_four(core: str) -> None:
    """LLVM knows these cores on every machine. The rules use NEON's 128 bits, also where SVE has more."""
    tvm = pytest.importorskip("tvm")
    from pytest_ngraph.compilers.tvm.target import Processor, processor

    arm = tvm.target.Target({"kind": "llvm", "mtriple": "aarch64-unknown-linux-gnu", "mcpu": core, "num-cores": 4})
    assert processor(arm) == Processor(lanes=4, registers=32, threads=4)
