"""A record: everything that one case yielded, whatever happened to it. Plain data, which the store keeps as JSON.

Open `record.py`; what it is made of is in `parts.py`.
"""

from pytest_ngraph.record.parts import (
    DRAWN,
    HIDDEN,
    NOT_FAILED,
    RANDOM,
    STATE,
    Agreement,
    Contention,
    Failure,
    FailureKind,
    Phase,
    Round,
    Warmup,
)
from pytest_ngraph.record.record import Record

__all__ = [
    "DRAWN",
    "HIDDEN",
    "NOT_FAILED",
    "RANDOM",
    "STATE",
    "Agreement",
    "Contention",
    "Failure",
    "FailureKind",
    "Phase",
    "Record",
    "Round",
    "Warmup",
]
