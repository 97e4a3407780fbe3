"""The study's fifteen models (section V-A3), three sizes of five families.

pytest benchmarks/ --device=xeon -k swin
pytest benchmarks/ --device=xeon -k "small and not deit" --batch-size=1,2,4,8,16
"""

import pytest

SMALL = ["resnet18", "efficientnet_b3", "deit3_small_patch16_224", "swin_s3_tiny_224", "convnext_tiny"]
MEDIUM = ["resnet50", "efficientnet_b4", "deit3_medium_patch16_224", "swin_s3_small_224", "convnext_small"]
LARGE = ["resnet101", "efficientnet_b5", "deit3_base_patch16_224", "swin_s3_base_224", "convnext_base"]


@pytest.mark.ngraph(workload=SMALL)
def test_small(measurement):
    assert measurement.throughput > 0


@pytest.mark.ngraph(workload=MEDIUM)
def test_medium(measurement):
    assert measurement.throughput > 0


@pytest.mark.ngraph(workload=LARGE)
def test_large(measurement):
    assert measurement.throughput > 0
