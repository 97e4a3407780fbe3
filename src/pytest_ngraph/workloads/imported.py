"""The user's own models: a function given by its import string, `package.module:function`."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.case import FP32
from pytest_ngraph.errors import NgraphError, UsageError
from pytest_ngraph.system.user_functions import is_import_string, user_function
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import Built, modules_of, torch_settings
from pytest_ngraph.workloads.copies import own
from pytest_ngraph.workloads.export import export_module
from pytest_ngraph.workloads.own_types import has_halves
from pytest_ngraph.workloads.refusals import CallError, reason, to_see
from pytest_ngraph.workloads.returned import AT_SIZE, IMAGE_SHAPE, at_batch_size, workload
from pytest_ngraph.workloads.seeding import seeded
from pytest_ngraph.workloads.tensors import converted, module_in
from pytest_ngraph.workloads.uncompiled import uncompiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact
    from pytest_ngraph.case import Case

OWN_INPUTS = (
    f"A module that is returned alone runs on images of {'x'.join(map(str, IMAGE_SHAPE))}. For other inputs, return "
    "them with it: (module, tensor)"
)


class Imported:
    """A function that returns a module, or a module and what it is called with (`returned.py` has the forms).

    It is called with the model arguments and the user's own sizes, and with `batch_size`, `depth` and `width` where it
    accepts them. A module alone gets images of (batch, 3, 224, 224). Inputs are used as given, but repeated along the
    first axis to the batch size, unless the function made them for it; of more samples the first ones are taken. The
    user's module is not changed, if it can be copied. Random weights are seeded, whether the function draws them or its
    Python module does at import.
    """

    priority = 30
    takes = ("sizes",)
    runs_user_code = True

    def owns(self, name: str) -> bool:
        return ":" in name and ("/" not in name or ".py:" in name)  # a slash: one of timm's hubs, hf-hub:owner/model

    def check(self, case: Case) -> None:
        module, _, function = case.workload.removeprefix("./").replace("/", ".").partition(":")
        if not is_import_string(f"{module}:{function}"):
            raise UsageError(f"workload {case.workload!r} is not an import string. Write package.module:function.")
        if module.endswith(".py"):
            imported = f"{module.removesuffix('.py')}:{function}"
            raise UsageError(f"workload {case.workload!r} is a path. Write an import string: {imported}.")

    def build(self, case: Case) -> Built:
        return _fitted(self._returned(case), case)

    def export(self, case: Case, folder: Path) -> Artifact:
        returned = self._returned(case)
        halves, shapes = has_halves(returned.built.module), [tensor.shape for tensor in returned.built.inputs]
        built = _fitted(returned, case)
        del returned  # its weights, where they were cast
        try:
            return export_module(case, built, folder)
        except CallError as error:
            raise UsageError(f"{error} {_next_step(shapes, built, halves=halves)}.") from error

    def _returned(self, case: Case) -> _Returned:
        self.check(case)
        # Separately: the function's random numbers must not depend on who imported its module.
        with torch_settings.of_module(modules_of(case.workload)[1]), seeded():
            function = _function(case.workload)
        arguments = _accepted_arguments(function, case)
        with seeded():
            returned = _called(function, arguments, case)
        return _Returned(workload(returned, case), made_for_it="batch_size" in arguments)


class _Returned(NamedTuple):
    """What the user's function returned.

    Attributes:
        built: the workload, its inputs and its module as the function returned them.
        made_for_it: the function was given the batch size.
    """

    built: Built
    made_for_it: bool


def _function(text: str) -> Callable[..., object]:
    """Import the user's function. Raise `UsageError` where it cannot be."""
    try:
        return user_function(text, "workload", "returns a torch.nn.Module")
    except UsageError as error:
        if not text.startswith("timm:"):
            raise
        name = text.removeprefix("timm:")
        raise UsageError(f"{error} timm's models have no prefix: for one of these, write workload={name!r}.") from error


def _called(function: Callable[..., object], arguments: dict[str, object], case: Case) -> object:
    """Return what the user's function returns. Raise `UsageError` with what it raises."""
    try:
        return function(**arguments)
    except (MemoryError, NgraphError):
        raise
    except (Exception, SystemExit) as error:
        raise UsageError(f"{case.workload} raises {reason(error)}. {to_see(case.workload, arguments)}") from error


def _fitted(returned: _Returned, case: Case) -> Built:
    """Return the workload at the case's batch size, on the CPU, in fp32 and evaluation mode unless it stays as it is.

    Raises:
        UsageError: it cannot be made so.
    """
    built = returned.built
    try:
        tensors = [_ordinary(tensor.detach().cpu()) for tensor in built.inputs]
    except NotImplementedError as error:
        raise UsageError(
            f"{case.workload} returned an input without values ({first_line(error)}). Make inputs on the CPU."
        ) from error
    module = own(uncompiled(built.module), None if built.as_is else FP32)
    sized = at_batch_size(replace(built, module=module).with_inputs(tensors), case, made_for_it=returned.made_for_it)
    if not sized.as_is:
        sized = _in_fp32(sized, case)
    elif case.precision != FP32:
        raise UsageError(
            f"{case.workload} is left as it is (as_is=True), so it cannot be cast to {case.precision}. Leave out "
            "precision, or as_is."
        )
    return _initialized(sized, case)


def _ordinary(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor as it would be if it had not been made in inference mode."""
    return tensor.clone() if tensor.is_inference() else tensor


def _initialized(built: Built, case: Case) -> Built:
    """Return the workload with the weights of its lazy layers, which draw them when they are first called."""
    import torch

    if any(map(torch.nn.parameter.is_lazy, built.module.parameters())):
        try:
            with seeded(), torch.no_grad():
                built.module(*built.args, **built.kwargs)
        except Exception as error:
            raise CallError(case.workload, built, error) from error
    return built


def _next_step(returned: Sequence[torch.Size], built: Built, *, halves: bool) -> str:
    """Return what to change where a module refuses its inputs.

    Args:
        returned: the shapes of the inputs that the function returned.
        built: the workload as it was called.
        halves: parts of the module were in half precision.
    """
    if [tensor.shape[1:] for tensor in built.inputs] == [IMAGE_SHAPE]:
        return OWN_INPUTS
    if halves and not built.as_is:
        return "All of it was put into fp32. To leave it as it is, return pytest_ngraph.Built(module, args, as_is=True)"
    if returned != [tensor.shape for tensor in built.inputs]:
        return f"The first axis of its inputs was taken for the batch, and given its size. {AT_SIZE}"
    return "Return inputs that it takes, or correct its forward"


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


def _in_fp32(built: Built, case: Case) -> Built:
    """Return the workload with its module in evaluation mode and all numbers in fp32, complex ones as two of these."""
    fp32 = (converted(tensor, FP32) for tensor in built.inputs)
    try:
        module = module_in(built.module, FP32).eval()
    except Exception as error:  # modules of libraries refuse this in their own ways
        raise UsageError(
            f"{case.workload}: its module cannot be put into fp32 and evaluation mode ({type(error).__name__}: "
            f"{first_line(error)}). To leave it as it is, return pytest_ngraph.Built(module, args, as_is=True)."
        ) from error
    return replace(built.with_inputs(fp32), module=module)
