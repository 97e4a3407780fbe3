from __future__ import annotations

import pytest

from pytest_ngraph.report.study.families import Architecture, architecture


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("resnet18", Architecture("ResNet-18", "ResNet", "small", "Convolutional")),
        ("efficientnet_b5,img_size=224", Architecture("EfficientNet-B5", "EfficientNet", "large", "Convolutional")),
        ("convnext_base", Architecture("ConvNeXt-Base", "ConvNeXt", "large", "Hybrid")),
        ("mha", Architecture("mha", "mha", "", "Transformer")),
        ("resnet18,img_size=64", Architecture("resnet18,img_size=64", "resnet18,img_size=64")),
        ("mypkg.nets:build", Architecture("mypkg.nets:build", "mypkg.nets:build")),
    ],
)
def test_workloads_are_grouped_as_the_study_does(label: str, expected: Architecture) -> None:
    assert architecture(label) == expected
