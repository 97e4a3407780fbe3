from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_ngraph.artifact import Array
from pytest_ngraph.case import Case
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.order import groups_of, in_order_of
from pytest_ngraph.workloads.verify import agreement, verify

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("output[0]['boxes']", "output[0]['scores']", "output[0]['labels']", "output[1]['boxes']")


def _detections(count: int = 50, seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    boxes = generator.uniform(0, 320, (count, 4)).astype(np.float32)
    scores = np.sort(generator.choice([0.9, 0.5, 0.1], count)).astype(np.float32)[::-1].copy()
    return [boxes, scores, generator.integers(0, 90, count), boxes[:7] * 2]


def _shuffled(detections: list[Array]) -> list[Array]:
    order = np.random.default_rng(1).permutation(len(detections[0]))
    return [array[order] for array in detections[:3]] + [detections[3][::-1]]


def test_rows_that_belong_together_move_together() -> None:
    reference = _detections()
    ordered = in_order_of(reference, _shuffled(reference), groups_of(reference, NAMES, NAMES))
    for found, expected in zip(ordered, reference, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_ties_in_another_order_agree_where_values_decide_the_size() -> None:
    reference = _detections()
    outputs = _shuffled([array + 1e-6 if array.dtype.kind == "f" else array for array in reference])
    assert verify(outputs, reference, "fp32", names=NAMES, data_dependent=NAMES).agrees
    assert not verify(outputs, reference, "fp32", names=NAMES).agrees


def test_only_outputs_whose_size_values_decide_are_compared_in_any_order() -> None:
    reference = _detections()
    outputs = [*reference[:3], reference[3][::-1]]
    assert verify(outputs, reference, "fp32", names=NAMES, data_dependent=NAMES[3:]).agrees
    found = verify(outputs, reference, "fp32", names=NAMES, data_dependent=NAMES[:3])
    assert found.problem.startswith(NAMES[3])


def test_a_row_that_is_wrong_is_found() -> None:
    reference = _detections()
    for index, wrong in enumerate((5.0, 0.05, 1)):
        outputs = _shuffled(reference)
        outputs[index] = outputs[index].copy()
        outputs[index][int(np.argmax(outputs[1]))] += wrong
        agreement = verify(outputs, reference, "fp32", names=NAMES, data_dependent=NAMES)
        assert agreement.problem.startswith(NAMES[index]), agreement


def test_where_all_scores_tie_only_the_scores_can_be_compared() -> None:
    reference, outputs = _detections(seed=1)[:3], _detections(seed=2)[:3]
    reference[1][:] = 1 / 91
    outputs[1][:] = 1 / 91 + 1e-9
    agreement = verify(outputs, reference, "fp32", names=NAMES[:3], data_dependent=NAMES)
    assert agreement.agrees
    assert agreement.undecided == f"{NAMES[0]}, {NAMES[2]}"
    outputs[1][3] += 0.01
    assert not verify(outputs, reference, "fp32", names=NAMES[:3], data_dependent=NAMES).agrees
    outputs[1][:] = 1 / 91 + 0.01
    found = verify(outputs, reference, "fp32", names=NAMES[:3], data_dependent=NAMES)
    assert found.problem.startswith(NAMES[1])


def test_rounding_may_decide_which_of_those_that_tie_with_the_last_are_kept() -> None:
    """Seen with a detector of random weights: of 300 rows, 29 were others."""
    every = _detections(count=64)
    reference, outputs = ([array[:50].copy() for array in every[:3]] for _ in range(2))
    for array, source in zip(outputs, every[:3], strict=True):
        array[45:] = source[50:55]
    names = NAMES[:3]
    assert every[1][45] == every[1][54] == reference[1].min(), "they tie"
    assert verify(outputs, reference, "fp32", names=names, data_dependent=names).agrees
    for array, source in zip(outputs, every[:3], strict=True):
        array[39:] = source[50:61]
    assert not verify(outputs, reference, "fp32", names=names, data_dependent=names).agrees, "too many to have compared"


def test_a_label_of_another_box_is_found() -> None:
    reference = _detections()
    outputs = [*reference]
    outputs[2] = np.roll(reference[2], 1)
    assert not verify(outputs, reference, "fp32", names=NAMES, data_dependent=NAMES).agrees


def test_another_number_of_rows_is_explained() -> None:
    reference = _detections()
    outputs = [array[:-1] for array in reference[:3]] + reference[3:]
    agreement = verify(outputs, reference, "fp32", names=NAMES, data_dependent=NAMES)
    assert agreement.problem.startswith("output[0]['boxes'] has 49 rows, but eager gives 50: values decide how many")
    plain = verify(outputs, reference, "fp32", names=NAMES)
    assert plain.problem == "output[0]['boxes'] has shape (49, 4), expected (50, 4)"


def test_values_that_are_no_number_stay_where_they_are() -> None:
    reference = [np.array([[1.0, np.nan], [2.0, 3.0], [4.0, -np.inf]])]
    assert verify([reference[0].copy()], reference, "fp32", names=["output"], data_dependent=["output"]).agrees


def test_boxes_that_are_as_many_as_the_samples_are_no_samples(tmp_path: Path) -> None:
    artifact = export(Case(workload="deciding:boxes", compiler="identity", batch_size=2), tmp_path)
    assert artifact.export_error
    assert artifact.data_dependent == artifact.output_names


def test_rows_that_are_samples_are_compared_in_their_order(tmp_path: Path) -> None:
    """Samples that are repeated have equal values, beside which rows would count as chosen by rounding."""
    artifact = export(Case(workload="deciding:policy", compiler="identity", batch_size=8), tmp_path)
    assert artifact.export_error
    value, logits = artifact.reference()
    assert agreement([value, logits], artifact, "fp32").agrees
    assert agreement([value, logits + 1], artifact, "fp32").problem.startswith("output['logits'] differs")
    samples = np.arange(80, dtype=np.float32).reshape(8, 10)
    found = agreement([value, samples[::-1]], artifact, "fp32", reference=[value, samples])
    assert found.problem.startswith("output['logits'] differs"), "samples have changed places"
