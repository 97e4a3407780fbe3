"""Made-up records of networks whose time was profiled under several compilers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from synthetic import case, noisy

from pytest_ngraph.case import Case
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.profile import Kernel
from pytest_ngraph.record import Record
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.store import Run

SPEED = {
    "identity": 1.0, "torchscript": 0.8, "inductor": 0.6, "onnxruntime": 0.5,
    "openvino": 0.35, "tvm": 0.55, "executorch": 0.7, "tensorrt": 0.15,
}  # fmt: skip
"""Eight compilers, and their seconds over those of identity."""
BLOCK = ("conv1", "bn1", "act1", "conv2", "bn2")
FUSED = ("bn", "act")
"""Beginnings of the modules that are fused to what comes before them."""

LONG = "a_module.with_many_parts.each_of_which.has_a_long_name."


def residual(stages: int = 4, blocks: int = 2) -> list[str]:
    """Return the modules of a network with residual blocks: `layer1.0.conv1`."""
    paths = [f"layer{1 + stage}.{block}" for stage in range(stages) for block in range(blocks)]
    return ["conv1", "bn1", "act1", *(f"{path}.{part}" for path in paths for part in BLOCK), "pool", "fc"]


def stack(depth: int) -> list[str]:
    """Return the modules of the workload `conv`: a stem, then blocks."""
    return ["0", *(f"{1 + block}.{part}" for block in range(depth) for part in ("conv", "bn", "act"))]


def kept(
    modules: Sequence[str], compiler: str, latency_s: float, coverage: float = 0.95, layout: float = 0.0
) -> KeptProfile:
    """Return the profile of a compiler that fuses convolutions with what follows them, unless it is identity.

    Args:
        layout: share of the latency that changes layouts.
    """
    groups = [*_groups(modules, fuses=compiler != "identity")]
    weights = np.random.default_rng(zlib.crc32(compiler.encode())).uniform(0.6, 1.4, len(groups))
    seconds = (coverage - layout) * latency_s * weights / weights.sum()
    kernels = [
        Kernel(name=group[0], operator=_operators(group), kind="jit_avx512", seconds=own, modules=group)
        for group, own in zip(groups, seconds.tolist(), strict=True)
    ]
    if layout:
        kernels.append(Kernel(name="r", operator="Reorder", seconds=layout * latency_s, layout=True))
    return KeptProfile(latency_s=latency_s, modules=tuple(modules), kernels=tuple(kernels))


def profiled(of: Case, modules: Sequence[str], latency_s: float, **profile: float) -> Record:
    """Return a record that keeps such a profile."""
    return noisy(of, latency_s, profile=kept(modules, of.compiler, latency_s, **profile).to_dict())


def study(compilers: Sequence[str]) -> Study:
    """Return a study of a residual network, one of 600 modules, one that is hardly covered, and stacks of blocks."""
    found: list[Record] = []
    for name in compilers:
        speed = SPEED[name]
        found += [
            profiled(case(name), residual(), 0.1 * speed, layout=0.04, coverage=1.08 if name == "identity" else 0.94),
            profiled(case(name, workload="huge"), residual(6, 19), 0.4 * speed),
            profiled(case(name, workload="long", batch_size=8), [f"{LONG}{n}" for n in range(5)], 0.1 * speed),
            profiled(case(name, workload="opaque"), residual(3, 3), 0.3 * speed, coverage=0.6),
        ]
        for depth in (1, 2, 4):
            of = case(name, workload="conv", depth=depth, width=64)
            found.append(profiled(of, stack(depth), 0.01 * speed * (1 + depth), layout=0.1 / depth))
    return Study.of([Run(id="1", environment={}, records=tuple(found))])


def _groups(modules: Sequence[str], *, fuses: bool) -> Iterator[tuple[str, ...]]:
    group: tuple[str, ...] = ()
    for path in modules:
        if group and not (fuses and path.rpartition(".")[2].startswith(FUSED)):
            yield group
            group = ()
        group += (path,)
    yield group


def _operators(group: Sequence[str]) -> str:
    return "+".join(path.rpartition(".")[2].rstrip("0123456789") or "conv" for path in group)
