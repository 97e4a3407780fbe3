"""The plugin as its users see it: ids, selection, verdicts, messages. Real workers, a small model."""

from __future__ import annotations

import json
import sys

import pytest

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.record import Record
from pytest_ngraph.session.session import Session

TWO = "--compiler=identity,mine:Exact"


def test_ids_say_what_a_test_is(project: pytest.Pytester) -> None:
    result = project.runpytest("--collect-only", "-q", TWO, "--device=xeon")
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_throughput[[]mine:network-identity-b1-xeon[]]",
            "test_it.py::test_throughput[[]mine:network-mine:Exact-b1-xeon[]]",
            "test_it.py::test_throughput[[]mine:network-identity-b4-xeon[]]",
            "test_it.py::test_throughput[[]mine:network-mine:Exact-b4-xeon[]]",
        ]
    )


def test_blocks_are_selected_by_depth(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload=["conv", "mha"], depth=range(1, 4), width=[64], compiler="identity")
        def test_depth(measurement): ...
        """
    )
    result = project.runpytest("--collect-only", "-q", "-k", "conv and d3")
    result.stdout.fnmatch_lines(["*::test_depth[[]conv-identity-b1-d3-w64-cpu[]]", "", "1/6 tests collected*"])


def test_collecting_imports_nothing_that_only_a_test_needs(project: pytest.Pytester) -> None:
    project.makepyfile(
        collecting="""
        import sys, pytest
        assert pytest.main(["--collect-only", "-qq"]) == 0
        slow = {"numpy", "torch", "timm", "onnxruntime", "openvino", "psutil", "ctypes"}
        print(sorted({*slow, "pytest_ngraph.record", "pytest_ngraph.store"} & {*sys.modules}))
        """
    )
    result = project.run(sys.executable, "collecting.py")
    result.stdout.fnmatch_lines(["test_it.py: *", "[[]]"])


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


@pytest.mark.parametrize("place", ["", "1"], ids=["desk", "ci"])
def test_a_model_that_cannot_be_run_is_told_of_once(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """pytest repeats the whole of each failure's message at the end of a run in CI."""
    monkeypatch.setenv("CI", place)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    project.makepyfile(
        nets="""
        def small():
            import torch

            return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 3))
        """,
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="nets:small", batch_size=[1, 4])
        def test_small(measurement): ...
        """,
    )
    result = project.runpytest(TWO)
    result.assert_outcomes(failed=4)
    printed = result.stdout.str()
    whole = "cannot be multiplied (1x150528 and 48x3). A function that returns a module alone"
    assert printed.count(whole) == (4 if place else 2)
    assert [printed.count("Traceback (most recent call last)"), printed.count("worker.py")] == [2, 0]
    assert "Captured stderr of the worker" in printed
    assert printed.count("as of nets:small-identity-b1-cpu") == 1
    assert "Benchmark fixture was not used" not in printed
    result.stdout.fnmatch_lines(
        ["Absent", "  friction of nets:small-identity-cpu; friction_mitigation of", "*failed in build"]
    )


def test_the_json_describes_the_case(project: pytest.Pytester) -> None:
    project.runpytest(TWO, "--benchmark-json=out.json", "-k", "Exact and b4")
    (entry,) = json.loads((project.path / "out.json").read_text())["benchmarks"]
    info = entry["extra_info"]
    assert (info["workload"], info["compiler"], info["batch_size"]) == ("mine:network", "mine:Exact", 4)
    assert info["throughput"] == 4 / entry["stats"]["median"]


def test_what_marks_skip_is_not_measured_beside_the_others(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest
        from pytest_ngraph.plugin.fixtures import SESSION

        SKIP = (
            pytest.mark.skip(),
            pytest.mark.skipif(True, reason="it burns"),
            pytest.mark.skipif("no condition"),
            pytest.mark.xfail(run=False),
        )

        def pytest_collection_modifyitems(items):
            for item, mark in zip(items, SKIP):
                item.add_marker(mark)

        @pytest.hookimpl(trylast=True)
        def pytest_collection_finish(session):
            print("planned:", [case.batch_size for case in session.config.stash[SESSION].unmeasured])
            pytest.exit("enough")
        """
    )
    test = project.path / "test_it.py"
    test.write_text(test.read_text().replace("[1, 4]", "[1, 2, 4, 8, 16]"))
    result = project.runpytest("--compiler=mine:Exact")
    result.stdout.fnmatch_lines(["planned: [[]16[]]"])


