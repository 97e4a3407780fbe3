"""On which execution providers ONNX Runtime has placed a session's nodes. It moves what a provider lacks silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pytest_ngraph.artifact import CAVEAT
from pytest_ngraph.errors import NgraphError, Unsupported

RECORDED = "session.record_ep_graph_assignment_info"
"""Entry of a session's options, with which it notes the placement (ONNX Runtime 1.24). Earlier versions ignore it."""


def record(options: Any) -> None:
    """Have a session with these options, an `onnxruntime.SessionOptions`, note where its nodes run."""
    options.add_session_config_entry(RECORDED, "1")


def nodes(session: Any) -> Counter[str]:
    """Return how many nodes each provider has, before it fuses them; empty before ONNX Runtime 1.24."""
    ask = getattr(session, "get_provider_graph_assignment_info", None)
    counts: Counter[str] = Counter()
    for part in ask() if ask else ():
        counts[part.ep_name] += len(part.get_nodes())
    return counts


def in_words(counts: Mapping[str, int]) -> str:
    """Return the shares, largest first: `CUDAExecutionProvider 97.5 %, CPUExecutionProvider 2.5 % of 120 nodes`."""
    total = sum(counts.values())
    if not total:
        return "unknown before ONNX Runtime 1.24"
    shares = (f"{name} {count / total:.1%}".replace("%", " %") for name, count in Counter(counts).most_common())
    return f"{', '.join(shares)} of {total} nodes"


def facts(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the share of each provider, which the summary shows where there are several."""
    return {"nodes": in_words(counts)} | ({CAVEAT: f"runs on {in_words(counts)}"} if len(counts) > 1 else {})


def refuse_fallback(counts: Mapping[str, int], provider: str) -> None:
    """Raise `NgraphError` where another provider runs nodes, `Unsupported` where that is not known.

    Args:
        counts: nodes by provider.
        provider: the one that is to run all, by ONNX Runtime's name.
    """
    if not counts:
        raise Unsupported("onnxruntime:fallback=false needs ONNX Runtime 1.24 or later, which says where nodes run")
    if set(counts) != {provider}:
        raise NgraphError(
            f"{provider} does not run the whole graph: {in_words(counts)}. onnxruntime:fallback=false allows no other; "
            "leave it out to measure the graph as it is split"
        )
