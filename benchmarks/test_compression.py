"""Savings of compressing before sending: an encoder of growing width, with the metric of `conftest.py`.

pytest benchmarks/ --device=orin -k compression
"""

import pytest


@pytest.mark.ngraph(workload="encoder:build", width=[32, 48, 64, 96], batch_size=[1, 4, 16])
def test_compression(measurement): ...
