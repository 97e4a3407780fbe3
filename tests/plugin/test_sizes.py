"""Axes of one's own: in marks, options, ids, `-k` and messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.plugin.marks import cases, generate
from pytest_ngraph.session.options import Axis, Options
from pytest_ngraph.settings import Settings

FUNCTION = "nets:net"
SILENT: Axis[Any] = Axis(None, None)


def options(sizes: dict[str, Axis[int]] | None = None) -> Options:
    return Options(
        inventory=dict(BUILT_IN),
        devices=SILENT,
        compilers=SILENT,
        batch_sizes=SILENT,
        precisions=SILENT,
        objectives=SILENT,
        sizes=sizes or {},
        settings=Settings(),
        store=Path("store"),
        thresholds=(),
    )


def made(sizes: dict[str, Any], **axes: Axis[int]) -> list[Case]:
    given = {"workload": FUNCTION, "compiler": "identity", "sizes": sizes}
    return cases(given, options(sizes=axes))


def sizes_of(found: list[Case]) -> list[dict[str, int]]:
    return [dict(case.sizes) for case in found]


def test_every_combination_of_the_sizes_is_a_case() -> None:
    found = made({"seq_len": [128, 32], "image": (224, 384)})
    assert sizes_of(found) == [
        {"image": 224, "seq_len": 32},
        {"image": 224, "seq_len": 128},
        {"image": 384, "seq_len": 32},
        {"image": 384, "seq_len": 128},
    ]
    assert found[0].id == "nets:net-identity-b1-image=224,seq_len=32-cpu"


def test_a_number_alone_is_a_list_of_one() -> None:
    assert sizes_of(made({"seq_len": 32})) == [{"seq_len": 32}]


def test_the_command_line_narrows_the_sizes_of_the_mark() -> None:
    assert sizes_of(made({"seq_len": [32, 128]}, seq_len=Axis((128, 512), None))) == [{"seq_len": 128}]


def test_the_ini_file_does_not_narrow_the_mark() -> None:
    assert sizes_of(made({"seq_len": [32, 128]}, seq_len=Axis(None, (128,)))) == [{"seq_len": 32}, {"seq_len": 128}]


@pytest.mark.parametrize("axis", [Axis((64, 16), None), Axis(None, (64, 16))])
def test_where_the_mark_is_silent_the_options_decide(axis: Axis[int]) -> None:
    assert sizes_of(made({}, seq_len=axis)) == [{"seq_len": 16}, {"seq_len": 64}]


def test_options_give_no_size_to_what_takes_none() -> None:
    given = {"workload": ["conv", "resnet18"], "compiler": "identity"}
    assert sizes_of(cases(given, options(sizes={"seq_len": Axis((32,), None)}))) == [{}, {}]


def test_nothing_left_names_the_size() -> None:
    given = {"workload": FUNCTION, "compiler": "identity", "sizes": {"seq_len": [32]}}
    assert sizes_of(made({"seq_len": [32]}, seq_len=Axis((64,), None))) == []
    mark = pytest.mark.ngraph(**given).mark
    reason = generate([mark], options(sizes={"seq_len": Axis((64,), None)})).reason
    assert reason == "the mark allows seq_len 32, and --size seq_len=64 asks for others"


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"seq_len": 0}, "size seq_len 0 is not a whole number from 1 up"),
        ({"seq_len": []}, "seq_len is empty"),
        ({"seq-len": 3}, "size 'seq-len' is not a name such as 'seq_len'"),
        ({"2d": 3}, "size '2d' is not a name such as 'seq_len'. Use letters, digits, dots and underscores, beginning"),
        ({"batch": 3}, "size 'batch': an argument of the mark has that name. Give batch_size=..."),
        ([32], "sizes [32] is not a dict of axes and their sizes, such as {'seq_len': [32, 128]}"),
    ],
)
def test_sizes_that_cannot_be_read_are_refused_in_words(sizes: Any, said: str) -> None:
    with pytest.raises(UsageError, match=r".") as error:
        made(sizes)
    assert said in str(error.value)


@pytest.mark.parametrize("workload", ["resnet18", "conv"])
def test_a_size_that_the_workload_cannot_take_is_refused_at_collection(workload: str) -> None:
    with pytest.raises(UsageError) as error:
        cases({"workload": workload, "sizes": {"seq_len": 3}}, options())
    assert str(error.value) == (
        f"size seq_len=3: {workload} takes no sizes. Leave it out, or use a workload that has sizes of its own: "
        "package.module:function, hf:NAME, torchvision:NAME, or an ONNX file."
    )


@pytest.mark.parametrize("given", [{"shapes": {"x": (1, 2)}}, {"inputs": "data:inputs"}])
def test_shapes_and_inputs_are_for_onnx_files_only(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(given))}: nets:net takes no {next(iter(given))}"):
        cases({"workload": FUNCTION, "compiler": "identity", **given}, options())


PROJECT = """
import pytest

@pytest.mark.ngraph(workload="nets:net", compiler="identity", sizes={"seq_len": [12, 128]})
def test_net(measurement): ...
"""
OF_BLOCKS = """
import pytest

@pytest.mark.ngraph(workload="conv", compiler="identity")
def test_conv(measurement): ...
"""
WITH_ARGUMENTS = """
import pytest

ARGUMENTS = [{"width": 64}, {"width": 96, "dropout": 0.1}, {"kind": "wide"}]

@pytest.mark.ngraph(workload="nets:net", compiler="identity", batch_size=[1, 16], model_args=ARGUMENTS[0])
def test_a(measurement): ...

