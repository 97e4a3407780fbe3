"""What a record keeps of a profile: medians, in little space, from which the same parts follow."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from explained import kernel, node, profile

from pytest_ngraph.explain.explanation import explain
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.profile import Block
from pytest_ngraph.explain.rows import Row

NODES = [node("conv2d", "body.conv"), node("relu", "body.act", inputs=["conv2d"]), node("linear", "head")]
KERNELS = [
    kernel("a", 0.4, ["conv2d", "relu"], kind="jit"),
    kernel("b", 0.3, ["linear"], kind="gemm", runs=3),
    kernel("Reorder", 0.15, layout=True),
    kernel("?", 0.05),
]


def described(row: Row) -> list[tuple[str, str, int]]:
    return [(work.label, work.kind, work.count) for works in row.works for work in works]


def test_it_comes_back_from_json_and_is_explained_as_before() -> None:
    whole = profile(KERNELS, NODES)
    kept = KeptProfile.from_dict(json.loads(json.dumps(KeptProfile.of(whole).to_dict())))
    again = explain([kept.profile("one")])
    assert kept.modules == ("body.conv", "body.act", "head")
    assert kept.coverage == pytest.approx(0.9)
    for before, after in zip(explain([whole]).rows, again.rows, strict=True):
        assert (after.kind, after.name) == (before.kind, before.name)
        assert after.seconds[0].value == pytest.approx(before.seconds[0].value)
        assert described(after) == described(before)


def test_it_has_the_medians_of_the_blocks() -> None:
    blocks = [Block(latency_s=f, kernels=(kernel("a", f / 2, ["linear"]),)) for f in (1.0, 9.0, 2.00001)]
    kept = KeptProfile.of(replace(profile(KERNELS, NODES), blocks=tuple(blocks)))
    assert (kept.latency_s, [each.seconds for each in kept.kernels]) == (2.0, [1.0])


def test_six_hundred_kernels_take_little_space() -> None:
    names = [f"encoder.layers.{index}.self_attention.out_proj" for index in range(600)]
    nodes = [node(f"linear_{index}", path, "linear") for index, path in enumerate(names)]
    kernels = [kernel(each.name, 1.2345678e-5, [each.name], kind="brgemm_avx512_f32") for each in nodes]
    whole = profile(kernels, nodes)
    assert len(json.dumps(KeptProfile.of(whole).to_dict())) < 60_000
