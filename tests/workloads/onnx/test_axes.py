"""Open axes of ONNX files: what is settled by the case and the graph, and what is asked for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.onnx import runtime
from pytest_ngraph.workloads.onnx.file import OnnxFile

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_models as models  # noqa: E402  # imports onnx


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def exported(model: Any, batch_size: int = 2, **given: Any) -> Artifact:
    onnx.save(model, "net.onnx")
    folder = Path("exported")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sizes, shapes = given.pop("sizes", {}), given.pop("shapes", {})
    case = Case(
        workload="net.onnx",
        compiler="identity",
        batch_size=batch_size,
        sizes=tuple(sorted(sizes.items())),
        shapes=tuple(sorted(shapes.items())),
        **given,
    )
    return OnnxFile().export(case, folder)


def shapes_of(model: Any, batch_size: int = 2, **given: Any) -> list[tuple[int, ...]]:
    return [array.shape for array in exported(model, batch_size, **given).inputs()]


def refusal(model: Any, batch_size: int = 2, **given: Any) -> str:
    with pytest.raises(UsageError) as refused:
        exported(model, batch_size, **given)
    message = str(refused.value)
    assert "\n" not in message
    return message


def test_axes_are_set_by_name_in_every_input() -> None:
    model = models.sums(ids=["batch", "sequence"], mask=["batch", "sequence"])
    assert shapes_of(model, sizes={"sequence": 5}) == [(2, 5), (2, 5)]


def test_axes_are_set_by_input_whether_they_have_names_or_not() -> None:
    model = models.sums(x=[None, 3, None, "?"])
    shape = {"x": ("batch", 3, "height", "width")}
    assert shapes_of(model, shapes=shape, sizes={"height": 48}, width=7) == [(2, 3, 48, 7)]


def test_the_batch_may_be_any_axis() -> None:
    model = models.sums(input=["batch", 4], state=[2, "batch", 8])
    assert shapes_of(model, batch_size=3) == [(3, 4), (2, 3, 8)]


def test_an_axis_that_says_batch_is_the_batch_wherever_it_is() -> None:
    """A recurrent network has the time first: (time, batch, features)."""
    model = models.sums(x=["time", "batch", 4], state=[1, "batch", 8])
    assert shapes_of(model, batch_size=3, sizes={"time": 6}) == [(6, 3, 4), (1, 3, 8)]
    assert "leaves open: axis 0 of 'x' (time)." in refusal(model, batch_size=3)


def test_inputs_without_a_batch_axis_stay_as_they_are() -> None:
    assert shapes_of(models.sums(x=["N", 4], rate=[], table=[5, 6]), batch_size=3) == [(3, 4), (), (5, 6)]


def test_of_several_names_on_first_axes_the_one_that_says_batch_is_the_batch() -> None:
    model = models.sums(x=["batch_size", 4], phonemes=["length"])
    assert shapes_of(model, sizes={"length": 9}) == [(2, 4), (9,)]
    assert "axis 0 of 'phonemes' (length)" in refusal(models.sums(x=["batch_size", 4], phonemes=["length"]))


def test_a_size_that_a_case_gives_is_not_the_batch() -> None:
    assert shapes_of(models.sums(x=["steps", 4]), batch_size=1, sizes={"steps": 9}) == [(9, 4)]


@pytest.mark.parametrize(
    ("operator", "axes", "weights", "attributes", "shape"),
    [
        ("Conv", ["N", None, 8, 8], (5, 3, 3, 3), {}, (2, 3, 8, 8)),
        ("Conv", ["N", None, 8, 8], (6, 1, 3, 3), {"group": 6}, (2, 6, 8, 8)),
        ("MatMul", ["N", 7, None], (4, 3), {}, (2, 7, 4)),
        ("Gemm", ["N", None], (3, 4), {"transB": 1}, (2, 4)),
    ],
)
def test_the_graph_derives_what_its_weights_demand(
    operator: str, axes: list[Any], weights: tuple[int, ...], attributes: dict[str, int], shape: tuple[int, ...]
) -> None:
    node = onnx.helper.make_node(operator, ["x", "w"], ["y"], **attributes)
    output = models.value("y", [None] * len(axes))
    model = models.model([node], [models.value("x", axes)], [output], w=models.weights(*weights))
    assert shapes_of(model) == [shape]


def test_all_open_axes_are_listed_with_the_line_to_write() -> None:
    model = models.sums(x=["batch", 3, None, "p2o.D.1"], ids=["batch", "sequence"], state=[2, None, 8])
    assert refusal(model) == (
        "net.onnx leaves open: axis 2 of 'x' (unnamed), axis 3 of 'x' (p2o.D.1), axis 1 of 'ids' (sequence), axis 1 of "
        "'state' (unnamed). Give their sizes in the mark, for example "
        'sizes={"sequence": 128}, shapes={"x": ("batch", 3, 224, 224), "state": (2, "batch", 8)}. '
        'Write "batch" for an axis that is the batch.'
    )


def test_the_line_of_the_message_settles_all_axes() -> None:
    model = models.sums(x=["batch", 3, None, "w"], ids=["batch", "sequence"], state=[2, None, 8])
    given: dict[str, Any] = {
        "shapes": {"x": ("batch", 3, 224, 224), "state": (2, "batch", 8)},
        "sizes": {"sequence": 128},
    }
    assert shapes_of(model, **given) == [(2, 3, 224, 224), (2, 128), (2, 2, 8)]


@pytest.mark.parametrize(
    ("axes", "said", "given"),
    [
        (["batch", 3, "h", "w"], 'width=224, sizes={"h": 224}.', {"width": 5}),
        (["batch", "d", "h", "width"], 'depth=128, width=224, sizes={"h": 224}.', {"depth": 3, "width": 5}),
        (["batch", 3, "h", "w"], "", {"shapes": {"x": ("batch", 3, 4, "width")}, "width": 5}),
        (["batch", 3, "device", 5], 'shapes={"x": ("batch", 3, 224, 5)}.', {"shapes": {"x": ("batch", 3, 4, 5)}}),
        (["batch", 3, "width", "w"], 'shapes={"x": ("batch", 3, 224, 224)}.', {"shapes": {"x": ("batch", 3, 4, 5)}}),
    ],
)
def test_an_axis_that_is_called_as_an_argument_is_set_by_what_the_mark_takes(
    axes: list[Any], said: str, given: dict[str, Any]
) -> None:
    """No size of a mark is called `w`, `d` or `device`."""
    model = models.sums(x=axes)
    assert f"for example {said}" in refusal(model)
    if "h" in axes and "shapes" not in given:
        given = {**given, "sizes": {"h": 4}}
    assert shapes_of(model, **given) == [(2, 3, 4, 5)]


def test_the_sizes_that_are_known_are_called_as_the_mark_calls_them() -> None:
    assert "unknown size of net.onnx 'height'. Known: h, width." in refusal(
        models.sums(x=["batch", 3, "h", "w"]), sizes={"height": 3}
    )


@pytest.mark.parametrize("axes", [[-1, 4], [0, 4]])
def test_minus_one_and_zero_are_open(axes: list[Any]) -> None:
    assert shapes_of(models.sums(x=axes)) == [(2, 4)]


@pytest.mark.parametrize(
    ("formula", "size"), [("past + 1", 5), ("past+length", 7), ("2*past - length", 5), ("past * length", 12)]
)
def test_an_axis_called_by_a_formula_is_computed_from_the_sizes_in_it(formula: str, size: int) -> None:
    """As the mask of a decoder with a cache, whichever input comes first."""
    model = models.sums(mask=["batch", formula], past=["batch", "past", 8], ids=["batch", "length"])
    assert shapes_of(model, sizes={"past": 4, "length": 3}) == [(2, size), (2, 4, 8), (2, 3)]


def test_a_formula_may_be_of_the_batch_and_is_it_where_its_names_are_not_known() -> None:
    assert shapes_of(models.sums(x=["batch*2", 8], y=["batch", 16]), batch_size=3) == [(6, 8), (3, 16)]
    marked = models.sums(x=["parts*2", 8], y=[5, "parts"])
    assert shapes_of(marked, batch_size=3, shapes={"y": (5, "batch")}) == [(6, 8), (5, 3)]
    assert shapes_of(models.sums(x=["N*2", 8]), batch_size=3) == [(3, 8)]


def test_the_names_in_formulas_are_asked_for() -> None:
    model = models.sums(mask=["batch", "past + length"], past=["batch", "past", 8])
    assert refusal(model) == (
        "net.onnx leaves open: axis 1 of 'mask' (past + length), axis 1 of 'past' (past). Give their sizes in the "
        'mark, for example sizes={"past": 128, "length": 128}.'
    )
    assert shapes_of(model, sizes={"past": 128, "length": 128}) == [(2, 256), (2, 128, 8)]
    model = models.sums(mask=["batch", "past + 1", None], past=["batch", "past", 8])
    assert 'sizes={"past": 128}, shapes={"mask": ("batch", 129, 128)}.' in refusal(model)
    given: dict[str, Any] = {"sizes": {"past": 128}, "shapes": {"mask": ("batch", 129, 128)}}
    assert shapes_of(model, **given) == [(2, 129, 128), (2, 128, 8)]


@pytest.mark.parametrize("odd", ["past/2", "past-1", "floor(past)", "4", "0", "past - 5"])
def test_what_is_no_formula_is_asked_for_as_it_is_written(odd: str) -> None:
    model = models.sums(past=["batch", "past"], mask=["batch", odd])
    said = f"leaves open: axis 1 of 'mask' ({odd}). Give their sizes in the mark, for example shapes="
    assert said in refusal(model, sizes={"past": 4})
    assert shapes_of(model, sizes={"past": 4}, shapes={"mask": ("batch", 3)}) == [(2, 4), (2, 3)]


@pytest.mark.parametrize("axis", ["past", None, -1])
def test_an_axis_may_have_the_size_zero(axis: models.Axis) -> None:
    """As the cache of a decoder's first step."""
    model = models.sums(cache=["batch", axis, 8], other=["batch", axis, 4])
    given = {"cache": ("batch", 0, 8), "other": ("batch", 0, 4)}
    assert shapes_of(model, shapes=given) == [(2, 0, 8), (2, 0, 4)]
    np.savez("net.npz", cache=np.zeros((1, 0, 8), np.float32), other=np.zeros((1, 0, 4), np.float32))
    assert shapes_of(model) == [(2, 0, 8), (2, 0, 4)]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sizes": {"seq": 3}}, "unknown size of net.onnx 'seq'. Known: N."),
        ({"sizes": {"seq": 3}}, 'name an axis by it: shapes={"x": ("batch", "seq")}'),
        ({"shapes": {"y": ("batch", 4)}}, "unknown input of net.onnx in shapes 'y'. Known: x."),
        ({"shapes": {"x": ("batch",)}}, "gives input 'x' 1 axes, and the file 2: (N, 4). Give one size for each axis"),
        ({"shapes": {"x": ("batch", 5)}}, "axis 1 of input 'x' is 4 in the file, and the case makes it 5. Give 4, or"),
        (
            {"shapes": {"x": ("batch", "seq")}},
            "calls axis 1 of input 'x' 'seq', and no size of that name is given. Write sizes=",
        ),
        ({"shapes": {"x": (7, 4)}}, "batch_size=2: no axis of net.onnx is the batch. Use batch_size=1, or mark"),
    ],
)
def test_sizes_and_shapes_that_do_not_fit_the_file_are_refused(given: dict[str, Any], said: str) -> None:
    assert said in refusal(models.sums(x=["N", 4]), **given)


