"""Follow the pages that lead from nothing to a result, step by step, with less to measure."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import follow
import plain
import pytest
from pages import ROOT, blocks

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Follow = Callable[..., list[follow.Ran]]
LITTLE = ("--batch-size=1", "--ngraph-budget=0.05")


@pytest.fixture
def following(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Follow:
    """Follow a page with these options for pytest; returns the commands that measure, test or report."""

    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # the sessions of a page are no workers of pytest-xdist

    def following(page: str, *options: str) -> list[follow.Ran]:
        monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(options))
        ran = follow.run((ROOT / "docs" / page).read_text(), tmp_path)
        return [each for each in ran if "pytest" in each.command]

    return following


@pytest.fixture
def following_here(
    following: Follow, brief: None, forked_workers: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Follow:
    """The same for pages whose only commands are runs of pytest: they run in this process, with forked workers."""

    def output(command: str, project: Path, wanted: int) -> str:
        program, *arguments = shlex.split(command)
        assert program == "pytest"
        monkeypatch.chdir(project)
        with plain.importable(project):
            ran = pytester.runpytest_inprocess(*arguments)
        if ran.ret != wanted:
            raise follow.PageFails(f"{command}ended with {ran.ret}, not with {wanted}:\n{ran.stdout}")
        return str(ran.stdout)

    def following_here(page: str, *options: str) -> list[follow.Ran]:
        return following(page, plain.WITHOUT_PLUGINS, *options)

    monkeypatch.setattr(follow, "_output", output)
    return following_here


@pytest.mark.slow
def test_from_a_model_of_ones_own_to_its_first_gate(following: Follow) -> None:
    options = ("--batch-size=1", "--ngraph-budget=0.3", "-k 'not torchscript'")
    collected, measured, gated, bounded = following("tutorial.md", *options)
    assert "2/3 tests collected" in collected.output
    assert "2 passed" in measured.output
    assert "benchmarks/test_nets.py::test_small[nets:small-identity-b1-cpu] - Failed: regressed" in gated.output
    assert "1 failed, 1 passed" in bounded.output


@pytest.mark.slow
def test_from_a_slow_branch_to_its_commit(following: Follow) -> None:
    (found,) = following("bisect.md", "--ngraph-budget=0.3")
    assert "A. User <user@example.org>: Widen the layers made 1 case slower:" in found.output


@pytest.mark.slow
def test_from_a_slow_layer_to_another_width(following: Follow) -> None:
    measured, probed = following("widths.md", *LITTLE)
    assert "2 passed" in measured.output
    assert re.search(r"1\.0, 2\.0: conv2d, \d+ % of a call; 66 channels", probed.output)


def test_a_compiler_of_ones_own(following_here: Follow, tmp_path: Path) -> None:
    (first,) = following_here("add-a-compiler.md", *LITTLE)
    assert "test_conv[conv-mine:Traced:freeze=false-b1-d2-w16-cpu]" in first.output
    assert "3 passed" in first.output

    (registration,) = [block.text for block in blocks("toml") if block.page == "docs/add-a-compiler.md"]
    entry_points = tomllib.loads(registration)["project"]["entry-points"]["pytest_ngraph.compilers"]
    (information := tmp_path / "installed" / "mine-1.dist-info").mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    lines = ["[pytest_ngraph.compilers]", *(f"{name} = {place}" for name, place in entry_points.items())]
    (information / "entry_points.txt").write_text("\n".join(lines))
    (tmp_path / "again").mkdir()
    with plain.importable(tmp_path / "project"), plain.importable(information.parent):
        (named,) = follow.run("```sh\npytest ../../project --compiler=traced\n```\n", tmp_path / "again")
    assert "test_conv[conv-traced-b1-d2-w16-cpu]" in named.output
    assert "1 passed" in named.output


def test_a_metric_of_ones_own(following_here: Follow) -> None:
    (measured,) = following_here("add-a-metric.md", *LITTLE)
    assert "mine.throughput_per_cpu" in measured.output
    assert "1 failed, 1 passed" in measured.output


@pytest.mark.slow
def test_from_a_sweep_to_a_folder_that_serves(following: Follow, tmp_path: Path) -> None:
    measured, deployed, best = following("deploy.md", "--ngraph-budget=0.05", "-k 'not torchscript'")
    assert "2 passed" in measured.output
    assert "outputs agree with the reference" in deployed.output
    assert (tmp_path / "project" / "service" / "optimized.onnx").exists()
    assert best.output.splitlines()[-1] in ("nets_small-identity-b1-cpu", "nets_small-onnxruntime-b1-cpu")


@pytest.mark.slow
def test_where_the_time_goes(following: Follow) -> None:
    measured, compared, alone, kept = following("explain.md", "--ngraph-budget=0.05")
    assert "2 passed" in measured.output
    assert "2 passed" in kept.output
    assert "only openvino fuses conv2d+batch_norm+relu (9), conv2d+batch_norm+add+relu (8)" in compared.output
    assert "outside of kernels" in alone.output


@pytest.mark.slow
def test_an_onnx_file(following: Follow) -> None:
    (measured,) = following("onnx-files.md", *LITTLE)
    assert "3 passed" in measured.output


@pytest.mark.slow
def test_models_of_ones_own(following: Follow) -> None:
    (measured,) = following("your-own-model.md", *LITTLE, "-k 'not inductor'")
    assert "25 passed, 3 skipped" in measured.output
    assert re.search(r"torch\.export refuses early:network: .*\(early\.py, line 12, in forward\)", measured.output)


@pytest.mark.slow
def test_a_report_answers_its_questions(following: Follow, tmp_path: Path) -> None:
    measured, *answers = following("reading-the-report.md", "--ngraph-budget=0.05", "-k 'conv and not torchscript'")
    assert "8 passed" in measured.output
    assert (tmp_path / "project" / "report" / "index.html").exists()
    assert [answer.command.split()[-1] for answer in answers] == ["deploy", "break_even", "friction", "depth_conv"]
    assert all("onnxruntime" in answer.output for answer in answers)
