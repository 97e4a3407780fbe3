"""How much memory calls of Python's functions need from the system, at any depth of the call stack."""

import resource

CALLS = 1000
DEEPEST = 400
"""The frames here are small: some tens of them fill one of the chunks in which Python keeps frames."""


def nothing() -> None:
    """Do nothing, at some depth."""


def pages_at(depth: int) -> int:
    """Return how many pages the system provides for some calls from that many further frames."""
    if depth:
        return pages_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        nothing()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def most_pages() -> int:
    """Return the most pages at any depth: at least one for each call where one depth is unlucky."""
    return max(map(pages_at, range(DEEPEST)))
