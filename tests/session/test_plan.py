from __future__ import annotations

from synthetic import case

from pytest_ngraph.session.plan import Plan

EAGER, TVM, LARGER = case("identity"), case("tvm"), case("identity", batch_size=8)


def test_cases_that_differ_in_their_compiler_are_a_group() -> None:
    expected = Plan()
    for each in (EAGER, LARGER, TVM):
        expected.add(each, f"test_{each.id}")
    assert expected.groups == [[EAGER, TVM], [LARGER]]
    assert expected.beside(TVM) == [EAGER, TVM]
    assert expected.ids == [EAGER.id, TVM.id, LARGER.id]


def test_the_first_test_that_asks_is_known() -> None:
    expected = Plan()
    assert EAGER not in expected
    expected.add(EAGER, "first")
    expected.add(EAGER, "second")
    assert EAGER in expected
    assert TVM not in expected
    assert expected.nodeid(EAGER) == "first"
