"""No message has pip write one build of ONNX Runtime over another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from other_distributions import Distributed

from pytest_ngraph import compilers
from pytest_ngraph.system import onnx_distributions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize(
    ("installed", "provider", "command"),
    [
        ({}, "cuda", 'pip install "pytest-ngraph[onnxruntime-gpu]"'),
        (
            {"onnxruntime": "1.23"},
            "openvino",
            'pip uninstall -y onnxruntime, then pip install "pytest-ngraph[onnxruntime-openvino]"',
        ),
        (
            {"onnxruntime-rocm": "1.22"},
            "tensorrt",
            'pip uninstall -y onnxruntime-rocm, then pip install "pytest-ngraph[onnxruntime-gpu]"',
        ),
        ({"onnxruntime": "1.23"}, "dnnl", ""),
    ],
)
def test_a_provider_is_had_by_taking_the_other_build_away_first(
    installed: dict[str, str], provider: str, command: str, distributed: Distributed
) -> None:
    distributed(installed)
    assert onnx_distributions.instead(provider) == command


@pytest.mark.parametrize(
    ("installed", "command"),
    [
        ({}, 'pip install "pytest-ngraph[onnxruntime]"'),
        ({"onnxruntime-gpu": "1.23.0"}, "pip install --force-reinstall --no-deps onnxruntime-gpu==1.23.0"),
        (
            {"onnxruntime": "1", "onnxruntime-rocm": "2"},
            "pip uninstall -y onnxruntime onnxruntime-rocm, then pip install onnxruntime-rocm",
        ),
    ],
)
def test_what_cannot_be_imported_is_installed_again_as_it_is(
    installed: dict[str, str], command: str, distributed: Distributed
) -> None:
    distributed(installed)
    assert onnx_distributions.to_import().endswith(command)


def test_a_library_missing_beside_the_gpus_build_is_installed_alone() -> None:
    compilers.missing_library.cache_clear()
    missing = compilers.missing_library("onnxruntime", lambda module: module == "onnxruntime")
    assert missing == "onnxruntime needs onnx, which is not installed: pip install onnx onnxscript"
    missing = compilers.missing_library("onnxruntime", lambda module: False)
    assert missing == (
        'onnxruntime needs onnxruntime, which is not installed: pip install "pytest-ngraph[onnxruntime]". '
        'For NVIDIA GPUs: "pytest-ngraph[onnxruntime-gpu]" in its place'
    )


def test_every_build_has_an_extra_of_its_own_and_no_extra_two() -> None:
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    for name in onnx_distributions.EXTRAS:
        assert next(line for line in extras[name] if line.startswith("onnxruntime")).startswith(f"{name}>=")
    for name, lines in extras.items():
        wholes = "|".join(lines).replace("pytest-ngraph[all]", "|".join(extras["all"]))
        assert sum(f"{each}{end}" in wholes for each in onnx_distributions.EXTRAS for end in (">", ",")) < 2, name
