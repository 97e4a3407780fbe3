"""What the programs have in common: prepare, say so, and measure once for each line of input.

A program is given one argument, a JSON object. Its answers are JSON objects with `seconds`, the median seconds per
iteration, and `measured_s`, the seconds that it took to find that.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from pytest_ngraph.system.child import own_standard_streams

Measure = Callable[[], dict[str, float]]


def serve(prepare: Callable[..., Measure]) -> None:
    """prepare: makes ready to measure, of the fields of the argument."""
    with own_standard_streams() as (requests, replies):
        measure = prepare(**json.loads(sys.argv[1]))
        print("ready", file=replies, flush=True)
        for _ in requests:
            print(json.dumps(measure()), file=replies, flush=True)
