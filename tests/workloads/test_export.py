from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import plain
import pytest
import torch

from pytest_ngraph.artifact import Array, Artifact
from pytest_ngraph.case import PRECISIONS, Case, Precision, Scalar
from pytest_ngraph.errors import UsageError
from pytest_ngraph.record import Agreement
from pytest_ngraph.workloads import build
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

ODD_NETS = plain.USERS / "odd_nets.py"
MHA = Case(workload="mha", compiler="identity", batch_size=2, width=16)

EXPORT_IN_A_PROCESS = """
import json, sys
from pathlib import Path
from pytest_ngraph.case import Case
from pytest_ngraph.workloads.export import export
print(json.dumps(export(Case.from_dict(json.loads(sys.argv[1])), Path(sys.argv[2])).to_dict()))
"""


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nets_to_export.py").write_text(ODD_NETS.read_text())
    monkeypatch.syspath_prepend(tmp_path)


def _of_user(function: str, precision: Precision = "fp32", **model_args: Scalar) -> Case:
    return Case(
        workload=f"nets_to_export:{function}",
        compiler="identity",
        batch_size=2,
        precision=precision,
        model_args=tuple(model_args.items()),
    )


def test_the_reference_is_what_eager_gives(tmp_path: Path) -> None:
    artifact = export(MHA, tmp_path)
    built = build(MHA)
    with torch.inference_mode():
        expected = built.module(*built.inputs).numpy()
    assert np.array_equal(artifact.inputs()[0], built.inputs[0].numpy())
    assert np.array_equal(artifact.reference()[0], expected)
    assert artifact.model.parameters == 4 * (16 * 16 + 16)


