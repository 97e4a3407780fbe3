from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from pytest_ngraph.report.study.figures.palette import KNOWN, in_order, looks


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


@pytest.mark.parametrize(("count", "least"), [(2, 100), (5, 60), (8, 30), (11, 20), (15, 15), (16, 10)])
def test_parts_that_follow_each_other_have_colours_that_look_different(count: int, least: float) -> None:
    """Two colours look different from some ten on, as CIE 1976 measures it."""
    colours = in_order(count)
    assert len(set(colours)) == count
    assert min(np.linalg.norm(_lab(one) - _lab(other)) for one, other in pairwise(colours)) > least


def _lab(colour: str) -> np.ndarray:
    """Return a colour's lightness, green to red, and blue to yellow, by CIE 1976."""
    light = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(light <= 0.04045, light / 12.92, ((light + 0.055) / 1.055) ** 2.4)
    rows = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(rows @ linear / [0.9505, 1.0, 1.0888])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
