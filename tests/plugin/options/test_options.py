from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.case import split_compilers
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate.rule import LOOKS
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.options import parse_batch_size
from pytest_ngraph.plugin.options.gate import FEWEST_LAUNCHES
from pytest_ngraph.session.options import Axis


def test_fewer_launches_than_a_regression_takes_are_refused() -> None:
    assert LOOKS[0] == FEWEST_LAUNCHES


@pytest.mark.parametrize(
    ("command_line", "ini", "mark", "expected"),
    [
        (None, None, None, (0,)),
        (None, (3,), None, (3,)),
        ((2,), (3,), None, (2,)),
        (None, (3,), (1, 2), (1, 2)),
        ((2, 9), (3,), (1, 2), (2,)),
        ((9,), None, (1, 2), ()),
    ],
)
def test_the_mark_decides_and_the_command_line_narrows(
    command_line: tuple[int, ...] | None,
    ini: tuple[int, ...] | None,
    mark: tuple[int, ...] | None,
    expected: tuple[int, ...],
) -> None:
    assert Axis(command_line, ini).values(mark, default=(0,)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("identity", ["identity"]),
        ("identity,openvino", ["identity", "openvino"]),
        ("identity,openvino:streams=2,device=CPU,tvm", ["identity", "openvino:streams=2,device=CPU", "tvm"]),
        ("mine:Exact,mine:Other:spin=1", ["mine:Exact", "mine:Other:spin=1"]),
    ],
)
def test_a_list_of_compilers_with_options(text: str, expected: list[str]) -> None:
    assert split_compilers(text) == expected