def test_each_fault_fails_its_own_test_only(project: pytest.Pytester) -> None:
    chosen = ",".join(["identity", "mine:Exact", "mine:Raises", "mine:Segfaults", "mine:NotANumber", "mine:Misshapen"])
    result = project.runpytest(f"--compiler={chosen}", "--batch-size=4")
    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(
        [
            "mine:Raises raised in compile: ValueError: no such operator",
            "mine:Segfaults crashed in compile: crashed with SIGSEGV",
            "about to crash",
            "mine:NotANumber disagreed in verify: *NaN*",
            "mine:Misshapen disagreed in verify: *shape*",
        ]
    )


def test_a_missing_library_skips_with_the_command(project: pytest.Pytester) -> None:
    result = project.runpytest("--compiler=mine:Absent", "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*no_such_library, which is not installed: pip install no_such_library*"])


def test_the_command_line_narrows_the_mark(project: pytest.Pytester) -> None:
    result = project.runpytest(TWO, "--collect-only", "-q", "--batch-size=4,64")
    assert "b1-" not in result.stdout.str()
    assert "b64-" not in result.stdout.str()
    assert "b4-" in result.stdout.str()


def test_nothing_left_skips_with_the_reason(project: pytest.Pytester) -> None:
    result = project.runpytest(TWO, "--batch-size=64", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*the mark allows batch_size 1, 4, and --batch-size=64 asks for others*"])


def test_a_compiler_that_a_fixture_names_is_the_tests_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="mine:network")
        def test_one(torchscript_model): ...

        @pytest.mark.ngraph(workload="mine:network")
        def test_both(tensorrt_model, identity_model): ...
        """
    )
    result = project.runpytest("--compiler=identity", "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(
        [
            "*the mark allows compiler torchscript, and --compiler=identity asks for others*",
            "*tensorrt does not compile for cpu, only for cuda*",
        ]
    )


def test_a_device_that_is_not_here_skips(project: pytest.Pytester) -> None:
    result = project.runpytest("--compiler=identity", "--device=orin", "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*device orin*"])


def test_an_objective_that_a_compiler_lacks_skips(project: pytest.Pytester) -> None:
    result = project.runpytest("--compiler=mine:Exact", "--objective=throughput", "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*mine:Exact is measured for latency only*"])


def test_a_breached_threshold_fails_its_test(project: pytest.Pytester) -> None:
    result = project.runpytest(TWO, "--ngraph-fail-on=latency_s>0.0001 if compiler=mine:Exact")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["latency_s>0.0001*breached*mine:network-mine:Exact-b1-cpu*"])


def test_a_mark_gates_its_own_cases(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="plain", batch_size=[1, 4])
        @pytest.mark.ngraph_gate("throughput<1e9")
        def test_gated(measurement): ...

        @pytest.mark.ngraph(workload="plain", batch_size=2)
        def test_free(measurement): ...
        """
    )
    result = quick_project.runpytest_subprocess("--compiler=mine:Exact")
    result.assert_outcomes(passed=1, failed=2)


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("ngraph_gate('friction>0.8')", "*friction spans several cases*--ngraph-fail-on 'friction>0.8'."),
        ("ngraph_gate(threshold='speedup<1')", "*ngraph_gate(threshold=...): thresholds are given without a name*"),
        ("requires_device('cuda')", "*requires_device('cuda'): say what of*"),
        ("requires_device(kind='tpu')", "*test_it.py::test_one*tpu*"),
    ],
)
def test_a_mark_that_would_do_nothing_is_refused(project: pytest.Pytester, mark: str, message: str) -> None:
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.ngraph(workload="mine:network")
        @pytest.mark.{mark}
        def test_one(measurement): ...
        """
    )
    result = project.runpytest("--compiler=mine:Exact")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_what_a_device_must_have_is_read_before_any_test_runs(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="plain")
        @pytest.mark.requires_device(kid="cuda")
        def test_custom(benchmark, compiled_model): ...
        """
    )
    result = quick_project.runpytest_subprocess("--compiler=mine:Exact", "--collect-only")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *unknown argument of requires_device 'kid'. Did you mean 'kind'?*"])


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
    result = quick_project.runpytest_subprocess("--compiler=mine:Exact,mine:Raises")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*mine:Raises raised in compile: ValueError: no such operator*"])
    result.stdout.no_fnmatch_line("*StatisticsError*")