def test_a_file_of_fixed_sizes_runs_at_its_own_batch_size_only() -> None:
    model = models.sums(x=[1, 576], state=[2, 1, 128])
    assert shapes_of(model, batch_size=1) == [(1, 576), (2, 1, 128)]
    assert "has batch size 1 fixed in input 'x', not 4. Use batch_size=1" in refusal(model, batch_size=4)


def test_a_recurrent_file_with_a_state_a_rate_and_a_branch() -> None:
    artifact = exported(models.recurrent(), sizes={"time": 6}, shapes={"state": (1, "batch", 8)})
    inputs = artifact.inputs()
    assert [array.shape for array in inputs] == [(2, 6, 4), (1, 2, 8), ()]
    assert inputs[2] == 16000
    assert artifact.drawn == {"sr": "16000 (the graph compares it with that)"}


def test_output_axes_of_the_same_name_are_set_too() -> None:
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    axes = ["N", "length"]
    artifact = exported(models.model([node], [models.value("x", axes)], [models.value("y", axes)]), sizes={"length": 3})
    assert artifact.onnx is not None
    (output,) = onnx.load(artifact.onnx).graph.output
    assert [axis.dim_value for axis in output.type.tensor_type.shape.dim] == [2, 3]


def test_shapes_of_the_outputs_that_the_file_has_wrong_do_not_keep_it_from_running() -> None:
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    model = models.model([node], [models.value("x", ["N", 4])], [models.value("y", [8, 4])])
    assert exported(model).reference()[0].shape == (2, 4)


