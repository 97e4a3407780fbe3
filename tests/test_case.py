from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.case import Case, CompilerSpec


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            Case(workload="swin_s3_tiny_224", compiler="openvino", batch_size=8, device="xeon"),
            "swin_s3_tiny_224-openvino-b8-xeon",
        ),
        (
            Case(workload="conv", compiler="openvino", batch_size=8, depth=3, width=64, device="xeon"),
            "conv-openvino-b8-d3-w64-xeon",
        ),
        (
            Case(
                workload="vit",
                compiler="identity",
                batch_size=1,
                precision="bf16",
                objective="throughput",
                model_args=(("img_size", 192),),
            ),
            "vit,img_size=192-identity-b1-bf16-throughput-cpu",
        ),
    ],
)
def test_id_names_what_a_person_would_select_by(case: Case, expected: str) -> None:
    assert case.id == expected


def test_a_network_has_a_name_that_its_batch_sizes_share() -> None:
    blocks = Case(workload="conv", compiler="tvm", batch_size=8, depth=3, width=64, model_args=(("kernel", 5),))
    assert blocks.network_label == "conv,kernel=5-d3-w64"
    assert Case(workload="resnet18", compiler="tvm", batch_size=1).network_label == "resnet18"


def test_group_is_equal_for_the_compilers_of_one_workload_and_size(a_case: Case) -> None:
    other = Case(workload="resnet18", compiler="openvino:streams=2", batch_size=8)
    assert other.group == a_case.group
    assert other != a_case


def test_group_differs_by_batch_size(a_case: Case) -> None:
    assert Case(workload="resnet18", compiler="identity", batch_size=1).group != a_case.group


names = st.text(min_size=1, max_size=8)
cases = st.builds(
    Case,
    workload=names,
    compiler=names,
    batch_size=st.integers(1, 512),
    depth=st.none() | st.integers(1, 99),
    width=st.none() | st.integers(1, 999),
    precision=st.sampled_from(["fp32", "bf16", "fp16"]),
    objective=st.sampled_from(["latency", "throughput"]),
    model_args=st.dictionaries(names, st.booleans() | st.integers() | names).map(lambda d: tuple(sorted(d.items()))),
    device=names,
)


@given(cases)
def test_dict_round_trip(case: Case) -> None:
    assert Case.from_dict(case.to_dict()) == case


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("openvino", "openvino", ()),
        ("openvino:streams=4", "openvino", (("streams", "4"),)),
        ("openvino:streams=4,hint=latency", "openvino", (("hint", "latency"), ("streams", "4"))),
        ("mine:Exact", "mine:Exact", ()),
        ("mine:Exact:spin=3", "mine:Exact", (("spin", "3"),)),
    ],
)
def test_compiler_spec(text: str, name: str, options: tuple[tuple[str, str], ...]) -> None:
    assert CompilerSpec.parse(text) == CompilerSpec(name, options)


@given(st.text())
def test_compiler_spec_is_canonical(text: str) -> None:
    once = str(CompilerSpec.parse(text))
    assert str(CompilerSpec.parse(once)) == once


def test_who_scores_its_outputs_does_not_make_it_another_case() -> None:
    plain = Case(workload="conv", compiler="tvm", batch_size=1)
    scored = dataclasses.replace(plain, scored_by="scores:accuracy")
    assert scored == plain
    assert {plain: 1}[scored] == 1
    assert Case.from_dict(scored.to_dict()).group.scored_by == "scores:accuracy"
