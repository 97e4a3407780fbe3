from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import torch

from pytest_ngraph.workloads.seeding import normal, seeded


def _draw() -> tuple[float, float, float]:
    return torch.rand(1).item(), float(np.random.rand()), random.random()


def test_every_generator_starts_at_the_seed() -> None:
    with seeded():
        first = _draw()
    with seeded():
        assert _draw() == first


def test_the_users_generators_go_on_as_if_nothing_had_happened() -> None:
    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    undisturbed = _draw(), _draw()
    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    first = _draw()
    with seeded():
        _draw()
    normal(3)
    assert (first, _draw()) == undisturbed


def test_a_generator_is_seeded_whose_library_is_imported_only_then() -> None:
    program = (
        "from pytest_ngraph.workloads.seeding import seeded\n"
        "with seeded():\n"
        "    import torch\n"
        "    print(torch.rand(1).item())\n"
    )
    with seeded():
        expected = torch.rand(1).item()
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(ran.stdout) == expected
