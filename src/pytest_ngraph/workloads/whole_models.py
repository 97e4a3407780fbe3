"""What the families of whole models have in common: no depth, no width, and how unknown names are refused."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from pytest_ngraph.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ngraph.case import Case

ELSEWHERE = "Other workloads: conv, mha, path/to/net.onnx, package.module:function."


def refuse_depth_and_width(case: Case) -> None:
    """Raise `UsageError` where the case has a depth or a width, which only blocks have."""
    for name, value in (("depth", case.depth), ("width", case.width)):
        if value is not None:
            raise UsageError(
                f"{name}={value}: {case.workload} is a whole model and has no {name}. "
                f"Leave it out, or use a workload that has one: conv, mha, package.module:function."
            )


def refuse_other_sizes(case: Case, known: tuple[str, ...]) -> None:
    """Raise `UsageError` where the case has a size that is none of these."""
    for name, _ in case.sizes:
        if name not in known:
            raise UsageError.unknown(f"size of {case.workload}", name, known)


def unknown_model(library: str, name: str, known: Iterable[str], listing: str, hint: str = ELSEWHERE) -> UsageError:
    """Return the error for a name that a library does not know, with the nearest names.

    Args:
        library: the library's name.
        name: the name that came.
        known: all names that the library knows.
        listing: the call that lists them, for a name that is like none of them.
        hint: what else the name could have been.
    """
    near = get_close_matches(name.partition(".")[0], list(known), n=5)  # without timm's tag of the weights
    suggestion = f"Nearest: {', '.join(near)}." if near else f"{listing} lists them."
    return UsageError(f"unknown {library} model {name!r}. {suggestion} {hint}")
