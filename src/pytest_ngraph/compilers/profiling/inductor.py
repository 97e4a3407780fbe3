"""Profile Inductor's package, compiled once more so that its kernels report themselves to `torch.profiler`.

The package says which operations of the program went into each kernel (`kernel_information.json`), in the order in
which kernels run, with some that went into kernels before it. Of what was fused into a library's kernel it names the
last; the others lie between those of the kernels before and after.
"""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers import program
from pytest_ngraph.compilers.profiling import compiling_again
from pytest_ngraph.compilers.profiling.matching import Known, aligned, located
from pytest_ngraph.compilers.profiling.pytorch import recorded_calls
from pytest_ngraph.explain.profile import Kernel
from pytest_ngraph.workloads.nodes import nodes

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Artifact

INFORMATION = "kernel_information.json"
GRAPH = re.compile(r"^graph_\d+_")
"""What precedes the name of a generated kernel where it reports itself."""
OF_NOTHING = re.compile(r"^cpp_fused_\d+$")
"""The name of a generated kernel that no operation led to: it copies into the memory layout that is needed there."""


def options() -> dict[str, Any]:
    """Return the options with which kernels report themselves, and the package names operations."""
    from torch._inductor import config

    provenance = "provenance_tracking_level"
    known = {f"trace.{provenance}": 1} if hasattr(config.trace, provenance) else {}
    return {"cpp.enable_kernel_profile": True, **known}


class ProfiledPackage:
    """A package whose kernels report themselves.

    Args:
        compile_to: compiles the package, with `options`.
        load: returns a call of a package.
        artifact: what it is compiled from.
    """

    def __init__(
        self,
        compile_to: Callable[[Path], None],
        load: Callable[[Path], Callable[..., object]],
        artifact: Artifact,
    ) -> None:
        with tempfile.TemporaryDirectory(prefix="ngraph-profile-") as folder:
            with compiling_again():
                compile_to(package := Path(folder, "model.pt2"))
            self._information = information(package)
            run = load(package)
        inputs = program.inputs(artifact)
        self._run: Callable[[], object] = lambda: run(*inputs)
        self._nodes = nodes(artifact)
        self._run()

    def profile(self, calls: int) -> Sequence[Kernel]:
        seconds: dict[int, float] = {}
        names: list[str] = []
        for call in recorded_calls(self._run, calls, "cpu"):
            names = [GRAPH.sub("", span.name) for span in call.inner]
            for index, span in enumerate(call.inner):
                seconds[index] = seconds.get(index, 0.0) + span.seconds / calls
        known = in_order(names, self._information)
        kernels = [
            Kernel(
                name=name,
                operator=name.rpartition("/")[0],
                seconds=seconds[index],
                provider="cpu",
                layout=known[name].layout,
            )
            for index, name in enumerate(known)
        ]
        return located(kernels, known, self._nodes)

    def close(self) -> None:
        del self._run


def information(package: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return the kernels of a package in their order, with their operations. An older PyTorch names none."""
    with zipfile.ZipFile(package) as archive:
        file = next((name for name in archive.namelist() if name.endswith(INFORMATION)), None)
        found: Mapping[str, Any] = json.loads(archive.read(file)) if file else {}
    numbered = sorted((int(key.rpartition(":")[2]), key.rpartition(":")[0], each) for key, each in found.items())
    return own([(name, tuple(each["pre_grad_nodes"])) for _, name, each in numbered])


def own(named: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[str, tuple[str, ...]]]:
    """Return kernels with their own operations.

    Beside these, a kernel names those of kernels before it whose results it adds to: along the residual stream of a
    transformer, of all blocks so far. Its own are those that no kernel has named before, or else the last ones that
    were.
    """
    first: dict[str, int] = {}
    found = []
    for index, (name, operations) in enumerate(named):
        begun = [first.setdefault(operation, index) for operation in operations]
        latest = max(begun, default=index)
        found.append((name, tuple(o for o, at in zip(operations, begun, strict=True) if at == latest)))
    return found


def in_order(names: Sequence[str], information: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, Known]:
    """Return what is known of the kernels of a call.

    Which reads which is not known, so each may read all before it: operations that no kernel names are then found by
    the order alone.
    """
    of = dict(aligned(names, [name for name, _ in information]))
    known: dict[str, Known] = {}
    for index, name in enumerate(names):
        named = information[of[index]][1] if index in of else ()
        layout = not named and OF_NOTHING.match(name) is not None
        known[f"{name}/{index}"] = Known(nodes=named, inputs=tuple(known), layout=layout)
    return known
