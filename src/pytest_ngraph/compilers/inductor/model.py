"""A model that Inductor compiled at its first call, and what PyTorch keeps of such models."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_ngraph.artifact import CAVEAT, Array, Target
from pytest_ngraph.compilers import pytorch
from pytest_ngraph.compilers.inductor import recompiling
from pytest_ngraph.errors import Unsupported

if TYPE_CHECKING:
    import torch

GENERATED = "torch._inductor.runtime.compile_tasks."
"""Package of the modules that Inductor generates. No reset removes them from `sys.modules`."""
REPLAYING = ("cuda", "rocm")
"""Kinds of devices on which all modes but the default replay CUDA graphs."""


def counts() -> dict[str, int]:
    """Return how many graphs this process compiled so far, and how often code between two of them was left to eager."""
    from torch._dynamo.utils import counters

    breaks = (*counters["graph_break"].values(), *counters["unimplemented"].values())  # the latter are of branches
    return {"graphs": counters["stats"]["unique_graphs"], "graph_breaks": sum(breaks)}


class InductorModel(pytorch.PytorchModel):
    """A PyTorch model whose generated code, with frozen weights, PyTorch keeps for the life of the process."""

    _open: ClassVar[set[InductorModel]] = set()

    def __init__(self, run: pytorch.Run, args: tuple[Any, ...], target: Target, **facts: object) -> None:
        super().__init__(run, args, target, **facts)
        self._open.add(self)
        self._is_module, self._forward = False, ""
        self._before, self._stopped_before = counts(), len(recompiling.stopped().functions)
        self._replays = target.kind in REPLAYING and facts.get("mode") != "default"
        if self._replays:
            from torch._dynamo.utils import counters

            self._skips_before = counters["inductor"]["cudagraph_skips"]

    def note_compiled(self, module: torch.nn.Module | None) -> None:
        """Note what the first call compiled. Of a module, the facts say it, also once the model is warm.

        Args:
            module: the module that is compiled; None for a program, of which all is compiled, or nothing.

        Raises:
            Unsupported: nothing was compiled, so that eager PyTorch would be measured as Inductor.
        """
        graphs = counts()["graphs"] - self._before["graphs"]
        if not graphs and self._open == {self}:  # beside another open model, its code may be used again
            is_disabled = os.environ.get("TORCHDYNAMO_DISABLE") == "1"
            why = "TORCHDYNAMO_DISABLE is set. Unset it" if is_disabled else self._why_nothing()
            raise Unsupported(
                "inductor compiles nothing of this model: torch.compile leaves all of it to eager PyTorch"
                f"{': ' if why else ''}{why}"
            )
        if module is not None:
            self._is_module = True
            self._forward = recompiling.named(getattr(module.forward, "__code__", None))
            self._count()

    def _why_nothing(self) -> str:
        """Return what `torch.compile` stopped at last, and what to do about it; empty where it stopped at nothing."""
        from torch._dynamo.utils import counters

        if counts()["graph_breaks"] == self._before["graph_breaks"]:
            return ""
        *_, stopped_at = (*counters["graph_break"], *counters["unimplemented"])
        reason = str(stopped_at).partition("\n")[0].strip().rstrip(".")
        return f"{reason}. Put what computes into a function or module of its own, apart from that"

    def _count(self) -> None:
        """Note as facts what was compiled so far, and what `torch.compile` has stopped compiling.

        Raises:
            Unsupported: it has stopped compiling the module, which eager PyTorch now runs.
        """
        self.facts |= {name: str(count - self._before[name]) for name, count in counts().items()}
        stopped = list(dict.fromkeys(recompiling.stopped().functions[self._stopped_before :]))
        if self._forward in stopped:
            raise Unsupported(
                "inductor leaves the model to eager PyTorch: torch.compile has compiled its forward as often as it may "
                "(recompile_limit), because a Python value that it reads differs in each call. Keep what changes from "
                "call to call in tensors, such as buffers"
            )
        if stopped:
            names = ", ".join(map(recompiling.shown, stopped))
            self._caution(f"eager PyTorch runs {names}, which torch.compile has compiled as often as it may")

    def _caution(self, caveat: str) -> None:
        """Add what a reader must know to the facts."""
        known = self.facts.get(CAVEAT, "").split("; ")
        self.facts[CAVEAT] = "; ".join(filter(None, dict.fromkeys([*known, caveat])))

    def outputs(self) -> Sequence[Array]:
        """Return the outputs, and note what was compiled and whether CUDA graphs were replayed: once it is warm.

        Raises:
            Unsupported: eager PyTorch has come to run the module.
        """
        before = counts()
        found = super().outputs()
        if self._is_module:
            self._count()
            if counts()["graphs"] > before["graphs"]:
                self._caution("torch.compile compiles the model again in later calls")
        if self._replays:
            from torch._dynamo.utils import counters

            skips = counters["inductor"]["cudagraph_skips"] - self._skips_before
            self.facts["cuda_graphs"] = "replayed" if not skips else f"skipped {skips} times"
            if skips:
                self._caution("CUDA graphs were asked for, and Inductor left them out (cudagraph_skips)")
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
