"""The same random numbers in every process, without changing the state of the user's generators."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_ngraph.workloads import SEED

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


@contextmanager
def seeded() -> Iterator[None]:
    """Seed the global generators of PyTorch (CPU), NumPy and `random`; restore their state afterwards."""
    import numpy as np
    import torch

    python_state = random.getstate()
    numpy_state = np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        np.random.seed(SEED)
        random.seed(SEED)
        try:
            yield
        finally:
            np.random.set_state(numpy_state)
            random.setstate(python_state)


def normal(*shape: int) -> torch.Tensor:
    """Return standard normal values in fp32, the same for a shape on every call."""
    import torch

    return torch.randn(shape, generator=torch.Generator().manual_seed(SEED))
