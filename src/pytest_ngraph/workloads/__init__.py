"""Workloads: the models to compile, with their inputs.

A `Case` enters; an `Artifact` leaves, written into a folder: the exported program or ONNX file, the inputs, and the
reference outputs of eager PyTorch. Each kind of workload is a `Family` with a file of its own (`blocks`, `imported`,
`timm`, `torchvision`) or a folder (`hugging_face/`, `onnx/`), found by entry points (group `pytest_ngraph.workloads`),
built-ins included. What users' modules take and return is nested; `structure.py` finds the tensors in it, and `flat.py`
makes of it what compilers take. `nodes.py` lists the operations of a program with their modules, for profiles.
`verify.py` compares a compiled model's outputs with the reference. Open `export.py` first.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from pytest_ngraph.case import sizes_label
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system import entry_points
from pytest_ngraph.workloads import structure, torch_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact, Step
    from pytest_ngraph.case import Case

GROUP = "pytest_ngraph.workloads"
OPTIONAL = {
    "sizes": (
        "use a workload that has sizes of its own: package.module:function, hf:NAME, torchvision:NAME, or an ONNX file"
    ),
    "shapes": "return inputs of these shapes with the module. Only ONNX files take shapes",
    "inputs": "return the inputs with the module. Only ONNX files take them from the mark",
}
"""The fields of a case that only some families take, with what to do instead."""
SEED = 0
"""Seeds weights and inputs, so that every process and every revision builds the same."""


@dataclass(frozen=True, slots=True)
class Built:
    """A PyTorch workload: a module and the arguments that it is called with, on the CPU.

    The module is in evaluation mode and fp32, and so are floating-point tensors, unless `as_is`.

    Attributes:
        module: the module.
        args: its positional arguments: tensors, or tensors in dicts, lists, tuples and dataclasses. What is no tensor
            stays a constant.
        kwargs: its keyword arguments, likewise.
        as_is: the module and its arguments keep their types, and the module its mode.
        tokens: tokens of one sample that a call works on; None where there is no text.
        step: the step of generating text; empty for anything else.
    """

    module: torch.nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    as_is: bool = False
    tokens: int | None = None
    step: Step = ""

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """The tensors among the arguments, in the order in which compiled models take them."""
        return tuple(structure.tensors_in((self.args, self.kwargs)))

    @property
    def input_names(self) -> tuple[str, ...]:
        """The name of each of `inputs`: that of its parameter of `forward`, and its path inside it."""
        return tuple(leaf.path for name, value in self._named() for leaf in structure.leaves(value, name))

    @property
    def held(self) -> dict[str, torch.Tensor]:
        """The dense tensors that objects among the arguments hold, such as a cache, by path. They are no inputs."""
        import torch

        found = (leaf for name, value in self._named() for leaf in structure.held(value, name))
        return {path: tensor for path, tensor in found if tensor.layout == torch.strided}

    def with_inputs(self, tensors: Iterable[torch.Tensor]) -> Built:
        """Return the workload with these tensors in place of `inputs`."""
        args, kwargs = structure.with_tensors((self.args, self.kwargs), tensors)
        return replace(self, args=args, kwargs=kwargs)

    @property
    def signature(self) -> inspect.Signature:
        """How `forward` can be called."""
        import torch

        if not isinstance(self.module, torch.jit.ScriptModule):
            return inspect.signature(self.module.forward)
        kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        forward: Any = self.module.forward
        _, *arguments = forward.schema.arguments
        return inspect.Signature(
            [
                inspect.Parameter(each.name, kind, default=each.default_value if each.has_default_value() else empty)
                for each in arguments
            ]
        )

    def _named(self) -> Iterator[tuple[str, Any]]:
        """Yield each argument with the name of its parameter, or its place where `forward` names none."""
        parameters = self.signature.parameters.values()
        named = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        for index, value in enumerate(self.args):
            yield (named[index] if index < len(named) else f"args[{index}]"), value
        yield from self.kwargs.items()


@dataclass(frozen=True, slots=True)
class Construction:
    """How the code of a library builds a workload's module, without this package.

    Attributes:
        imports: lines that import what the expression uses.
        expression: gives the module, with any weights.
    """

    imports: tuple[str, ...]
    expression: str


class Family(Protocol):
    """A kind of workload."""

    priority: int
    """Families are asked in rising order of priority. The first that owns a name gets it.

    A family that takes sizes of the user's own has `takes = ("sizes",)` too, and one that runs the user's code
    `runs_user_code = True`: what that sets in PyTorch holds for its own workload. One whose modules a library builds
    may have a method `construction(case)`, which returns a `Construction`, or None for a case that it has none for.
    """

    def owns(self, name: str) -> bool:
        """Return whether a workload of this name belongs here. Import no framework and read no file."""
        ...

    def check(self, case: Case) -> None:
        """Raise `UsageError` for an impossible case (depth, width, a missing file). Import no framework."""
        ...

    def build(self, case: Case) -> Built:
        """Build the module and its arguments, the same on every call. Raise `Unsupported` where there is no module."""
        ...

    def export(self, case: Case, folder: Path) -> Artifact:
        """Write the artifact into `folder`, which is empty: the same on every call."""
        ...


def taken(name: str) -> tuple[str, ...]:
    """Return the fields of a case, of those in `OPTIONAL`, that a workload's family takes: its attribute `takes`."""
    return tuple(getattr(family(name), "takes", ()))


def check(case: Case) -> None:
    """Raise `UsageError` for an impossible case, or one with a size that nothing takes. Import no framework."""
    for name, instead in OPTIONAL.items():
        if getattr(case, name) and name not in taken(case.workload):
            given = f"size {sizes_label(case.sizes)}" if name == "sizes" else name
            raise UsageError(f"{given}: {case.workload} takes no {name}. Leave it out, or {instead}.")
    family(case.workload).check(case)


@cache
def family(name: str) -> Family:
    """Return the family that owns a workload's name."""
    families: list[Family] = [entry_points.load(GROUP, "family", n)() for n in entry_points.registered(GROUP)]
    return next(f for f in sorted(families, key=lambda f: f.priority) if f.owns(name))


def modules_of(name: str) -> tuple[str, str]:
    """Return the modules in which a workload's code begins: its family's, and the one that an import string names."""
    return type(family(name)).__module__, name.removeprefix("./").replace("/", ".").partition(":")[0]


def runs_user_code(name: str) -> bool:
    """Return whether a workload is built by code of the user, which may set anything in PyTorch."""
    return bool(getattr(family(name), "runs_user_code", False))


def build(case: Case) -> Built:
    """Build the case's workload. Raise `Unsupported` for an ONNX file, which has no PyTorch module.

    What its code sets in PyTorch stands until another is built or exported: the module may need it when it is called.
    """
    with torch_settings.standing(needs_torch=runs_user_code(case.workload)):
        return family(case.workload).build(case)


def construction(case: Case) -> Construction | None:
    """Return how a library builds the case's module; None where only the case's family can build it."""
    method = getattr(family(case.workload), "construction", None)
    found: Construction | None = method(case) if method else None
    return found


def call(function: str, *arguments: object, **named: object) -> str:
    """Return a call as Python: `create_model('resnet18', num_classes=10)`."""
    given = [repr(value) for value in arguments] + [f"{name}={value!r}" for name, value in named.items()]
    return f"{function}({', '.join(given)})".replace("'", '"')
