"""Marks become tests: ids, selection, and mistakes in marks, as users see them."""

from __future__ import annotations

import sys

import pytest

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
        needless = {*slow, "pytest_ngraph.record", "pytest_ngraph.store"}
        print(sorted(needless & {*sys.modules}))
        import pytest_ngraph.plugin.case_writer  # collects a base's tests, in a child that ends with its parent
        print(sorted((needless - {"ctypes"}) & {*sys.modules}))
        """
    )
    result = project.run(sys.executable, "collecting.py")
    result.stdout.fnmatch_lines(["test_it.py: *"])
    assert result.outlines[-2:] == ["[]", "[]"]


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


def test_an_option_that_leaves_out_the_first_of_two_compilers_is_the_reason(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.ngraph(workload="mine:network")
        def test_both(torchscript_model, identity_model): ...
        """
    )
    result = project.runpytest("--compiler=torchscript", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*the mark allows compiler identity, and --compiler=torchscript asks for others*"])


@pytest.mark.parametrize("fixtures", ["compiled_model", "measurement", "ngraph_case, compile_case"])
def test_a_model_to_compare_with_leaves_a_case_its_compilers(project: pytest.Pytester, fixtures: str) -> None:
    project.makepyfile(
        test_it=f"""
        import pytest

        @pytest.mark.ngraph(workload="plain", compiler=["mine:Exact", "torchscript"])
        def test_close({fixtures}, identity_model): ...
        """
    )
    result = project.runpytest("--collect-only", "-q")
    result.stdout.fnmatch_lines(
        ["*::test_close[[]plain-mine:Exact-b1-cpu[]]", "*::test_close[[]plain-torchscript-b1-cpu[]]"]
    )
    result = project.runpytest("--collect-only", "-q", "--compiler=mine:Exact")
    result.stdout.fnmatch_lines(["*::test_close[[]plain-mine:Exact-b1-cpu[]]", "", "1 test collected*"])


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("ngraph_gate('friction>0.8')", "*friction is computed from several cases*--ngraph-fail-on 'friction>0.8'."),
        ("ngraph_gate(threshold='speedup<1')", "*ngraph_gate(threshold=...): thresholds are given without a name*"),
        ("requires_device('cuda')", "*requires_device('cuda'): give arguments by name*"),
        ("requires_device(kind='toaster')", "*test_it.py::test_one*toaster*"),
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


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("@pytest.mark.ngraph_gate('bsr<1')\ndef test_one(): ...", "test_one: it is marked ngraph_gate*no case*"),
        ("@pytest.mark.requires_device(kind='cuda')\ndef test_one(): ...", "test_one: *requires_device*no case*"),
        ("class TestIt(unittest.TestCase):\n @NGRAPH\n def test_one(self): ...", "TestIt::test_one: *no fixtures*"),
        ("@NGRAPH\nclass TestIt(unittest.TestCase):\n def test_one(self): ...", "TestIt::test_one: *no fixtures*"),
    ],
)
def test_a_mark_of_a_test_without_a_case_is_refused(project: pytest.Pytester, test: str, message: str) -> None:
    project.makepyfile(
        test_it=f"import unittest\nimport pytest\n\nNGRAPH = pytest.mark.ngraph(workload='mine:network')\n\n{test}\n"
    )
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: test_it.py::{message}def test_one(measurement)."])


def test_a_mark_of_a_module_may_be_for_other_tests(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest

        pytestmark = [pytest.mark.ngraph(workload="mine:network"), pytest.mark.requires_device(kind="cuda")]

        def test_plain(): ...
        """
    )
    project.runpytest().assert_outcomes(passed=1)


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
