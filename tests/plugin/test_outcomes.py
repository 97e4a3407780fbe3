"""What becomes of a test that has a case, as users see it. Real workers, a small model."""

from __future__ import annotations

import pytest

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.record import Record
from pytest_ngraph.session.session import Session

TWO = "--compiler=identity,mine:Exact"


@pytest.mark.parametrize("place", ["", "1"], ids=["desk", "ci"])
def test_a_model_that_cannot_be_run_is_told_of_once(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """pytest repeats the whole of each failure's message at the end of a run in CI."""
    for name in ("CI", "BUILD_NUMBER"):  # pytest 8 takes an empty value for CI, too
        monkeypatch.delenv(name, raising=False)
    if place:
        monkeypatch.setenv("CI", place)
    project.makepyfile(
        nets="""
        import sys

        def small():
            import torch

            print("building", file=sys.stderr)
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
    whole = "cannot be multiplied (1x150528 and 48x3). It was called with input (1x3x224x224 float32). A module that is"
    assert printed.count(whole) == (4 if place else 2)
    assert "Traceback" not in printed
    assert "Captured stderr of the worker" in printed
    assert printed.count("the same as for nets:small-identity-b1-cpu") == 3
    assert "Benchmark fixture was not used" not in printed
    result.stdout.fnmatch_lines(
        ["Absent", "  friction of nets:small-identity-cpu; friction_mitigation of", "*failed in build"]
    )


def test_what_marks_skip_is_not_measured_beside_the_others(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest
        from pytest_ngraph.plugin.assembly import SESSION

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


def test_without_pytests_plugin_of_skips_what_is_marked_so_is_measured(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(
        "import pytest\n\ndef pytest_itemcollected(item):\n    item.add_marker(pytest.mark.skip)"
    )
    quick_project.runpytest("--compiler=mine:Exact", "-p", "no:skipping").assert_outcomes(passed=2)


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


def test_a_case_that_takes_too_long_names_the_limit_and_the_option(project: pytest.Pytester) -> None:
    result = project.runpytest("--compiler=mine:Hangs", "--batch-size=4", "--ngraph-timeout=6")
    result.stdout.fnmatch_lines(
        ["mine:Hangs timed out in compile: took longer than 6 s and was killed. To give * --ngraph-timeout=SECONDS."]
    )


def test_a_missing_library_skips_with_the_command(project: pytest.Pytester) -> None:
    result = project.runpytest("--compiler=mine:Absent", "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*no_such_library, which is not installed: pip install no_such_library*"])


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
    result = quick_project.runpytest("--compiler=mine:Exact")
    result.assert_outcomes(passed=1, failed=2)


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
    result = quick_project.runpytest("--compiler=mine:Exact")
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_gated*"])
    assert "1e+08" not in result.stdout.str()


def test_a_threshold_on_many_cases_fails_the_session(project: pytest.Pytester) -> None:
    result = project.runpytest(TWO, "--ngraph-fail-on=friction>-50")
    result.assert_outcomes(passed=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*friction>-50*breached*"])


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
    result = quick_project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["cannot write to the store *. Give a writable folder: --ngraph-store=DIR."])


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
    result = quick_project.runpytest(exact, "--ngraph-save=v1", "--ngraph-max-seconds=0.000001")
    result.assert_outcomes(skipped=2)
    quick_project.runpytest(exact, "--ngraph-save=v1").assert_outcomes(passed=2)
    result = quick_project.runpytest(exact, "--ngraph-compare=v1", "--ngraph-max-seconds=0.000001")
    assert result.ret == pytest.ExitCode.OK, "what was not begun is not missing"
    assert len(list((quick_project.path / ".ngraph" / "baselines" / "v1").glob("*.jsonl"))) == 1


def test_exit_first_stops_after_the_failure(quick_project: pytest.Pytester) -> None:
    result = quick_project.runpytest("--compiler=mine:Raises,mine:Exact", "-x")
    result.assert_outcomes(failed=1)


def test_last_failed_runs_only_what_failed(quick_project: pytest.Pytester) -> None:
    quick_project.runpytest("--compiler=mine:Raises,mine:Exact").assert_outcomes(failed=2, passed=2)
    quick_project.runpytest("--compiler=mine:Raises,mine:Exact", "--lf").assert_outcomes(failed=2)


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


@pytest.mark.parametrize(("budget", "calls"), [("0.001", 1), ("0.024", 2), ("0.6", 50)])
def test_a_small_budget_has_short_rounds(quick_project: pytest.Pytester, budget: str, calls: int) -> None:
    """The compiler's stopwatch counts a millisecond for each call."""
    arguments = ("--compiler=faulty:Instant", "--batch-size=1", f"--ngraph-budget={budget}")
    quick_project.runpytest(*arguments).assert_outcomes(passed=1)
    (record,) = store.read(quick_project.path / ".ngraph").records
    assert [each.iterations for each in record.rounds] == [calls] * 12


def test_a_record_depends_on_the_files_of_its_own_workload(project: pytest.Pytester) -> None:
    """Workloads are exported in one process, which has the modules of all that came before."""
    code = "import torch\n\ndef net():\n    return torch.nn.Linear(4, 4), torch.ones(1, 4)\n"
    project.makepyfile(
        one=code,
        other=code,
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload=["one:net", "other:net"], compiler=["identity", "mine:Exact"])
        def test_net(measurement): ...
        """,
    )
    project.runpytest().assert_outcomes(passed=4)
    for record in store.read(project.path / ".ngraph").records:
        module, files = record.case.workload.partition(":")[0], record.follows_from["files"]
        named = {path.rpartition("/")[2] for path in files if path.startswith(str(project.path))}
        own = {"mine.py"} if record.case.compiler == "mine:Exact" else set()
        assert named == {f"{module}.py", *own}, record.case.id
