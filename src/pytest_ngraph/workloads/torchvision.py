"""Models of torchvision, `torchvision:resnet50`: classification, segmentation, detection, video, optical flow."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import Built, Construction, call
from pytest_ngraph.workloads.export import export_module
from pytest_ngraph.workloads.seeding import normal, seeded
from pytest_ngraph.workloads.weights import draw_constants, take_statistics
from pytest_ngraph.workloads.whole_models import refuse_depth_and_width, refuse_other_sizes, unknown_model

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    import torch

    from pytest_ngraph.artifact import Artifact
    from pytest_ngraph.case import Case

PREFIX = "torchvision:"
FRAMES = 16
"""Frames of a video, where the model does not need more."""


class TorchVision:
    """Any model that `torchvision.models.list_models()` names, after the prefix `torchvision:`.

    Model arguments go to the model's builder. Weights are random, and nothing is downloaded, unless `pretrained=True`.
    An untrained detector reports nothing at its trained score threshold, which would verify nothing; its threshold is 0
    unless the model arguments set one. Its norms get the statistics of a call, so that not all scores are the same.

    The sizes are those of the weights' own transforms, or of the detector's. The size `image` sets another height and
    width, and `frames` the frames of a video.
    """

    priority = 25
    takes = ("sizes",)

    def owns(self, name: str) -> bool:
        return name.startswith(PREFIX)

    def check(self, case: Case) -> None:
        refuse_depth_and_width(case)
        refuse_other_sizes(case, ("image", "frames"))

    def build(self, case: Case) -> Built:
        self.check(case)
        arguments = dict(case.model_args)
        models = _import(case.workload)
        with seeded():
            module = _create(models, case.workload.removeprefix(PREFIX), arguments)
            if not arguments.get("pretrained"):
                draw_constants(module)
                _report_everything(module, arguments)
                if _kind(models, case.workload.removeprefix(PREFIX)) == "detection":
                    take_statistics(module, _inputs(models, module, replace(case, batch_size=1, sizes=())))
        return Built(module.eval(), _inputs(models, module, case))

    def export(self, case: Case, folder: Path) -> Artifact:
        return export_module(case, self.build(case), folder)

    def construction(self, case: Case) -> Construction | None:
        """Return how torchvision builds the model; None where weights or this family change what is built."""
        models = _import(case.workload)
        name = case.workload.removeprefix(PREFIX)
        arguments = dict(case.model_args)
        if arguments.pop("pretrained", False) or _kind(models, name) not in ("", "video"):
            return None
        expression = call("torchvision.models.get_model", name, weights=None, **arguments)
        return Construction(("import torchvision.models",), expression)


def _import(workload: str) -> ModuleType:
    try:
        import torchvision.models
    except (ImportError, RuntimeError) as error:  # RuntimeError: torchvision built for another version of torch
        raise Unsupported(
            f"{workload} needs torchvision, which cannot be imported ({first_line(error)}): "
            f'pip install "pytest-ngraph[torchvision]"'
        ) from error
    models: ModuleType = torchvision.models
    return models


def _create(models: ModuleType, name: str, arguments: dict[str, Any]) -> torch.nn.Module:
    if name not in models.list_models():
        raise unknown_model("torchvision", name, models.list_models(), "torchvision.models.list_models()")
    further = {key: value for key, value in arguments.items() if key != "pretrained"}
    weights: dict[str, Any] = {"weights": "DEFAULT" if arguments.get("pretrained") else None}
    if _kind(models, name) in ("detection", "segmentation"):
        weights["weights_backbone"] = None  # else the backbone's weights are downloaded
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # GoogLeNet and Inception announce other initial weights
            module: torch.nn.Module = models.get_model(name, **weights, **further)
    except (TypeError, ValueError) as error:
        given = ", ".join(f"{key}={value}" for key, value in further.items())
        raise UsageError(f"torchvision does not build {name} with ({given}): {first_line(error)}") from error
    return module


def _kind(models: ModuleType, name: str) -> str:
    """Return the folder of torchvision in which the model lies: detection, video, ...; empty for classification."""
    path: str = models.get_model_builder(name).__module__
    kind = path.removeprefix("torchvision.models.").partition(".")
    return kind[0] if kind[2] else ""


def _report_everything(module: torch.nn.Module, arguments: dict[str, Any]) -> None:
    """Set the score threshold of a detector to 0, unless the arguments set one."""
    parts: tuple[Any, ...] = (module, getattr(module, "roi_heads", None))
    for part in parts:
        if hasattr(part, "score_thresh") and not any(name.endswith("score_thresh") for name in arguments):
            part.score_thresh = 0.0


def _inputs(models: ModuleType, module: torch.nn.Module, case: Case) -> tuple[Any, ...]:
    name = case.workload.removeprefix(PREFIX)
    kind = _kind(models, name)
    sizes = dict(case.sizes)
    height, width = (sizes["image"],) * 2 if "image" in sizes else _image_size(models, module, name)
    if "frames" in sizes and kind != "video":
        raise UsageError(f"size frames={sizes['frames']}: {case.workload} takes images, not videos. Leave it out.")
    if kind == "detection":  # it takes a list of images, each of its own size
        return (list(normal(case.batch_size, 3, height, width).sigmoid()),)
    if kind == "optical_flow":
        first, second = normal(2, case.batch_size, 3, height, width).tanh()
        return first, second
    if kind == "video":
        frames = sizes.get("frames", max(FRAMES, _weights(models, name).meta.get("min_temporal_size", 0)))
        return (normal(case.batch_size, 3, frames, height, width),)
    return (normal(case.batch_size, 3, height, width),)


def _image_size(models: ModuleType, module: torch.nn.Module, name: str) -> tuple[int, int]:
    """Return height and width that the module was built for, else as the transforms of the model's weights give them.

    A vision transformer takes images of one size only, and without weights it may be built for another than with them.
    """
    if built_for := getattr(module, "image_size", None):
        return built_for, built_for
    own = getattr(module, "transform", None)  # a detector resizes images itself
    if own is not None:
        height, width = own.fixed_size or (own.min_size[-1],) * 2
        return height, width
    weights = _weights(models, name)
    transforms = weights.transforms()
    size = getattr(transforms, "crop_size", None) or getattr(transforms, "resize_size", None)
    height, *rest = size or weights.meta["min_size"]
    return height, rest[0] if rest else height


def _weights(models: ModuleType, name: str) -> Any:
    """Return the description of the model's default weights. It downloads nothing."""
    return models.get_model_weights(name).DEFAULT
