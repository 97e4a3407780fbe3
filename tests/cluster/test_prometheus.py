"""The text that Prometheus reads."""

from __future__ import annotations

import dataclasses
import re

from cluster.devices import ORIN

from pytest_ngraph.cluster.prometheus import text
from pytest_ngraph.machine.health import Health

SAMPLE = re.compile(r'ngraph_[a-z_]+\{([a-z]+="(\\["\\n]|[^"\\\n])*",?)+\} -?[0-9.e+-]+')
"""A line, by the grammar of the exposition format."""


def test_each_device_has_its_figures() -> None:
    orin = dataclasses.replace(
        ORIN,
        state="refuses",
        health=Health(temperature_c=91.0, clock_mhz=1510.0, disk_bytes=5, memory_bytes=7),
        clock_skew_s=-0.5,
        last_seen=1e9,
        reserved_by="anna@head",
        reserved_until=2e9,
    )
    odd = dataclasses.replace(ORIN, name='a "b" \\', pool="pool")
    lines = text([orin, odd]).splitlines()
    assert 'ngraph_device_temperature_celsius{device="orin-1",pool="orin"} 91.0' in lines
    assert 'ngraph_device_clock_hertz{device="orin-1",pool="orin"} 1510000000.0' in lines
    assert 'ngraph_device_disk_free_bytes{device="orin-1",pool="orin"} 5' in lines
    assert 'ngraph_device_memory_available_bytes{device="orin-1",pool="orin"} 7' in lines
    assert 'ngraph_device_reserved_until_timestamp_seconds{device="orin-1",pool="orin"} 2000000000.0' in lines
    assert 'ngraph_device_clock_skew_seconds{device="orin-1",pool="orin"} -0.5' in lines
    assert 'ngraph_device_state{device="orin-1",pool="orin",state="refuses"} 1' in lines
    assert 'ngraph_device_state{device="a \\"b\\" \\\\",pool="pool",state="free"} 1' in lines
    assert not [line for line in lines if "battery" in line and not line.startswith("#")]
    assert all(line.startswith(("# HELP ", "# TYPE ")) or SAMPLE.fullmatch(line) for line in lines)
    named = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(named) == len(set(named))
