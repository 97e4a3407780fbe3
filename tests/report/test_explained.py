"""Explanations in the terminal: 100 columns, what is known and what is not."""

from __future__ import annotations

from dataclasses import replace

from explained import kernel, node, profile

from pytest_ngraph.explain.explanation import explain
from pytest_ngraph.report.explained import lines

NODES = [node("conv2d", "body.conv"), node("relu", "body.act", inputs=["conv2d"]), node("linear", "head")]
FUSED = profile([kernel("a", 4e-3, ["conv2d", "relu"], kind="jit"), kernel("b", 5e-3, ["linear"])], NODES, 1.1e-2)


def test_one_case() -> None:
    assert lines("net-b1-cpu", explain([FUSED]), 100) == [
        "net-b1-cpu, a call: one 11.0 ms",
        "",
        "module               a call   share",
        "head                5.00 ms  45.5 %",
        "    linear",
        "body                4.00 ms  36.4 %",
        "    conv2d+relu (jit)",
        "outside of kernels  2.00 ms  18.2 %",
        "",
        "one: 82 % of the time of a call was profiled; 100.0 % of that is in modules and layout changes",
    ]


def test_two_cases() -> None:
    apart = [kernel("a", 1e-2, ["conv2d"]), kernel("b", 4e-3, ["relu"]), kernel("c", 5e-3, ["linear"])]
    other = profile(apart, NODES, 2.2e-2, name="two")
    assert lines("net-b1-cpu", explain([FUSED, other]), 100) == [
        "net-b1-cpu, a call: one 11.0 ms, two 22.0 ms",
        "two takes 11.0 ms [10.2, 11.8] more than one",
        "",
        "What was compiled",
        "  only one fuses conv2d+relu (1)",
        "  two fuses nothing else",
        "",
        "module                  one      two             difference   share",
        "body                4.00 ms  14.0 ms   +10.0 ms [9.5, 10.5]  90.9 %",
        "    one  conv2d+relu (jit)",
        "    two  conv2d, relu",
        "head                5.00 ms  5.00 ms       0 us [-222, 222]   0.0 %",
        "    one  linear",
        "    two  linear",
        "outside of kernels  2.00 ms  3.00 ms  +1.00 ms [0.89, 1.11]   9.1 %",
        "",
        "one: 82 % of the time of a call was profiled; 100.0 % of that is in modules and layout changes",
        "two: 86 % of the time of a call was profiled; 100.0 % of that is in modules and layout changes",
        "Modules and layout changes explain 91 % of the difference.",
    ]


def test_where_too_little_was_profiled_no_module_is_named() -> None:
    shown = "\n".join(lines("net-b1-cpu", explain([profile([kernel("a", 1e-3, ["linear"])], NODES, 1e-2)]), 100))
    assert "operator" in shown
    assert "head" not in shown
    assert "one: 10 % of the time of a call was profiled\nToo little of the time was profiled to name modules" in shown


def test_kernels_of_one_kind_name_it_once_and_those_that_do_not_fit_are_counted() -> None:
    kernels = [
        kernel("a", 4e-3, ["conv2d", "relu"], kind="jit"),
        kernel("b", 3e-3, ["conv2d"], kind="jit"),
        kernel("c", 2e-3, ["relu"], kind="reference"),
    ]
    explained = explain([profile(kernels, NODES[:2], 1e-2)])
    assert "    conv2d+relu, conv2d (jit), relu (reference)" in lines("net-b1-cpu", explained, 100)
    assert "    conv2d+relu, conv2d (jit) and 1 more" in lines("net-b1-cpu", explained, 45)


def test_lines_that_are_too_long_go_on_in_the_next() -> None:
    shown = lines("net-b1-cpu", explain([replace(FUSED, name="onnxruntime:threads=2")]), 100)
    assert shown[-2:] == [
        "onnxruntime:threads=2: 82 % of the time of a call was profiled; 100.0 % of that is in modules and",
        "    layout changes",
    ]
