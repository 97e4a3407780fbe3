"""A run as a whole: its options, its hooks, and where its workers run."""

from __future__ import annotations

import pytest

TWO = "--compiler=identity,mine:Exact"


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
    project.runpytest().assert_outcomes(passed=1)


def test_a_user_without_a_home_can_run_tests(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    project.makeini("[pytest]\n")
    project.makepyfile(test_it="def test_nothing(): pass")
    project.runpytest_inprocess().assert_outcomes(passed=1)


def test_xdist_is_refused_by_the_tests_that_measure(project: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    result = project.runpytest("-n", "2", TWO)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*cannot run under pytest-xdist*without -n*"])


def test_how_xdist_would_distribute_does_not_matter_without_n(project: pytest.Pytester) -> None:
    """`--dist` in `addopts` for other tests: a run without `-n` measures, gates and reports as usual."""
    pytest.importorskip("xdist")
    ini = project.path / "tox.ini"
    ini.write_text(f"{ini.read_text()}addopts = --dist=loadfile\n")
    result = project.runpytest("--ngraph-fail-on=speedup>0.0001", TWO)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*Stored as *"])


def test_hooks_see_records_and_add_metrics(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(
        """
        from pytest_ngraph.metrics import Metric
        from pytest_ngraph.stats import Estimate

        def pytest_ngraph_record(record):
            print("SEEN", record.case.id, record.outcome)

        def pytest_ngraph_metrics(records):
            return [Metric("mine.rounds", r.case, Estimate.exactly(len(r.rounds))) for r in records if r.throughput]
        """
    )
    result = quick_project.runpytest("--compiler=mine:Exact", "-s", "--ngraph-fail-on=mine.rounds[b=4]<1e6")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*SEEN plain-mine:Exact-b1-cpu measured",
            "*SEEN plain-mine:Exact-b4-cpu measured",
            "*mine.rounds[[]b=4[]]<1000000 breached: plain-mine:Exact-b4-cpu has mine.rounds *",
            "  plain-mine:Exact-b1-cpu: mine.rounds *",
        ]
    )


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
        (["--objective=speed"], "unknown objective 'speed'*Known: latency, serving, throughput."),
        (["--ngraph-budget=none"], "--ngraph-budget=none: 'none' is not a number above 0."),
        (["--ngraph-level=5"], "--ngraph-level=5: '5' is not a share above 0 and below 1. Write it as 5% or 0.05."),
        (["--ngraph-margin=100%"], "--ngraph-margin=100%: '100%' is not a share above 0 and below 1. Write it as *"),
        (["--ngraph-memory=lots"], "--ngraph-memory=lots: 'lots' is not a size. Write it as 8GiB, 512MiB or 1.5GB."),
        (["--ngraph-memory=0B"], "--ngraph-memory=0B: '0B' is not a size above 0. Write it as 8GiB, *"),
        (["--ngraph-retries=-1"], "--ngraph-retries=-1: '-1' is not a whole number from 0 up."),
        (["-o", "ngraph_cache_size=8G"], "--ngraph-cache-size=8G: '8G' is not a size. Write it as 8GiB, *"),
        (["--ngraph-isolation=box"], "unknown --ngraph-isolation 'box'*Known: case, compiler."),
        (["--ngraph-against="], "--ngraph-against=: it has no value. Give one (is a variable unset?), or *"),
        (["--ngraph-against-python= "], "--ngraph-against-python= : it has no value. *"),
        (["--ngraph-history="], "--ngraph-history=: it has no value. *"),
        (["--ngraph-history", "test_it.py"], "--ngraph-history test_it.py: this is a path, not a revision. Write *"),
        (
            ["--ngraph-explain", "test_it.py"],
            "--ngraph-explain test_it.py: this is a path, not what to profile. *=all*",
        ),
        (
            ["--ngraph-history=v1", "--ngraph-against=v2"],
            "--ngraph-against and --ngraph-history each say what to compare with. Give one of them; only *",
        ),
        (["--ngraph-launches=2"], "--ngraph-launches=2: '2' is not a whole number from 3 up."),
        (["--ngraph-compare=,"], "--ngraph-compare=,: it has no value. *"),
        (["--ngraph-save="], "--ngraph-save=: it has no value. *"),
        (["--ngraph-scheduler="], "--ngraph-scheduler=: it has no value. *"),
        (["--ngraph-summary="], "--ngraph-summary=: it has no value. *"),
        (["--ngraph-max-seconds="], "--ngraph-max-seconds=: it has no value. *"),
        (["--ngraph-resume="], "--ngraph-resume=: it has no value. *"),
        (["--ngraph-fail-on=speed<1"], "*speed*"),
        (
            ["--ngraph-store=/dev/null/x"],
            "cannot write to the store /dev/null/x: Not a directory. Give a writable folder*",
        ),
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
