"""The study's blocks, stacked: how depth (section V-C, Tables VII and VIII) and width (V-E, Table V and Figure 10)
change what compiling gains.

pytest benchmarks/ --device=xeon -k "conv and d3"
"""

import pytest


@pytest.mark.ngraph(workload="conv", depth=range(1, 7), width=[64, 96], batch_size=[1, 8, 16])
def test_conv_depth(measurement): ...


@pytest.mark.ngraph(workload="mha", depth=range(1, 7), width=[128, 256], batch_size=[1, 8, 16])
def test_mha_depth(measurement): ...


@pytest.mark.ngraph(workload="conv", depth=[1, 2], width=[64, 96, 128, 256], batch_size=[1, 2, 4, 8, 16])
def test_conv_width(measurement): ...


@pytest.mark.ngraph(workload="mha", depth=[1, 2], width=[128, 256, 384, 512], batch_size=[1, 2, 4, 8, 16])
def test_mha_width(measurement): ...
