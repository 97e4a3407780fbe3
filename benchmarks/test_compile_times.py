"""Seconds to compile the largest model of each family, at one sample and at 32 (study, Table III).

pytest benchmarks/ --device=xeon -k compile_times --compiler=openvino,tvm
"""

import pytest

LARGE = ["resnet101", "deit3_base_patch16_224", "swin_s3_base_224", "convnext_base"]


@pytest.mark.ngraph(workload=LARGE, batch_size=[1, 32])
def test_compile_times(measurement, ngraph_case):
    assert (measurement.compile_s is None) == (ngraph_case.compiler == "identity")


@pytest.mark.ngraph(workload="efficientnet_b5", model_args={"img_size": 224}, batch_size=[1, 32])
def test_compile_times_efficientnet(measurement, ngraph_case):
    assert (measurement.compile_s is None) == (ngraph_case.compiler == "identity")
