"""The models that coverage is measured on."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from model_coverage.architectures import DECODERS, ENCODERS, OTHERS, STEPS

FAMILIES = ("transformers", "torchvision", "timm", "onnx")
NOT_MODELS = ("onnx", "onnxruntime")
"""Packages whose ONNX files are tests of single operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model.

    Attributes:
        family: one of `FAMILIES`.
        name: the model as the table names it.
        workload: its name as a workload.
        model_args: model arguments.
        sizes: sizes of the case.
        shapes: shapes of an ONNX file's inputs.
    """

    family: str
    name: str
    workload: str
    model_args: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, list[int | str]] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def entries(families: Sequence[str], folder: Path) -> list[Entry]:
    """Return the models of these families in turn, so that a run that ends early has some of each.

    Args:
        families: of `FAMILIES`.
        folder: keeps what takes long to find.
    """
    listed = {"transformers": transformers, "torchvision": torchvision, "onnx": onnx}
    found = [timm(folder) if family == "timm" else listed[family]() for family in families]
    return [each for each in chain.from_iterable(zip_longest(*found)) if each is not None]


def transformers() -> list[Entry]:
    """Return one model for each architecture at a tiny size, and each step of those that generate text.

    Encoders, models of text, and those of images and sound take turns.
    """
    found = []
    in_turn = chain.from_iterable(zip_longest(ENCODERS.items(), DECODERS.items(), OTHERS.items()))
    for name, (fields, sizes) in filter(None, in_turn):
        common = {"family": "transformers", "workload": f"hf:{name}", "sizes": sizes}
        for step in STEPS if name in DECODERS else ("",):
            arguments = {**fields, "step": step} if step else fields
            found.append(Entry(name=f"{name} {step}".strip(), model_args=arguments, **common))
    return found


def torchvision() -> list[Entry]:
    """Return every model that torchvision builds: the smallest of each architecture first, then the others by size."""
    from torchvision.models import get_model_builder, get_model_weights, list_models

    def parameters(name: str) -> int:
        return int(get_model_weights(name).DEFAULT.meta["num_params"])

    by_size = sorted(list_models(), key=parameters)
    smallest = {get_model_builder(name).__module__: name for name in reversed(by_size)}.values()
    ordered = dict.fromkeys([name for name in by_size if name in smallest] + by_size)
    return [Entry(family="torchvision", name=name, workload=f"torchvision:{name}") for name in ordered]


def timm(folder: Path) -> list[Entry]:
    """Return the model with the fewest parameters of each of timm's modules, the smallest of them first.

    Counting takes minutes, so that the result is kept with timm's version.
    """
    import timm as library

    kept = folder / f"timm-parameters-{library.__version__}.json"
    if not kept.exists():
        kept.write_text(json.dumps(dict(_smallest(library)), indent=1))
    parameters = json.loads(kept.read_text())
    return [Entry(family="timm", name=name, workload=name) for name in sorted(parameters, key=parameters.__getitem__)]


def _smallest(library: Any) -> Iterator[tuple[str, int]]:
    """Yield the model of each module with the fewest parameters, and their number."""
    import torch

    def parameters(name: str) -> int:
        with torch.device("meta"):
            return sum(each.numel() for each in library.create_model(name).parameters())

    for module in library.list_modules():
        counted = {}
        for name in library.list_models(module=module):
            try:
                counted[name] = parameters(name)
            except (RuntimeError, NotImplementedError):  # it computes with its weights when it is made
                counted[name] = sum(each.numel() for each in library.create_model(name).parameters())
        if counted:
            yield min(counted.items(), key=lambda item: item[1])


def onnx() -> list[Entry]:
    """Return the ONNX files that installed packages ship."""
    found = []
    for distribution in importlib.metadata.distributions():
        package = distribution.metadata["Name"]
        for file in distribution.files or ():
            if file.suffix == ".onnx" and package not in NOT_MODELS:
                path = str(Path(str(distribution.locate_file(file))).resolve())
                found.append(Entry(family="onnx", name=f"{package}: {file.name}", workload=path, **_axes(path)))
    return sorted(found, key=lambda entry: Path(entry.workload).stat().st_size)


def _axes(path: str) -> dict[str, Any]:
    """Return a size for each open axis beside the batch, as a user would who knows nothing of the model."""
    import onnx as library

    model = library.load(path, load_external_data=False)
    weights = {each.name for each in model.graph.initializer}
    shapes: dict[str, list[int | str]] = {}
    for value in model.graph.input:
        axes = value.type.tensor_type.shape.dim
        lengths = [axis.dim_value if axis.dim_value > 0 else None for axis in axes]
        if value.name not in weights and None in lengths:
            shapes[value.name] = _filled(lengths)
    return {"shapes": shapes}


def _filled(lengths: Sequence[int | None]) -> list[int | str]:
    """Return a shape with a size for each axis that is None: the first of these is the batch, as in most models."""
    batch = lengths.index(None)
    size = {2: 512, 3: 64}.get(len(lengths), 320)
    return [length or ("batch" if place == batch else size) for place, length in enumerate(lengths)]
