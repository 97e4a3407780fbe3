"""A small part of every benchmark of the study, in a few minutes on two cores.

pytest benchmarks/ --device=xeon -k quick --ngraph-report=report
"""

import pytest

pytestmark = pytest.mark.quick

COMPILERS = ["identity", "onnxruntime", "openvino"]


@pytest.mark.ngraph(workload=["resnet18", "deit3_small_patch16_224"], compiler=COMPILERS, batch_size=[1, 4, 8])
def test_quick_models(measurement): ...


@pytest.mark.ngraph(workload="conv", compiler=COMPILERS, depth=[1, 3], width=64, batch_size=[1, 8])
def test_quick_conv(measurement): ...


@pytest.mark.ngraph(workload="mha", compiler=COMPILERS, depth=[1, 3], width=128, batch_size=[1, 8])
def test_quick_mha(measurement): ...
