"""The tables of `tools/serving_truth.py`, of launches that are given, and its bare scripts."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import bare_scripts
import pytest
import serving_truth
from launched import costs
from synthetic import case

from pytest_ngraph import compilers
from pytest_ngraph.errors import NgraphError

TRUTH = serving_truth.row(
    case("openvino"),
    costs(),
    costs(1.0, 1.1, 1.0, 1.2, 1.0, 1.1).launches,
    costs(1.0, 1.0, 1.0, 1.0, 1.0, 1.0).launches,
    rates=[(100.0, 99.0), (50.0, 50.0), (100.0, 101.0), (200.0, 196.0), (100.0, 102.0), (100.0, 100.0)],
)


def test_ours_is_over_the_bare_scripts_launch_by_launch() -> None:
    *_, row = serving_truth.comparison([TRUTH]).partition("\n\nThe scripts follow")[0].splitlines()
    assert row == "| `openvino` | resnet18 | 1.05 [1.00, 1.20] | 1.05 [1.00, 1.20] |"


def test_every_table_names_compiler_and_model() -> None:
    *_, row = serving_truth.throughputs([TRUTH]).splitlines()
    assert row == "| `openvino` | resnet18 | 100 samples/s | 100 samples/s | 1.00 [0.98, 1.02] |"
    *_, row = serving_truth.needs([TRUTH]).splitlines()
    assert row == "| `openvino` | resnet18 | 500 ms | 100 MiB | 60.0 MiB | 40.0 MiB | 200 MiB |"


def test_cases_of_earlier_calls_are_kept_and_the_last_row_counts(tmp_path: Path) -> None:
    results = tmp_path / "truth.jsonl"
    other, earlier = replace(TRUTH, compiler="tvm", model="net"), replace(TRUTH, rates=[(1.0, 2.0)])
    for each in (earlier, other, TRUTH):
        serving_truth.keep(each, results)
    first, second = serving_truth.kept(results)
    assert (first.names, second.names) == (("`tvm`", "net"), ("`openvino`", "resnet18"))
    assert serving_truth.throughputs([second]) == serving_truth.throughputs([TRUTH])
    assert serving_truth.comparison([second]) == serving_truth.comparison([TRUTH])


@pytest.mark.parametrize("missing", [{"launches": {}}, {"rates": ()}])
def test_a_row_without_one_part_leaves_the_earlier_one(missing: dict[str, Any], tmp_path: Path) -> None:
    results = tmp_path / "truth.jsonl"
    serving_truth.keep(TRUTH, results)
    serving_truth.keep(replace(TRUTH, **missing), results)
    (found,) = serving_truth.kept(results)
    assert serving_truth.throughputs([found]) == serving_truth.throughputs([TRUTH])
    assert serving_truth.comparison([found]) == serving_truth.comparison([TRUTH])


@pytest.mark.parametrize("name", [name for name in compilers.names() if "cpu" in compilers.resolve(name).kinds])
def test_every_compiler_of_a_cpu_has_a_bare_script(name: str) -> None:
    script = bare_scripts.of(case(name, model_args=(("img_size", 224), ("num_classes", 10))))
    functions = {node.name for node in ast.parse(script).body if isinstance(node, ast.FunctionDef)}
    assert functions == {"load", "samples", "answer"}
    if name == "identity":
        assert 'timm.create_model("resnet18", num_classes=10)' in script, "the size of inputs is none of the model's"


def test_another_compiler_is_refused_in_words() -> None:
    with pytest.raises(NgraphError, match="no bare script is written for mine:Traced"):
        bare_scripts.of(case("mine:Traced"))
