"""The case of the base that each case of the head is compared with."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.against.pairing import BaseCase, Collection, pair
from pytest_ngraph.case import Case, CompilerSpec

CASE = Case(workload="nets:build", compiler="openvino", batch_size=8)
TEST = "tests/test_it.py::test_speed"


def _of(test: str, *cases: Case) -> list[tuple[str, Case]]:
    return [(f"{test}[{case.id}]", case) for case in cases]


def _base(*listed: tuple[str, Case], selected: bool = True, **failed: str) -> Collection:
    return Collection(tuple(BaseCase(nodeid, case, selected) for nodeid, case in listed), failed)


def _with(**changes: object) -> Case:
    return dataclasses.replace(CASE, **changes)  # type: ignore[arg-type]


def test_equal_cases_are_a_pair() -> None:
    pairing = pair(_of(TEST, CASE), _base(*_of(TEST, CASE)))
    assert (pairing.bases, pairing.new, pairing.missing) == ({CASE: CASE}, frozenset(), {})


def test_equal_cases_of_a_renamed_test_are_a_pair() -> None:
    assert pair(_of(TEST, CASE), _base(*_of("tests/test_old.py::test_old", CASE))).bases == {CASE: CASE}


def test_a_workload_whose_module_was_moved_is_a_pair_where_the_head_lacks_the_old_one() -> None:
    """Else every case of a moved module would be new, and slower code of it would fail nothing."""
    moved, other = _with(workload="models.nets:build"), _with(workload="models.nets:rebuild")
    for gone, head, bases in (
        ({"nets:build"}, [moved], {moved: CASE}),
        (set(), [moved], {}),
        ({"nets:build"}, [other], {}),
        ({"nets:build"}, [moved, _with(workload="others:build")], {}),
        ({"nets:build"}, [_with(workload="models.nets:build", compiler="tvm")], {}),
    ):
        found = pair(_of(TEST, *head), _base(*_of(TEST, CASE)), is_gone=gone.__contains__)
        assert found.bases == bases
        assert (not found.missing, not found.new) == (bool(bases), bool(bases))


def test_changed_options_are_a_pair() -> None:
    for changed in (
        _with(compiler="openvino:streams=4"),
        _with(model_args=(("channels", 64),)),
        _with(shapes=(("x", ("batch", 3)),)),
        _with(inputs="data:real"),
        _with(precision="bf16"),
        _with(objective="throughput"),
        _with(device="xeon"),
        _with(compiler="openvino:streams=4", precision="bf16", device="xeon"),
    ):
        assert pair(_of(TEST, changed), _base(*_of(TEST, CASE))).bases == {changed: CASE}


def test_another_case_is_no_pair() -> None:
    for other in (
        _with(workload="nets:other"),
        _with(compiler="onnxruntime"),
        _with(batch_size=1),
        _with(depth=2),
        _with(width=64),
        _with(sizes=(("seq_len", 128),)),
    ):
        pairing = pair(_of(TEST, other), _base(*_of(TEST, CASE)))
        assert (pairing.bases, pairing.new) == ({}, frozenset([other]))
        assert pairing.missing == {CASE: f"{TEST}[{CASE.id}]"}


def test_changed_options_in_another_test_are_no_pair() -> None:
    changed = _with(precision="bf16")
    assert not pair(_of(TEST, changed), _base(*_of("tests/test_it.py::test_other", CASE))).bases


def test_what_is_ambiguous_is_no_pair() -> None:
    """Either could have become the new one."""
    two, four, eight = (_with(compiler=f"openvino:streams={n}") for n in (2, 4, 8))
    pairing = pair(_of(TEST, eight), _base(*_of(TEST, two, four)))
    assert (pairing.bases, pairing.new) == ({}, frozenset([eight]))
    assert pairing.missing.keys() == {two, four}


def test_an_equal_case_leaves_no_choice() -> None:
    two, four, eight = (_with(compiler=f"openvino:streams={n}") for n in (2, 4, 8))
    assert pair(_of(TEST, two, eight), _base(*_of(TEST, two, four))).bases == {two: two, eight: four}


def test_one_change_is_nearer_than_two() -> None:
    low, high = _with(precision="fp32"), _with(precision="bf16")
    changed = [dataclasses.replace(case, compiler="openvino:streams=4") for case in (low, high)]
    assert pair(_of(TEST, *changed), _base(*_of(TEST, low, high))).bases == {changed[0]: low, changed[1]: high}


def test_what_was_not_selected_is_not_missing() -> None:
    """`-k streams` selects the head's case, but not its earlier form at the base."""
    other, changed = _with(batch_size=1), _with(compiler="openvino:streams=4")
    pairing = pair(_of(TEST, changed), _base(*_of(TEST, CASE, other), selected=False))
    assert (pairing.bases, pairing.missing) == ({changed: CASE}, {})


