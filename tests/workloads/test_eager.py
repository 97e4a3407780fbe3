"""What eager PyTorch is asked before its outputs become the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import build
from pytest_ngraph.workloads.eager import eager_outputs
from pytest_ngraph.workloads.export import export

if TYPE_CHECKING:
    from pathlib import Path


def _case(function: str, module: str = "nets_with_state", **model_args: Scalar) -> Case:
    return Case(
        workload=f"{module}:{function}",
        compiler="identity",
        batch_size=2,
        model_args=tuple(model_args.items()),
    )


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("buffer", "it changes its buffer buffer in each call"),
        ("attribute", "each call with the same inputs returns other values in all of its outputs"),
        ("kept", "each call with the same inputs returns other values"),
    ],
)
def test_a_state_is_seen_wherever_it_is_kept(where: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"smoothed: {said}.* Let forward take"):
        export(_case("smoothed", where=where), tmp_path)


@pytest.mark.parametrize("where", ["numpy", "generator"])
def test_random_numbers_are_seen_wherever_they_come_from(where: str, tmp_path: Path) -> None:
    assert export(_case("draws_elsewhere", where=where), tmp_path).random == ("output[1]",)


def test_outputs_that_become_more_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it returns 1 tensor in a first call and 2 in a second one"):
        export(_case("growing"), tmp_path)


@pytest.mark.parametrize("how", ["appends", "adds"])
def test_an_object_that_each_call_changes_is_refused(how: str, tmp_path: Path) -> None:
    message = (
        r"attending: it changes cache\.layers\[0\]\['keys'\], which an object among its arguments holds, .* copies"
    )
    with pytest.raises(UsageError, match=message):
        export(_case("attending", how=how), tmp_path)


@pytest.mark.parametrize("how", ["writes the same", "fills once", "reads"])
def test_an_object_that_is_the_same_after_each_call_stays(how: str, tmp_path: Path) -> None:
    assert export(_case("attending", how=how), tmp_path).random == ()


@pytest.mark.parametrize(
    ("net", "how", "written", "state"),
    [
        ("writing", "counts", ("calls",), ()),
        ("writing", "fills once", (), ()),
        ("writing", "keeps what it has seen", (), ()),
        ("writing", "fills", ("padded",), ()),
        ("writing", "fills a part", ("padded",), ("padded",)),
        ("writing", "fills a part of an attribute", ("attribute",), ("attribute",)),
        ("writing", "indexes", ("calls",), ("calls",)),
        ("collecting", "averages the last three", (), ("window[1]",)),
        ("collecting", "adds the one before", (), ("by_name['last']",)),
        ("collecting", "only appends", (), ()),
        ("collecting", "fills once", (), ()),
        ("collecting", "fills a part", ("layers[0]['keys']",), ("layers[0]['keys']",)),
        ("collecting", "fills a part of an object", ("cache.layers[0]['keys']",), ("cache.layers[0]['keys']",)),
    ],
)
def test_what_each_call_writes_into_and_whether_outputs_depend_on_it(
    net: str, how: str, written: tuple[str, ...], state: tuple[str, ...], tmp_path: Path
) -> None:
    artifact = export(_case(net, how=how), tmp_path)
    assert (artifact.written, artifact.state) == (written, state)


def test_what_each_call_replaces_is_named(tmp_path: Path) -> None:
    artifact = export(_case("accumulating", where="list"), tmp_path)
    assert (artifact.assigned, artifact.written) == (tuple(f"parts[{index}]" for index in range(6)), ())


def test_lists_and_dicts_are_as_calls_left_them() -> None:
    case = _case("collecting", how="averages the last three")
    built = build(case)
    returned = eager_outputs(built, case).arrays[0]
    window: Any = built.module.window
    for kept in window:
        np.testing.assert_array_equal(kept.numpy(), returned)


@pytest.mark.parametrize("how", ["fills a part", "indexes"])
def test_what_a_module_keeps_is_as_its_calls_left_it(how: str, tmp_path: Path) -> None:
    case = _case("writing", how=how)
    built = build(case)
    eager_outputs(built, case)
    buffers = dict(built.module.named_buffers())
    assert buffers["calls"] == 0
    assert buffers["padded"].sum() == (120 if how == "fills a part" else 0)


@pytest.mark.parametrize("form", ["conjugate", "imaginary"])
def test_what_is_only_marked_as_a_conjugate_is_computed(form: str, tmp_path: Path) -> None:
    artifact = export(_case("spectrum", "nets_of_views", form=form), tmp_path)
    expected = np.conj(np.fft.rfft(artifact.inputs()[0]))
    np.testing.assert_allclose(artifact.reference()[0], expected if form == "conjugate" else expected.imag, atol=1e-5)


def test_an_output_that_has_no_array_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"its output \(float32, sparse_coo\) cannot be compared .* Let forward") as no:
        export(_case("spectrum", "nets_of_views", form="sparse"), tmp_path)
    assert "\n" not in str(no.value)


def test_what_was_made_in_inference_mode_is_an_ordinary_tensor(tmp_path: Path) -> None:
    artifact = export(_case("in_inference_mode", "nets_of_views"), tmp_path)
    assert artifact.export_error == ""
    assert artifact.reference()[0].shape == (2, 4)
