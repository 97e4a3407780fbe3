"""The user's own models: a function given by its import string, `package.module:function`."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.export import export_module, first_line
from pytest_ngraph.workloads.seeding import normal, seeded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact
    from pytest_ngraph.case import Case

IMAGE_SHAPE = (3, 224, 224)
OWN_INPUTS = (
    f"A module that is returned alone runs on images of {'x'.join(map(str, IMAGE_SHAPE))}. For other inputs, return "
    "them with it: (module, tensor)"
)


class Imported:
    """A function that returns a module, or a module and its example inputs (a tensor or several).

    It is called with the model arguments and the user's own sizes, and with `batch_size`, `depth` and `width` where it
    accepts them. A module alone gets images of (batch, 3, 224, 224). Example inputs are used as given, but repeated
    along the first axis to the batch size. The user's weights are not changed. Random weights are seeded, whether the
    function draws them or its Python module does at import.
    """

    priority = 30
    takes = ("sizes",)

    def owns(self, name: str) -> bool:
        return ":" in name and ("/" not in name or ".py:" in name)  # a slash: one of timm's hubs, hf-hub:owner/model

    def check(self, case: Case) -> None:
        module, _, function = case.workload.removeprefix("./").replace("/", ".").partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), *function.split("."))):
            raise UsageError(f"workload {case.workload!r} is not an import string. Write package.module:function.")
        if module.endswith(".py"):
            imported = f"{module.removesuffix('.py')}:{function}"
            raise UsageError(f"workload {case.workload!r} is a path. Write an import string: {imported}.")

    def build(self, case: Case) -> Built:
        import torch

        self.check(case)
        with seeded():  # separately: the function's random numbers must not depend on who imported its module
            function = _import_function(case.workload)
        arguments = _accepted_arguments(function, case)
        with seeded():
            module, examples = _split(function(**arguments), case)
        module = getattr(module, "_orig_mod", module)  # undoes torch.compile: it would be measured as eager PyTorch
        if isinstance(module, torch.jit.ScriptModule):
            raise UsageError(
                f"{case.workload} returned a ScriptModule, which is compiled already. Return the torch.nn.Module from "
                "which it was made, and use the compiler torchscript."
            )
        inputs = tuple(_repeat(tensor.detach().cpu(), case.batch_size) for tensor in examples)
        fp32 = tuple(tensor.float() if tensor.is_floating_point() else tensor for tensor in inputs)
        return Built(module.to("cpu", torch.float32).eval(), fp32)

    def export(self, case: Case, folder: Path) -> Artifact:
        built = self.build(case)
        try:
            return export_module(case, built, folder)
        except Exception as error:
            if [tensor.shape[1:] for tensor in built.inputs] == [IMAGE_SHAPE]:
                error.__notes__ = [OWN_INPUTS]  # type: ignore[attr-defined]  # Python 3.10 has no add_note
            raise


def _import_function(workload: str) -> Callable[..., object]:
    module_name, _, path = workload.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # importing runs the user's module, which may raise anything
        raise UsageError(
            f"workload {workload!r}: {module_name} cannot be imported ({type(error).__name__}: {first_line(error)}). "
            f"It must be importable from the folder in which pytest runs."
        ) from error
    for name in path.split("."):
        if not hasattr(found, name):
            functions = [key for key in dir(found) if callable(getattr(found, key)) and not key.startswith("_")]
            raise UsageError.unknown(f"function of {module_name}", path, functions)
        found = getattr(found, name)
    if not callable(found):
        raise UsageError(
            f"workload {workload!r}: {path} is not callable (type: {type(found).__name__}). "
            f"Name a function that returns a torch.nn.Module."
        )
    function: Callable[..., object] = found
    return function


def _accepted_arguments(function: Callable[..., object], case: Case) -> dict[str, object]:
    """Return the keyword arguments of the call. The function must accept all that the case sets, except batch size."""
    signature = inspect.signature(function)
    accepted = {p.name for p in signature.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    arguments: dict[str, object] = {**case.named_sizes}
    if twice := sorted(arguments.keys() & dict(case.model_args).keys()):
        raise UsageError(f"{case.workload}: {twice[0]} is given as a size and in model_args. Give it once.")
    arguments |= dict(case.model_args)
    for name in arguments:
        if name not in accepted and not takes_any:
            what = "size" if name in dict(case.sizes) else "argument"
            hint = "" if accepted else "It takes no arguments."
            raise UsageError.unknown(f"{what} of {case.workload}", name, accepted, hint)
    if "batch_size" in accepted:  # never into **kwargs, which often go on to a constructor
        arguments["batch_size"] = case.batch_size
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise UsageError(
            f"{case.workload}{signature} cannot be called: {error}. Give depth, width, sizes or model arguments."
        ) from error
    return arguments


def _split(returned: object, case: Case) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Return the module and its inputs, from any of the allowed return forms."""
    import torch

    if isinstance(returned, torch.nn.Module):
        return returned, (normal(case.batch_size, *IMAGE_SHAPE),)
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], torch.nn.Module):
        module, examples = returned
        inputs = (examples,) if isinstance(examples, torch.Tensor) else examples
        if isinstance(inputs, tuple | list) and inputs and all(isinstance(x, torch.Tensor) for x in inputs):
            return module, tuple(inputs)
    raise UsageError(
        f"{case.workload} returned {_describe(returned)}. Return a torch.nn.Module, "
        f"or a module and its example inputs: (module, tensor) or (module, (tensor, ...))."
    )


def _describe(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(type(part).__name__ for part in value)})"
    return type(value).__name__


def _repeat(tensor: torch.Tensor, batch_size: int) -> torch.Tensor:
    """Return the tensor's samples, repeated until there are `batch_size`."""
    if tensor.ndim == 0 or tensor.shape[0] in (0, batch_size):
        return tensor
    times = -(-batch_size // tensor.shape[0])
    return tensor.repeat(times, *(1 for _ in tensor.shape[1:]))[:batch_size].contiguous()
