"""The study's fifteen models (section V-A3), three sizes of five families.

pytest benchmarks/ --device=xeon -k swin
pytest benchmarks/ --device=xeon -k "small and not deit" --batch-size=1,2,4,8,16

The study's images are 224 pixels wide. timm's EfficientNets have another default, so they get `img_size`.
"""

import pytest

SMALL = ["resnet18", "deit3_small_patch16_224", "swin_s3_tiny_224", "convnext_tiny"]
MEDIUM = ["resnet50", "deit3_medium_patch16_224", "swin_s3_small_224", "convnext_small"]
LARGE = ["resnet101", "deit3_base_patch16_224", "swin_s3_base_224", "convnext_base"]
STUDY_SIZE = {"img_size": 224}


@pytest.mark.ngraph(workload=SMALL)
def test_small(measurement): ...


@pytest.mark.ngraph(workload="efficientnet_b3", model_args=STUDY_SIZE)
def test_small_efficientnet(measurement): ...


@pytest.mark.ngraph(workload=MEDIUM)
def test_medium(measurement): ...


@pytest.mark.ngraph(workload="efficientnet_b4", model_args=STUDY_SIZE)
def test_medium_efficientnet(measurement): ...


@pytest.mark.ngraph(workload=LARGE)
def test_large(measurement): ...


@pytest.mark.ngraph(workload="efficientnet_b5", model_args=STUDY_SIZE)
def test_large_efficientnet(measurement): ...
