"""Which family owns a name, and that finding it imports no framework."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_ngraph.workloads import family


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("conv", "Blocks"),
        ("mha", "Blocks"),
        ("nets/resnet.onnx", "OnnxFile"),
        ("package.module:function", "Imported"),
        ("models/nets.py:Net", "Imported"),
        ("resnet18", "Timm"),
        ("convnext_tiny.fb_in1k", "Timm"),
        ("hf-hub:timm/resnet18.a1_in1k", "Timm"),
        ("hf:models/bert", "HuggingFace"),
        ("hf:google-bert/bert-base-uncased", "HuggingFace"),
        ("hf:bert", "HuggingFace"),
        ("torchvision:resnet18", "TorchVision"),
        ("torchvision.models:resnet18", "Imported"),
    ],
)
def test_names_find_their_family(name: str, owner: str) -> None:
    assert type(family(name)).__name__ == owner


def test_checking_imports_no_framework() -> None:
    script = """
import sys
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import family
for name in ("conv", "mha", "missing.onnx", "package.module:function", "resnet18", "hf:bert", "torchvision:r3d_18"):
    try:
        family(name).check(Case(workload=name, compiler="identity", batch_size=1))
    except UsageError:
        assert name == "missing.onnx"
loaded = {"torch", "timm", "torchvision", "transformers", "onnx", "onnxruntime", "torchinfo"} & sys.modules.keys()
sys.exit(f"imported: {loaded}" if loaded else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