def test_a_mark_gates_its_own_test(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="plain")
        def test_free(measurement): ...

        @pytest.mark.ngraph(workload="plain")
        @pytest.mark.ngraph_gate("throughput<1e9")
        def test_gated(measurement): ...

        @pytest.mark.skip
        @pytest.mark.ngraph(workload="plain")
        @pytest.mark.ngraph_gate("throughput<1e8")
        def test_skipped(measurement): ...
        """
    )
    result = quick_project.runpytest_subprocess("--compiler=mine:Exact")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_gated*"])
    assert "1e+08" not in result.stdout.str()


def test_a_threshold_on_many_cases_fails_the_session(project: pytest.Pytester) -> None:
    result = project.runpytest(TWO, "--ngraph-fail-on=friction>-50")
    result.assert_outcomes(passed=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*friction>-50*breached*"])


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
    quick_project.runpytest_subprocess().assert_outcomes(passed=1)
    (record,) = store.read(quick_project.path / ".ngraph").records
    assert len(record.rounds) == 8
    assert record.case.compiler == "mine:Exact"


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
    quick_project.runpytest_subprocess().assert_outcomes(passed=2)
    (record,) = store.read(quick_project.path / ".ngraph").records
    assert len(record.rounds) > 1


def test_what_a_test_has_measured_and_cannot_be_stored_fails_it(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import shutil
        from pathlib import Path

        import pytest

        @pytest.mark.ngraph(workload="plain", compiler="mine:Exact")
        def test_custom(benchmark, compiled_model):
            benchmark.pedantic(compiled_model, rounds=2)
            shutil.rmtree(".ngraph")
            Path(".ngraph").touch()
        """
    )
    result = quick_project.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["cannot write to the store *. Give a folder that can be written: --ngraph-store=DIR."])


def test_a_measurement_that_no_signature_asks_for(quick_project: pytest.Pytester) -> None:
    quick_project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="plain", compiler="mine:Exact")
        def test_custom(ngraph_case, request):
            request.getfixturevalue("measurement")
        """
    )
    result = quick_project.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*asks for measurement while it runs*take it as an argument of the test."])


def test_what_keeps_a_case_from_being_measured_is_one_message(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(session: Session, case: Case) -> Record:
        raise NgraphError("main cannot be checked out. fatal: no space left")

    monkeypatch.setattr(Session, "record_of", refused)
    result = project.runpytest("--compiler=mine:Exact", "--batch-size=4")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["main cannot be checked out. fatal: no space left"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*def refused*")


def test_a_run_that_was_cut_short_is_no_baseline(quick_project: pytest.Pytester) -> None:
    exact = "--compiler=mine:Exact"
    result = quick_project.runpytest_subprocess(exact, "--ngraph-save=v1", "--ngraph-max-seconds=0.000001")
    result.assert_outcomes(skipped=2)
    quick_project.runpytest_subprocess(exact, "--ngraph-save=v1").assert_outcomes(passed=2)
    result = quick_project.runpytest_subprocess(exact, "--ngraph-compare=v1", "--ngraph-max-seconds=0.000001")
    assert result.ret == pytest.ExitCode.OK, "what was not begun is not missing"
    assert len(list((quick_project.path / ".ngraph" / "baselines" / "v1").glob("*.jsonl"))) == 1


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
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_fixture_without_the_mark(project: pytest.Pytester) -> None:
    project.makepyfile(test_it="def test_plain(measurement): ...")
    result = project.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*without its mark*@pytest.mark.ngraph(workload='resnet18')*"])


def test_benchmark_disable_runs_once_and_records_nothing(project: pytest.Pytester) -> None:
    project.runpytest(TWO, "--benchmark-disable").assert_outcomes(passed=4)
    assert not (project.path / ".ngraph").exists()


def test_workers_stay_where_the_session_began_wherever_a_test_goes(project: pytest.Pytester) -> None:
    project.makepyfile(
        nets="""
        from pathlib import Path

        from mine import network

        def built(batch_size):
            assert Path("nets.py").exists(), Path.cwd()
            return network(batch_size)
        """,
        test_it="""
        import pytest

        @pytest.fixture(autouse=True)
        def elsewhere(tmp_path, monkeypatch):
            monkeypatch.chdir(tmp_path)

        @pytest.mark.ngraph(workload="nets:built", compiler="identity")
        def test_throughput(elsewhere, measurement):
            pass
        """,
    )
    project.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_user_without_a_home_can_run_tests(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    project.makeini("[pytest]\n")
    project.makepyfile(test_it="def test_nothing(): pass")
    project.runpytest_inprocess().assert_outcomes(passed=1)


def test_the_mark_of_a_class_overrides_that_of_its_base(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="plain", compiler="mine:Exact", batch_size=[1, 2])
        class Base:
            def test_throughput(self, measurement):
                pass

        @pytest.mark.ngraph(batch_size=4)
        class TestNearer(Base):
            pass

        class TestInherited(Base):
            pass
        """
    )
    result = project.runpytest("--collect-only", "-q")
    result.stdout.fnmatch_lines(
        [
            "*TestNearer::test_throughput?plain-mine:Exact-b4-cpu?",
            "*TestInherited::test_throughput?plain-mine:Exact-b1-cpu?",
            "*TestInherited::test_throughput?plain-mine:Exact-b2-cpu?",
            "3 tests collected*",
        ]
    )


