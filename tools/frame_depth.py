"""Time a model under eager PyTorch at every depth of the call stack, with and without room for Python's frames.

    python tools/frame_depth.py [MODEL] [--depths=120] [--write]

MODEL is one of timm's. It runs on one core. `--write` puts the table into docs/measuring.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import markdown_output
import numpy as np
import timm
import torch

from pytest_ngraph.machine.machine import environment
from pytest_ngraph.system.frames import with_room

PAGE = markdown_output.ROOT / "docs" / "measuring.md"
SECTION = "frame depth"
CALLS = 6
"""Calls at a depth, of which the fastest counts."""


def at(depth: int, call: Callable[[], float]) -> float:
    """Return what a function returns when it is called from that many further frames."""
    return call() if depth == 0 else at(depth - 1, call)


def fastest(model: torch.nn.Module, inputs: torch.Tensor) -> float:
    """Return the seconds of the fastest of some calls."""
    found = []
    with torch.inference_mode():
        for _ in range(CALLS):
            begin = time.perf_counter()
            model(inputs)
            found.append(time.perf_counter() - begin)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="mobilenetv3_small_100")
    parser.add_argument("--depths", type=int, default=120)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    model, inputs = timm.create_model(chosen.model).eval(), torch.randn(1, 3, 224, 224)

    def at_all() -> list[float]:
        return [at(depth, lambda: fastest(model, inputs)) for depth in range(chosen.depths)]

    at_all()
    rows = []
    for name, seconds in (("as Python comes", at_all()), ("with room", with_room(at_all))):
        shown = (np.median(seconds), np.percentile(seconds, 90), max(seconds))
        rows.append([name, *(f"{1e3 * each:.2f} ms" for each in shown)])
    table = markdown_output.table(["frames", "at the median depth", "at the 90th percentile", "at the worst"], rows)
    markdown_output.publish(environment(), table, SECTION if chosen.write else "", PAGE)


if __name__ == "__main__":
    main()