def test_a_variant_is_no_pair_where_the_head_still_has_the_other_one() -> None:
    """`-k bf16`, or its node id, selects only the added variant."""
    both = _of(TEST, CASE, added := _with(precision="bf16"))
    pairing = pair(_of(TEST, added), _base(*_of(TEST, CASE), selected=False), generated=both)
    assert (pairing.bases, pairing.new, pairing.missing) == ({}, frozenset([added]), {})


def test_a_selected_variant_leaves_the_others_what_they_are_compared_with() -> None:
    two, four, eight, sixteen = (_with(compiler=f"openvino:streams={n}") for n in (2, 4, 8, 16))
    generated = _of(TEST, eight, sixteen)
    assert pair(_of(TEST, eight), _base(*_of(TEST, two)), generated).new == {eight}
    assert pair(_of(TEST, eight), _base(*_of(TEST, two, four)), generated).missing.keys() == {two, four}


def test_where_collecting_failed_the_base_has_the_heads_cases() -> None:
    for failed in ("", "tests", "tests/test_it.py", TEST):
        pairing = pair(_of(TEST, CASE), Collection(failed={failed: "SyntaxError"}))
        assert (pairing.bases, pairing.new) == ({CASE: CASE}, frozenset())
    for failed in ("tests/test_it", "tests/test_it.py::test_spee", "tests/test_other.py"):
        assert pair(_of(TEST, CASE), Collection(failed={failed: "SyntaxError"})).new == {CASE}


def test_the_problem_names_what_failed() -> None:
    assert Collection().problem == ""
    assert "tests/test_it.py: SyntaxError" in Collection(failed={"tests/test_it.py": "SyntaxError"}).problem
    assert Collection(failed={"": "no conftest"}).problem.endswith("there instead: no conftest")


cases = st.builds(
    Case,
    workload=st.sampled_from(["a", "b"]),
    compiler=st.sampled_from(["identity", "openvino", "openvino:streams=2", "openvino:streams=4"]),
    batch_size=st.sampled_from([1, 8]),
    precision=st.sampled_from(["fp32", "bf16"]),
    device=st.sampled_from(["cpu", "xeon"]),
)
listings = st.lists(st.tuples(st.sampled_from(["t.py::test_a", "t.py::test_b"]), cases), max_size=12, unique=True)


@given(listings, listings)
def test_each_case_is_paired_new_or_missing(head: list[tuple[str, Case]], base: list[tuple[str, Case]]) -> None:
    pairing = pair(head, _base(*base))
    heads, bases = {case for _, case in head}, {case for _, case in base}
    assert pairing.bases.keys() | pairing.new == heads
    assert not pairing.bases.keys() & pairing.new
    assert set(pairing.bases.values()) | pairing.missing.keys() == bases
    assert len(set(pairing.bases.values())) == len(pairing.bases) == len(bases) - len(pairing.missing)


@given(listings, listings, st.data())
def test_what_a_case_is_compared_with_does_not_depend_on_the_others(
    generated: list[tuple[str, Case]], base: list[tuple[str, Case]], data: st.DataObject
) -> None:
    selected = data.draw(st.lists(st.sampled_from(generated), unique=True)) if generated else []
    whole, part = pair(generated, _base(*base), generated), pair(selected, _base(*base), generated)
    cases = {case for _, case in selected}
    assert part.bases == {case: theirs for case, theirs in whole.bases.items() if case in cases}
    assert part.new == whole.new & cases


@given(listings, listings)
def test_pairs_are_of_one_kind(head: list[tuple[str, Case]], base: list[tuple[str, Case]]) -> None:
    pairing = pair(head, _base(*base))
    for ours, theirs in pairing.bases.items():
        assert (ours.workload, ours.batch_size) == (theirs.workload, theirs.batch_size)
        assert CompilerSpec.parse(ours.compiler).name == CompilerSpec.parse(theirs.compiler).name
    assert {case for _, case in head} & {case for _, case in base} <= pairing.bases.keys()


@given(listings)
def test_the_order_does_not_matter_within_a_test(listing: list[tuple[str, Case]]) -> None:
    """Here each case belongs to one test; if it belonged to several, its first test would count."""
    head = [("t.py::test_a", case) for _, case in listing]
    base = [("t.py::test_a", dataclasses.replace(case, precision="fp16")) for _, case in listing[::2]]
    assert pair(head, _base(*base)).bases == pair(head[::-1], _base(*base[::-1])).bases