def test_xdist_is_refused_by_the_tests_that_measure(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    result = project.runpytest("-n", "2", TWO)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*cannot run under pytest-xdist*without -n*"])


def test_under_xdist_a_mark_that_cannot_be_read_is_an_error_of_its_module(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="mine:network", batch_size=0)
        def test_throughput(measurement):
            pass
        """
    )
    result = project.runpytest("-n", "2")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*batch size 0 is not a whole number from 1 up.*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_exit_first_stops_after_the_failure(quick_project: pytest.Pytester) -> None:
    result = quick_project.runpytest_subprocess("--compiler=mine:Raises,mine:Exact", "-x")
    result.assert_outcomes(failed=1)


def test_last_failed_runs_only_what_failed(quick_project: pytest.Pytester) -> None:
    quick_project.runpytest_subprocess("--compiler=mine:Raises,mine:Exact").assert_outcomes(failed=2, passed=2)
    quick_project.runpytest_subprocess("--compiler=mine:Raises,mine:Exact", "--lf").assert_outcomes(failed=2)


def test_hooks_see_records_and_add_metrics(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(
        """
        from pytest_ngraph.metrics import Metric

        def pytest_ngraph_record(record):
            print("SEEN", record.case.id)

        def pytest_ngraph_metrics(records):
            assert all(r.throughput for r in records if r.outcome == "measured")
            return []
        """
    )
    result = quick_project.runpytest_subprocess("--compiler=mine:Exact", "-s")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*SEEN plain-mine:Exact-b1-cpu*"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device=xeno"], "unknown device 'xeno'. Did you mean 'xeon'? Known: cpu, gpu, orin, xeon.*ngraph_devices*"),
        (["--compiler=openvivo"], "unknown compiler 'openvivo'. Did you mean 'openvino'? Known: *identity*"),
        (["--compiler=mine:Nothing"], "test_it.py::test_throughput: compiler 'mine:Nothing' cannot be imported: *"),
        (["--compiler=openvino:strems=2"], "unknown option of compiler openvino 'strems'. Did you mean 'streams'?*"),
        (["--compiler=openvino:streams=two"], "openvino:streams=two: 'two' is not allowed. Allowed: a whole number*"),
        (["--batch-size=0"], "batch size '0' is not a whole number from 1 up."),
        (["--batch-size=-4"], "batch size '-4' is not a whole number from 1 up."),
        (["--batch-size=many"], "batch size 'many' is not a whole number from 1 up."),
        (["--precision=fp64"], "unknown precision 'fp64'*Known: bf16, fp16, fp32."),
        (["--objective=speed"], "unknown objective 'speed'*Known: latency, throughput."),
        (["--ngraph-budget=none"], "--ngraph-budget=none: 'none' is not a number above 0."),
        (["--ngraph-level=5"], "--ngraph-level=5: '5' is not a share above 0 and below 1. Write it as 5% or 0.05."),
        (["--ngraph-margin=100%"], "--ngraph-margin=100%: '100%' is not a share above 0 and below 1. Write it as *"),
        (["--ngraph-memory=lots"], "'lots' is not a size. Write it as 8GiB, 512MiB or 1.5GB."),
        (["--ngraph-isolation=box"], "unknown --ngraph-isolation 'box'*Known: case, compiler."),
        (["--ngraph-against="], "--ngraph-against=: nothing is named. Give a value (is a variable unset?), or *"),
        (["--ngraph-against-python= "], "--ngraph-against-python= : nothing is named. *"),
        (["--ngraph-compare=,"], "--ngraph-compare=,: nothing is named. *"),
        (["--ngraph-save="], "--ngraph-save=: nothing is named. *"),
        (["--ngraph-fail-on=speed<1"], "*speed*"),
        (["--ngraph-store=/dev/null/x"], "cannot write to the store /dev/null/x: Not a directory. Give a folder*"),
        (["-o", "ngraph_devices=none.toml"], "cannot read *none.toml*"),
    ],
)
def test_bad_options_end_with_one_message(project: pytest.Pytester, arguments: list[str], message: str) -> None:
    result = project.runpytest(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_an_empty_value_in_the_ini_file_is_not_set(project: pytest.Pytester) -> None:
    names = [f"ngraph_{name}=" for name in ("against", "against_python", "compare", "save")]
    result = project.runpytest("--collect-only", *(text for name in names for text in ("-o", name)))
    assert result.ret == 0


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("workload='conv', depht=3, width=64", "unknown argument of mark ngraph 'depht'. Did you mean 'depth'?*"),
        ("'resnet18'", "mark ngraph takes arguments by name only: ngraph(workload='resnet18')."),
        ("batch_size=1", "mark ngraph needs a workload: ngraph(workload='resnet18')."),
        ("workload='resnet18', batch_size=0", "batch size 0 is not a whole number from 1 up."),
        ("workload='resnet18', batch_size='b'", "batch size 'b' is not a whole number from 1 up."),
        ("workload='resnet18', batch_size=[]", "mark ngraph: batch_size is empty. Give one value or several."),
        ("workload='conv', depth=0, width=64", "depth 0 is not a whole number from 1 up."),
        ("workload='mha', depth=1, width=100", "*100*"),
        ("workload='resnet18', depth=2", "*resnet18*depth*"),
        ("workload='no/such.onnx'", "*no/such.onnx*"),
        ("workload='resnet18', compiler='tensort'", "unknown compiler 'tensort'*"),
        ("workload='resnet18', device='tpu'", "unknown device 'tpu'*"),
        ("workload='resnet18', model_args=3", "mark ngraph: model_args 3 is not a dict*"),
    ],
)
def test_bad_marks_end_with_one_message(project: pytest.Pytester, mark: str, message: str) -> None:
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.ngraph({mark})
        def test_bad(measurement): ...
        """
    )
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: test_it.py::test_bad: {message}"])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_a_marked_test_that_measures_nothing_is_a_mistake(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="mine:network")
        def test_nothing(): ...

        @pytest.mark.ngraph(workload="mine:network")
        class TestNetwork:
            def test_that_there_is_something_to_measure(self):
                import mine
                assert mine.network(1)
        """
    )
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: test_it.py::test_nothing: it is marked ngraph and takes none of *def test_nothing(measurement)."]
    )
    assert "TestNetwork" not in result.stderr.str()


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ("mine:nothing", "*mine*nothing*"),
        ("no_such_module:build", "*no_such_module*"),
        ("mine:text", "*mine:text*str*"),
        ("resnet1888", "*resnet1888*resnet18*"),
    ],
)
def test_a_workload_that_cannot_be_built_fails_its_test(project: pytest.Pytester, workload: str, message: str) -> None:
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.ngraph(workload="{workload}", compiler="mine:Exact")
        def test_bad(measurement): ...
        """
    )
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"mine:Exact raised in build: {message}"])
    assert "Traceback" not in result.stdout.str()
