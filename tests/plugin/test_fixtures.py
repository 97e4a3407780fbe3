"""What the fixtures give a test. Real workers, a small model."""

from __future__ import annotations

import json

import pytest

from pytest_ngraph import store

TWO = "--compiler=identity,mine:Exact"


def test_measured_recorded_and_replayed(project: pytest.Pytester) -> None:
    result = project.runpytest(TWO, "--benchmark-json=out.json")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*mine:network on cpu*"])
    run = store.read(project.path / ".ngraph")
    replayed = {
        entry["name"]: entry["stats"]["data"]
        for entry in json.loads((project.path / "out.json").read_text())["benchmarks"]
    }
    assert {f"test_throughput[{r.case.id}]": r.samples.tolist() for r in run.records} == replayed
    assert all(r.arms == ("identity", "mine:Exact") and len(r.rounds) >= 6 for r in run.records)
    assert len({(r.case.batch_size, r.cycles) for r in run.records}) == 2, "the arms of a group took turns"
    assert all(r.cycles for r in run.records)


def test_the_json_describes_the_case(project: pytest.Pytester) -> None:
    project.runpytest(TWO, "--benchmark-json=out.json", "-k", "Exact and b4")
    (entry,) = json.loads((project.path / "out.json").read_text())["benchmarks"]
    info = entry["extra_info"]
    assert (info["workload"], info["compiler"], info["batch_size"]) == ("mine:network", "mine:Exact", 4)
    assert info["throughput"] == 4 / entry["stats"]["median"]


def test_a_fixture_that_takes_the_measurement_is_told_why_there_is_none(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import pytest

        @pytest.fixture
        def speed(measurement):
            return measurement.throughput

        @pytest.mark.ngraph(workload="plain")
        def test_speed(speed):
            assert speed
        """
    )
    result = quick_project.runpytest("--compiler=mine:Exact,mine:Raises")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*mine:Raises raised in compile: ValueError: no such operator*"])
    result.stdout.no_fnmatch_line("*StatisticsError*")


def test_a_test_may_measure_by_itself(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="plain", compiler="mine:Exact", batch_size=4)
        def test_custom(benchmark, compiled_model):
            assert compiled_model.outputs()[0].shape == (4, 3)
            benchmark.pedantic(compiled_model, rounds=8)
        """
    )
    quick_project.runpytest().assert_outcomes(passed=1)
    (record,) = store.read(quick_project.path / ".ngraph").records
    assert len(record.rounds) == 8
    assert record.case.compiler == "mine:Exact"


def test_a_model_beside_pytest_is_found_from_tests_in_a_folder(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        nets_beside="""
        import torch

        def net():
            return torch.nn.Linear(4, 2), torch.ones(1, 4)
        """
    )
    quick_project.mkdir("more").joinpath("test_more.py").write_text(
        "import pytest\n"
        "@pytest.mark.ngraph(workload=['nets_beside:net', 'nowhere:net'], compiler='identity')\n"
        "def test_own(compiled_model): compiled_model()\n"
    )
    result = quick_project.runpytest("more")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*nowhere cannot be imported (ModuleNotFoundError: *must be importable from*"])
    result.stdout.no_fnmatch_line("*During handling*")
    result.stdout.no_fnmatch_line("*direct cause*")


def test_what_the_bench_measures_stands_beside_what_a_test_measures(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import pytest

        pytestmark = pytest.mark.ngraph(workload="plain", compiler="mine:Exact", batch_size=4)

        def test_custom(benchmark, compiled_model):
            benchmark.pedantic(compiled_model, rounds=1)

        def test_throughput(measurement):
            assert measurement.nodeid.startswith("test_it.py::test_throughput")
        """
    )
    quick_project.runpytest().assert_outcomes(passed=2)
    (record,) = store.read(quick_project.path / ".ngraph").records
    assert len(record.rounds) > 1


def test_a_measurement_that_no_signature_asks_for(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="plain", compiler="mine:Exact")
        def test_custom(ngraph_case, request):
            request.getfixturevalue("measurement")
        """
    )
    result = quick_project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*requests the fixture measurement at run time*Make measurement an argument of the test."]
    )


def test_tests_without_benchmarks_need_no_pytest_benchmark(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="def test_plain(): ...")
    project.runpytest_subprocess("-p", "no:benchmark").assert_outcomes(passed=1)


def test_a_fixture_names_its_compiler(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import numpy as np
        import pytest

        @pytest.mark.ngraph(workload="mine:network")
        def test_custom(identity_model, torchscript_model):
            (eager,), (scripted,) = identity_model.outputs(), torchscript_model.outputs()
            assert np.allclose(eager, scripted)
        """
    )
    project.runpytest().assert_outcomes(passed=1)


def test_a_fixture_without_the_mark(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="def test_plain(measurement): ...")
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*without its mark*@pytest.mark.ngraph(workload='resnet18')*"])


def test_benchmark_disable_runs_once_and_records_nothing(project: pytest.Pytester) -> None:
    project.runpytest(TWO, "--benchmark-disable").assert_outcomes(passed=4)
    assert not (project.path / ".ngraph").exists()