@pytest.mark.parametrize(
    ("ini", "typed", "expected"),
    [
        ("", "", "project/.ngraph"),
        ("ngraph_store = kept", "", "project/kept"),
        ("ngraph_store = kept", "--ngraph-store=here", "project/deep/here"),
        ("", "--ngraph-store=~/runs", "home/runs"),
        ("ngraph_store = ~/runs", "", "home/runs"),
    ],
)
def test_a_path_is_relative_to_where_it_is_written(
    ini: str, typed: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "project" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "project" / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    (deep / "conftest.py").write_text(
        """
from pytest_ngraph.plugin.assembly import SESSION

def pytest_report_header(config):
    return f"store is {config.stash[SESSION].options.store}"
"""
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    command = [sys.executable, "-m", "pytest", *([typed] if typed else [])]
    done = subprocess.run(command, cwd=deep, capture_output=True, text=True, check=False)
    assert f"store is {tmp_path / expected}\n" in done.stdout


def test_a_home_that_is_none_is_one_message(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ngraph-report=~nobody-of-this-name/report")
    result.stderr.fnmatch_lines(["*--ngraph-report=~nobody-of-this-name/report: there is no such home folder.*"])


@given(st.integers(1, 10**6))
def test_batch_sizes_are_read_as_numbers_and_as_text(size: int) -> None:
    assert parse_batch_size(size) == parse_batch_size(str(size)) == size


@given(st.integers(max_value=0) | st.booleans() | st.floats() | st.text(alphabet="abc-. ") | st.none())
def test_anything_else_is_no_batch_size(value: object) -> None:
    with pytest.raises(UsageError, match="is not a whole number from 1 up"):
        parse_batch_size(value)


def test_so_is_the_file_of_devices(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(pytester.mkdir("home")))
    (pytester.path / "home" / "devices.toml").write_text("[box]\nthreads = 1\n")
    pytester.makeini("[pytest]\nngraph_devices = ~/devices.toml\n")
    config = pytester.parseconfigure()
    assert "box" in config.stash[SESSION].options.inventory


@pytest.mark.parametrize("text", ["[1, 8]", '["1", "8"]', '"1, 8"', '"1,8"', '"1 8"'])
def test_an_axis_in_toml_is_a_list_or_one_text(pytester: pytest.Pytester, text: str) -> None:
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\nngraph_batch_size = {text}\n")
    assert pytester.parseconfigure().stash[SESSION].options.batch_sizes.ini == (1, 8)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('ngraph_compare = ["a", "b"]', '*a list is not allowed. Write it as one text: ngraph_compare = "a,b".'),
        ("ngraph_budget = [5]", 'ngraph_budget = [[]5]: *ngraph_budget = "5".'),
        ("ngraph_size = [32]", "--size=32: write an axis and its sizes, such as seq_len=32,128."),
        ("ngraph_fail_on = [5]", "*5*"),
    ],
)
def test_a_value_of_another_type_in_toml_ends_with_one_message(
    pytester: pytest.Pytester, line: str, message: str
) -> None:
    pytester.makepyprojecttoml(f"[tool.pytest.ini_options]\n{line}\n")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_the_help_shows_per_cents_as_people_write_them(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--help")
    printed = " ".join(result.stdout.str().split())
    assert "known within this share. Default: 1% (ini: ngraph_precision_target)" in printed
    assert "%%" not in printed


@pytest.mark.parametrize(
    ("ini", "typed", "tails", "seconds"),
    [
        ("", [], False, 1.0),
        ("", ["--ngraph-tails"], True, 1.0),
        ("", ["--ngraph-tails=0.5"], True, 0.5),
        ("ngraph_tails = 3", [], True, 3.0),
        ("ngraph_tails = 3", ["--ngraph-tails=4"], True, 4.0),
    ],
)
def test_single_calls_are_timed_for_so_many_seconds(
    pytester: pytest.Pytester, ini: str, typed: list[str], seconds: float, *, tails: bool
) -> None:
    pytester.makeini(f"[pytest]\n{ini}\n")
    options = pytester.parseconfigure(*typed).stash[SESSION].options
    assert (options.tails, options.settings.tails_s) == (tails, seconds)


def test_a_folder_is_no_number_of_seconds(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ngraph-tails", "benchmarks")
    result.stderr.fnmatch_lines(
        ["ERROR: --ngraph-tails=benchmarks: 'benchmarks' is not a number above 0. --ngraph-tails takes the next word *"]
    )


def test_a_goal_and_what_does_not_matter_to_it(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nngraph_goal = rank\nngraph_indifference = 1%\n")
    settings = pytester.parseconfigure("--ngraph-goal=best").stash[SESSION].options.settings
    assert (settings.goal, settings.indifference) == ("best", 0.01)


def test_a_threshold_of_a_compiler_that_nobody_has_would_never_fail(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ngraph-fail-on=speedup<1.2 if compiler=openvin")
    result.stderr.fnmatch_lines(
        ["ERROR: the threshold speedup<1.2 if compiler=openvin: unknown compiler 'openvin'. Did you mean 'openvino'? *"]
    )
    for pattern in ("open*", "mine:Exact", "openvino:streams=2"):
        assert pytester.runpytest(f"--ngraph-fail-on=speedup<1.2 if compiler={pattern}").ret == 5


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["--ngraph-goal=fastest"], "unknown --ngraph-goal 'fastest'*Known: best, precision, rank, threshold.*"),
        (
            ["--ngraph-goal=best", "--ngraph-calibrate"],
            "--ngraph-goal=best: in a run that is compared with a base, the verdicts decide when rounds end.*",
        ),
        (["--ngraph-goal=best", "--ngraph-indifference=2"], "--ngraph-indifference=2: '2' is not a share above 0*"),
        (
            ["--ngraph-goal=threshold", "--ngraph-scheduler=tcp://127.0.0.1:1"],
            "--ngraph-goal=threshold: devices of a cluster do not know the thresholds.*",
        ),
    ],
)
def test_a_goal_that_the_run_cannot_end_with(pytester: pytest.Pytester, typed: list[str], message: str) -> None:
    pytester.runpytest(*typed).stderr.fnmatch_lines([f"ERROR: {message}"])