@pytest.mark.ngraph(workload="nets:net", compiler="identity", batch_size=[1, 16], model_args=ARGUMENTS[1])
def test_b(measurement): ...

@pytest.mark.ngraph(workload="nets:net", compiler="identity", batch_size=[1, 16], model_args=ARGUMENTS[2])
def test_c(measurement): ...
"""


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        ("seq_len=128", ["seq_len=128"]),
        ("seq_len=12", ["seq_len=12"]),
        ("not seq_len=12 and net", ["seq_len=128"]),
        ("seq_len=12 or seq_len=128", ["seq_len=12", "seq_len=128"]),
    ],
)
def test_k_selects_by_size(project: pytest.Pytester, expression: str, ids: list[str]) -> None:
    project.makepyfile(test_sizes=PROJECT)
    result = project.runpytest("test_sizes.py", "--collect-only", "-q", "-k", expression)
    result.stdout.fnmatch_lines([f"test_sizes.py::test_net[[]nets:net-identity-b1-{own}-cpu[]]" for own in ids])
    assert len([line for line in result.outlines if "::" in line]) == len(ids)


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("batch_size=1", 3),
        ("batch_size=16 and width=64", 1),
        ("width=96", 2),
        ("dropout=0.1", 2),
        ("kind=wide or batch_size=1", 4),
        ("size=1", 0),
        ("not out=0.1", 6),
    ],
)
def test_k_selects_exactly_by_batch_size_and_arguments_of_the_model(
    project: pytest.Pytester, expression: str, selected: int
) -> None:
    project.makepyfile(test_arguments=WITH_ARGUMENTS)
    result = project.runpytest("test_arguments.py", "--collect-only", "-q", "-k", expression)
    assert len([line for line in result.outlines if "::" in line]) == selected


@pytest.mark.parametrize("expression", ["seq_len=64", "seq_lenn=128"])
def test_k_that_selects_nothing_says_which_sizes_there_are(project: pytest.Pytester, expression: str) -> None:
    project.makepyfile(test_sizes=PROJECT)
    result = project.runpytest("test_sizes.py", "-k", expression)
    said = "ngraph: -k selects none of 2 cases. Their sizes: batch_size 1; seq_len 12, 128. *"
    result.stdout.fnmatch_lines([said])
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "selects none" not in project.runpytest("test_sizes.py", "--collect-only", "-k", "seq_len=12").stdout.str()


def test_size_on_the_command_line(project: pytest.Pytester) -> None:
    project.makepyfile(test_sizes=PROJECT)
    result = project.runpytest(
        "test_sizes.py", "--collect-only", "-q", "--size", "seq_len=128,7", "--size", "seq_len=9"
    )
    result.stdout.fnmatch_lines(["*[[]nets:net-identity-b1-seq_len=128-cpu[]]", "", "1 test collected*"])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("seq_len", "--size=seq_len: write an axis and its sizes, such as seq_len=32,128."),
        ("seq_len=x", "size seq_len 'x' is not a whole number from 1 up."),
        ("image=3", "--size image=3: no selected test has this size. Sizes that they have: none. Only functions*"),
    ],
)
def test_a_size_that_cannot_be_read_or_that_no_test_has_is_an_error(
    project: pytest.Pytester, option: str, said: str
) -> None:
    project.makepyfile(test_sizes=PROJECT if "seq_len" in option else OF_BLOCKS)
    result = project.runpytest("test_sizes.py", "--collect-only", "--size", option)
    result.stderr.fnmatch_lines([f"*{said}"])


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (["x"], "shapes ['x'] is not a dict of inputs and their shapes, such as {'x': ('batch', 3, 'height', 320)}"),
        ({"x": (1.5,)}, "shapes['x']=(1.5,) is not a tuple of whole numbers, 'batch' and names of sizes"),
        ({"x": ("batch", -1)}, "shapes['x'] has the axis -1. Give a whole number from 0 up"),
        ({"x": ("a b",)}, "size 'a b' is not a name such as 'seq_len'"),
    ],
)
def test_shapes_that_cannot_be_read_are_refused_in_words(shapes: Any, said: str) -> None:
    with pytest.raises(UsageError) as error:
        cases({"workload": "net.onnx", "compiler": "identity", "shapes": shapes}, options())
    assert said in str(error.value)


def test_shapes_and_inputs_are_part_of_a_case_and_of_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.onnx").touch()
    given = {"workload": "net.onnx", "compiler": "identity", "inputs": "data:real", "width": 320}
    (case,) = cases({**given, "shapes": {"x": ["batch", 3, "width"]}}, options())
    assert case.id == "net.onnx,x=batch:3:width,inputs=data:real-identity-b1-w320-cpu"
    assert case == Case.from_dict(json.loads(json.dumps(case.to_dict())))
    assert hash(case) == hash(Case.from_dict(case.to_dict()))


def test_the_ini_file_decides_where_mark_and_command_line_are_silent(project: pytest.Pytester) -> None:
    project.makepyfile(test_sizes=PROJECT.replace(', sizes={"seq_len": [12, 128]}', ""))
    ini = ("-o", "ngraph_size=seq_len=64,9 image=3")
    result = project.runpytest("test_sizes.py", "--collect-only", "-q", *ini)
    ids = ["image=3,seq_len=9", "image=3,seq_len=64"]
    result.stdout.fnmatch_lines([f"*[[]nets:net-identity-b1-{own}-cpu[]]" for own in ids])
    result = project.runpytest("test_sizes.py", "--collect-only", "-q", *ini, "--size", "seq_len=7")
    result.stdout.fnmatch_lines(["*[[]nets:net-identity-b1-image=3,seq_len=7-cpu[]]", "", "1 test collected*"])
