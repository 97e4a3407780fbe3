"""Precisions that a compiler runs."""

from __future__ import annotations

from pytest_ngraph.artifact import Target
from pytest_ngraph.errors import Unsupported


def refuse_precision(compiler: str, target: Target, supported: tuple[str, ...]) -> None:
    """Raise `Unsupported` when the target's precision is not among those supported."""
    if target.precision not in supported:
        raise Unsupported(
            f"{compiler} does not run {target.precision} on {target.kind}; it runs {', '.join(supported)}"
        )