@pytest.mark.slow
def test_two_processes_export_the_same(tmp_path: Path) -> None:
    case = Case(workload="conv", compiler="identity", batch_size=1, width=2)
    artifacts = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        command = [sys.executable, "-c", EXPORT_IN_A_PROCESS, json.dumps(case.to_dict()), str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        artifacts.append(Artifact.from_dict(json.loads(done.stdout)))
    first, second = artifacts
    assert first.digest == second.digest
    assert np.array_equal(first.inputs()[0], second.inputs()[0])
    assert np.array_equal(first.reference()[0], second.reference()[0])


@pytest.mark.parametrize("change", [{"depth": 2}, {"batch_size": 3}, {"precision": "bf16"}], ids=str)
def test_different_graphs_have_different_digests(change: dict[str, object], tmp_path: Path) -> None:
    changed = dataclasses.replace(MHA, **change)  # type: ignore[arg-type]
    digests = []
    for name, case in (("before", MHA), ("after", changed)):
        (tmp_path / name).mkdir()
        digests.append(export(case, tmp_path / name).digest)
    assert digests[0] != digests[1]


@pytest.mark.usefixtures("nets")
def test_different_weights_have_different_digests(tmp_path: Path) -> None:
    digests = []
    for number, factor in enumerate((1.0, 1.0, 2.0)):
        (tmp_path / str(number)).mkdir()
        digests.append(export(_of_user("scaled", factor=factor), tmp_path / str(number)).digest)
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.usefixtures("nets")
def test_weights_in_another_memory_layout_have_another_digest(tmp_path: Path) -> None:
    layouts = ("contiguous_format", "contiguous_format", "channels_last")
    digests = [export(_of_user("laid_out", layout=layout), tmp_path).digest for layout in layouts]
    assert digests[0] == digests[1] != digests[2]


def test_inputs_drawn_by_the_users_function_are_the_same_in_every_build(tmp_path: Path) -> None:
    digests = []
    for number, scale in enumerate((1.0, 1.0, 2.0)):
        folder = tmp_path / str(number)
        folder.mkdir()
        torch.rand(number + 1)  # the state of the user's generator differs
        artifact = export(_of_user("on_random_inputs", scale=scale), folder)
        digests.append((artifact.digest, artifact.inputs_digest))
    assert digests[0] == digests[1]
    assert digests[2][0] == digests[0][0]
    assert digests[2][1] != digests[0][1]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_inputs_and_reference_are_fp32_in_every_precision(precision: Precision, tmp_path: Path) -> None:
    for name in ("fp32", "lower"):
        (tmp_path / name).mkdir()
    full = export(MHA, tmp_path / "fp32")
    lower = export(dataclasses.replace(MHA, precision=precision), tmp_path / "lower")
    assert np.array_equal(lower.inputs()[0], full.inputs()[0])
    assert np.array_equal(lower.reference()[0], full.reference()[0])
    assert lower.reference()[0].dtype == np.float32


@pytest.mark.usefixtures("nets")
def test_nested_outputs_and_integer_inputs_keep_their_order_and_type(tmp_path: Path) -> None:
    artifact = export(_of_user("nested"), tmp_path)
    assert [array.dtype for array in artifact.inputs()] == [np.float32, np.int64]
    assert [array.tolist() for array in artifact.reference()] == [[[3] * 4, [4] * 4], [[1] * 4] * 2, [[2], [3]]]


@pytest.mark.usefixtures("nets")
def test_a_module_that_cannot_be_exported_still_has_a_reference(tmp_path: Path) -> None:
    artifact = export(_of_user("branches"), tmp_path)
    assert artifact.program is None
    assert artifact.export_error
    assert "\n" not in artifact.export_error
    assert re.search(r"\(.*nets_to_export\.py, line \d+, in forward\)$", artifact.export_error)
    assert not artifact.data_dependent, "its rows are the samples"
    assert len(artifact.digest) == 64
    assert artifact.reference()[0].shape == (2, 4)


@pytest.mark.usefixtures("nets")
def test_a_module_that_keeps_what_its_first_call_makes_can_be_exported(tmp_path: Path) -> None:
    artifact = export(_of_user("cached"), tmp_path)
    assert artifact.program
    assert artifact.reference()[0].tolist() == [[0, 1, 2, 3]] * 2


@pytest.mark.usefixtures("nets")
def test_outputs_whose_size_depends_on_values_are_known(tmp_path: Path) -> None:
    artifact = export(_of_user("positive"), tmp_path)
    assert artifact.program
    assert artifact.data_dependent == ("output",)
    beside = Case(workload="deciding:positive", compiler="identity", batch_size=2)
    assert export(beside, tmp_path).data_dependent == ("output['positive']",)
    (tmp_path / "other").mkdir()
    assert not export(MHA, tmp_path / "other").data_dependent


@pytest.mark.parametrize("function", ["repeated", "conditional"])
def test_what_values_decide_inside_of_a_program_is_known(function: str, tmp_path: Path) -> None:
    artifact = export(Case(workload=f"deciding:{function}", compiler="tvm", batch_size=1), tmp_path)
    assert (artifact.export_error, artifact.data_dependent, artifact.values_decide) == ("", (), True)


@pytest.mark.usefixtures("nets")
def test_a_scalar_keeps_its_shape(tmp_path: Path) -> None:
    assert export(_of_user("scalar"), tmp_path).inputs()[1].shape == ()


@pytest.mark.usefixtures("nets")
def test_a_state_of_more_than_tensors_has_a_digest_too(tmp_path: Path) -> None:
    artifact = export(_of_user("stateful"), tmp_path)
    assert artifact.export_error
    assert artifact.digest


@pytest.mark.usefixtures("nets")
@pytest.mark.parametrize("function", ["scripted", "frozen", "traced"])
def test_a_script_has_no_program_and_its_digest_depends_on_its_weights(function: str, tmp_path: Path) -> None:
    digests: list[str] = []
    for weight in (1.0, 1.0, 2.0):
        folder = tmp_path / str(len(digests))
        folder.mkdir()
        artifact = export(_of_user(function, weight=weight), folder)
        assert artifact.export_error.startswith("ValueError: Exporting a ScriptModule is not supported")
        digests.append(artifact.digest)
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.usefixtures("nets")
@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("own", "returns Own, which contains no tensor. Return a tensor"),
        (
            "overflows",
            r"output\[1\] of the reference has only NaN values, with which nothing can be verified. Give it weights",
        ),
        ("in_place", "changes its input x in place"),
        (
            "unknown_ids",
            r"input ids\['text'\] holds 10, but the table that it indexes, words\.weight, has 10 rows\. Give",
        ),
        ("negative_ids", r"input ids\['text'\] holds -1, but the table .* has 10 rows\. Give it ids from 0 to 9, or"),
        (
            "only_counting",
            "it changes its buffer calls in each call, and all of its outputs depend on it, so that",
        ),
        (
            "halves",
            r"module raises RuntimeError: .*nets_to_export\.py, line \d+, in forward\)\. It was called with x "
            r"\(2x4 float32\)\. All of it was put into fp32\. To leave it as it is, return pytest_ngraph\.Built\(",
        ),
        (
            "of_graph",
            r"with input1 \(2x4 float32\), input2 \(2x3 float32\)\. The first axis of its inputs was taken for the",
        ),
        ("only_sampled", "it draws random numbers in each call, and all of its outputs depend on them, so that none"),
    ],
)
def test_modules_that_cannot_be_compared_are_refused(function: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        export(_of_user(function), tmp_path)


@pytest.mark.usefixtures("nets")
def test_an_output_that_depends_on_a_state_of_the_module_is_compared_by_its_form(tmp_path: Path) -> None:
    assert export(_of_user("counting"), tmp_path).random == ("output[0]",)


@pytest.mark.usefixtures("nets")
def test_outputs_that_are_drawn_in_each_call_are_named_and_the_others_compared(tmp_path: Path) -> None:
    artifact = export(_of_user("sampled"), tmp_path)
    assert artifact.random == ("output['sample']",)
    sample, mean = artifact.reference()

    def agreement(*outputs: Array) -> Agreement:
        names = artifact.output_names
        return verify(outputs, artifact.reference(), "fp32", names=names, random=artifact.random)

    assert agreement(sample + 1, mean).agrees
    assert agreement(sample, mean + 1).problem.startswith("output['mean'] differs by")
    assert agreement(sample[:1], mean).problem == "output['sample'] has shape (1, 4), expected (2, 4)"


@pytest.mark.usefixtures("nets")
def test_a_branch_that_starts_at_zero_is_named(tmp_path: Path) -> None:
    """Its outputs would agree whatever the compiler makes of the branch."""
    (program := tmp_path / "program").mkdir()
    (eager := tmp_path / "eager").mkdir()
    assert export(_of_user("started"), program).hidden == ("scale",)
    assert set(export(_of_user("undecided"), eager).hidden) == {"scale", "unused"}, "no program shows what it uses"
    assert export(MHA, tmp_path).hidden == ()


@pytest.mark.usefixtures("nets")
def test_a_named_branch_travels_with_the_artifact(tmp_path: Path) -> None:
    artifact = export(_of_user("started"), tmp_path)
    assert Artifact.from_dict(json.loads(json.dumps(artifact.to_dict()))) == artifact


@pytest.mark.usefixtures("nets")
def test_torch_compile_is_undone() -> None:
    assert type(build(_of_user("compiled")).module) is torch.nn.Linear


@pytest.mark.usefixtures("nets")
def test_lower_precision_does_not_change_the_module_that_the_user_keeps(tmp_path: Path) -> None:
    case = _of_user("kept", "bf16")
    export(case, tmp_path)
    assert build(case).module.get_parameter("weight").dtype is torch.float32


@pytest.mark.usefixtures("nets")
def test_what_only_the_strict_mode_exports_is_exported(tmp_path: Path) -> None:
    artifact = export(_of_user("clipped"), tmp_path)
    assert (artifact.export_error, artifact.program) == ("", tmp_path / "program.pt2")


@pytest.mark.usefixtures("nets")
def test_halves_that_the_module_computes_in_are_known(tmp_path: Path) -> None:
    assert export(_of_user("autocast"), tmp_path).precisions == ("bf16", "fp32")