def test_operators_of_onnx_runtimes_own_domain_run() -> None:
    node = onnx.helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    model = models.model([node], [models.value("x", ["N", "width"])], [models.value("y", ["N", "width"])])
    assert exported(model, sizes={"width": 5}).reference()[0].shape == (2, 5)


def test_a_loop_runs() -> None:
    step = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Identity", ["go"], ["go_on"]),
            onnx.helper.make_node("Add", ["sum", "x"], ["sum_next"]),
        ],
        "step",
        [models.value("i", [], models.INT64), models.value("go", [], models.BOOL), models.value("sum", None)],
        [models.value("go_on", [], models.BOOL), models.value("sum_next", None)],
    )
    del step.input[2].type.tensor_type.shape.dim[:]
    loop = onnx.helper.make_node("Loop", ["times", "yes", "x"], ["y"], body=step)
    axes = ["N", "length"]
    model = models.model(
        [loop], [models.value("x", axes)], [models.value("y", axes)], times=np.array(3), yes=np.array(True)
    )
    artifact = exported(model, sizes={"length": 5})
    np.testing.assert_allclose(artifact.reference()[0], 4 * artifact.inputs()[0], rtol=1e-5)


def test_a_graph_with_branches_that_does_not_load_at_fixed_sizes_keeps_its_axes_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        runtime, "refusal", lambda path, custom_ops, *, optimized: "a branch contradicts itself" if optimized else ""
    )
    artifact = exported(models.recurrent(), sizes={"time": 6}, shapes={"state": (1, "batch", 8)})
    assert artifact.onnx is not None
    first, state, _ = onnx.load(artifact.onnx).graph.input
    assert [axis.dim_param for axis in first.type.tensor_type.shape.dim] == ["batch", "time", ""]
    assert not state.type.tensor_type.shape.dim[1].HasField("dim_value")
    assert artifact.inputs()[0].shape == (2, 6, 4)
