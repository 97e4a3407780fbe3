"""Shared by the programs: prepare, print `ready`, and measure once for each line of input.

A program takes one argument, a JSON object. Its answers are JSON objects with `seconds`, the median seconds per
iteration, and `measured_s`, the seconds that measuring took.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from pytest_ngraph.system.child import own_standard_streams

Measure = Callable[[], dict[str, float]]


def serve(prepare: Callable[..., Measure]) -> None:
    """Run a program. `prepare` takes the fields of its argument and returns the function that measures."""
    with own_standard_streams() as (requests, replies):
        measure = prepare(**json.loads(sys.argv[1]))
        print("ready", file=replies, flush=True)
        for _ in requests:
            print(json.dumps(measure()), file=replies, flush=True)
