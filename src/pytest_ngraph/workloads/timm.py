"""Whole models of the timm library, by timm's names."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import Built, Construction, call
from pytest_ngraph.workloads.export import export_module
from pytest_ngraph.workloads.seeding import normal, seeded
from pytest_ngraph.workloads.weights import draw_constants
from pytest_ngraph.workloads.whole_models import refuse_depth_and_width, unknown_model

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import ModuleType

    import torch

    from pytest_ngraph.artifact import Artifact
    from pytest_ngraph.case import Case


class Timm:
    """Any timm model. Model arguments go to `timm.create_model`; weights are random unless `pretrained=True`.

    The input is (batch, channels, height, width) from the model's own configuration. `img_size` overrides it, also for
    models that take images of any size and therefore have no such argument.
    """

    priority = 100

    def owns(self, name: str) -> bool:
        return True

    def check(self, case: Case) -> None:
        refuse_depth_and_width(case)

    def build(self, case: Case) -> Built:
        self.check(case)
        arguments = dict(case.model_args)
        with seeded():
            module = create(case.workload, arguments)
            if not arguments.get("pretrained") and "checkpoint_path" not in arguments:
                draw_constants(module)
        return Built(module.eval(), (normal(case.batch_size, *_input_size(module, arguments)),))

    def export(self, case: Case, folder: Path) -> Artifact:
        return export_module(case, self.build(case), folder)

    def construction(self, case: Case) -> Construction | None:
        """Return how timm builds the model without weights; None for one that timm itself has to look up in a hub."""
        if "/" in case.workload:
            return None
        arguments = {name: value for name, value in case.model_args if name not in ("pretrained", "checkpoint_path")}
        if "img_size" in arguments:
            _, arguments = _created(case.workload, arguments)
        return Construction(("import timm",), call("timm.create_model", case.workload, **arguments))


def create(name: str, arguments: dict[str, Any]) -> torch.nn.Module:
    """Return the model that timm makes. Raise `UsageError` for a name or an argument that timm does not know."""
    module, _ = _created(name, arguments)
    return module


def _created(name: str, arguments: dict[str, Any]) -> tuple[torch.nn.Module, dict[str, Any]]:
    """Return the model as `create` does, and the arguments that timm took: some models take no `img_size`."""
    timm = _import(name)
    _check_name(timm, name)
    try:
        module: torch.nn.Module = timm.create_model(name, **arguments)
    except TypeError as error:
        unexpected = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unexpected is None:
            raise
        if unexpected[1] == "img_size":
            return _created(name, {key: value for key, value in arguments.items() if key != "img_size"})
        raise _unknown_argument(timm, name, unexpected[1]) from error
    return module, arguments


def _import(name: str) -> ModuleType:
    try:
        import timm
    except (ImportError, RuntimeError) as error:  # RuntimeError: torchvision built for another version of torch
        raise Unsupported(
            f"{name} is a timm model, and timm cannot be imported ({first_line(error)}): "
            f'pip install "pytest-ngraph[timm]"'
        ) from error
    module: ModuleType = timm
    return module


def _check_name(timm: ModuleType, name: str) -> None:
    if "/" in name:  # a model from a hub or a local folder: only timm can look it up
        return
    architecture, _, tag = name.partition(".")
    if not timm.is_model(architecture):
        raise unknown_model("timm", name, timm.list_models(), "timm.list_models()")
    tags = [known.partition(".")[2] for known in timm.list_models(f"{architecture}.*", pretrained=True)]
    if tag and tag not in tags:
        raise UsageError.unknown(f"pretrained tag of timm model {architecture}", tag, tags)


def _unknown_argument(timm: ModuleType, name: str, argument: str) -> UsageError:
    known = {"pretrained", "img_size", *_taken(timm.create_model(name))} - {"kwargs"}
    return UsageError.unknown(f"model argument of {name}", argument, known)


def _taken(module: torch.nn.Module) -> Iterable[str]:
    """Return the names of the arguments of a model's class."""
    return inspect.signature(type(module)).parameters


def _input_size(module: torch.nn.Module, arguments: dict[str, Any]) -> tuple[int, int, int]:
    from timm.data import resolve_model_data_config

    channels, height, width = resolve_model_data_config(module)["input_size"]
    size = arguments.get("img_size")
    return arguments.get("in_chans", channels), size or height, size or width
