"""The study's blocks, stacked (section V-C, tables V, VII and VIII): how depth and width change what compiling gains.

pytest benchmarks/ --device=xeon -k "conv and d3"
"""

import pytest


@pytest.mark.ngraph(workload="conv", depth=range(1, 7), width=[64, 96], batch_size=[1, 8, 16])
def test_conv_depth(measurement):
    assert measurement.throughput > 0


@pytest.mark.ngraph(workload="mha", depth=range(1, 7), width=[128, 256], batch_size=[1, 8, 16])
def test_mha_depth(measurement):
    assert measurement.throughput > 0
