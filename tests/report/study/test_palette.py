from __future__ import annotations

from pytest_ngraph.report.study.figures.palette import KNOWN, looks


def test_known_compilers_look_the_same_in_every_study() -> None:
    assert looks(["openvino", "identity"]) == {"identity": KNOWN["identity"], "openvino": KNOWN["openvino"]}
    assert len({colour for colour, _ in KNOWN.values()}) == len(KNOWN)


def test_identity_comes_first() -> None:
    assert list(looks(["executorch", "tvm", "identity"])) == ["identity", "executorch", "tvm"]


def test_an_unknown_compiler_keeps_its_look_whatever_stands_beside_it() -> None:
    assert looks(["mine"])["mine"] == looks(["mine", "identity", "tvm"])["mine"]


def test_many_unknown_compilers_all_look_different() -> None:
    made = looks([*KNOWN, *(f"openvino:streams={number}" for number in range(30))])
    assert len(set(made.values())) == len(made)
