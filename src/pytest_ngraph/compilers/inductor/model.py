"""A model that Inductor compiled at its first call, and what PyTorch keeps of such models."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

from pytest_ngraph.artifact import CAVEAT, Array, Target
from pytest_ngraph.compilers import pytorch
from pytest_ngraph.errors import Unsupported

GENERATED = "torch._inductor.runtime.compile_tasks."
"""Package of the modules that Inductor generates. No reset removes them from `sys.modules`."""
REPLAYING = ("cuda", "rocm")
"""Kinds of devices on which all modes but the default replay CUDA graphs."""


def counts() -> dict[str, int]:
    """Return how many graphs this process compiled so far, and how often code between two of them was left to eager."""
    from torch._dynamo.utils import counters

    return {"graphs": counters["stats"]["unique_graphs"], "graph_breaks": sum(counters["graph_break"].values())}


class InductorModel(pytorch.PytorchModel):
    """A PyTorch model whose generated code, with frozen weights, PyTorch keeps for the life of the process."""

    _open: ClassVar[set[InductorModel]] = set()

    def __init__(self, run: pytorch.Run, args: tuple[Any, ...], target: Target, **facts: object) -> None:
        super().__init__(run, args, target, **facts)
        self._open.add(self)
        self._replays = target.kind in REPLAYING and facts.get("mode") != "default"
        if self._replays:
            from torch._dynamo.utils import counters

            self._skips_before = counters["inductor"]["cudagraph_skips"]

    def compiled_since(self, before: dict[str, int]) -> dict[str, str]:
        """Return how many graphs were compiled since then, and how often they were broken, as facts.

        Raises:
            Unsupported: none was compiled, so that eager PyTorch would be measured as Inductor.
        """
        since = {name: count - before[name] for name, count in counts().items()}
        if not since["graphs"] and self._open == {self}:  # beside another open model, its code may be used again
            why = ": TORCHDYNAMO_DISABLE is set. Unset it" if os.environ.get("TORCHDYNAMO_DISABLE") == "1" else ""
            raise Unsupported(
                f"inductor compiles nothing of this model: torch.compile leaves all of it to eager PyTorch{why}"
            )
        return {name: str(count) for name, count in since.items()}

    def outputs(self) -> Sequence[Array]:
        """Return the outputs, and note whether CUDA graphs were replayed: outputs are read once the model is warm."""
        found = super().outputs()
        if self._replays:
            from torch._dynamo.utils import counters

            skips = counters["inductor"]["cudagraph_skips"] - self._skips_before
            self.facts["cuda_graphs"] = "replayed" if not skips else f"skipped {skips} times"
            if skips:
                self.facts[CAVEAT] = "CUDA graphs were asked for, and Inductor left them out (cudagraph_skips)"
        return found

    def close(self) -> None:
        """Close; with the last open model, forget all generated code, since that is not kept by model."""
        super().close()
        self._open.discard(self)
        if not self._open:
            _forget_generated_code()


def _forget_generated_code() -> None:
    import torch
    from torch._inductor.utils import clear_inductor_caches

    torch.compiler.reset()
    clear_inductor_caches()
    for name in [name for name in sys.modules if name.startswith(GENERATED)]:
        del sys.modules[name]
