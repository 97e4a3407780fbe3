"""The study's groups of workloads: families of three sizes, and their style (study, Table IV)."""

from __future__ import annotations

from typing import NamedTuple

CONVOLUTIONAL, TRANSFORMER, HYBRID = "Convolutional", "Transformer", "Hybrid"
SIZES = ("small", "medium", "large")
STUDY_SIZE = ",img_size=224"
"""The study's image size, for models whose default in timm differs."""
BLOCKS = {"conv": CONVOLUTIONAL, "mha": TRANSFORMER}
"""The workloads that stack blocks, and their style (study, Table V)."""


class Architecture(NamedTuple):
    """A workload as the study describes it.

    Attributes:
        name: as the study writes it, `ResNet-18`.
        family: without the size, `ResNet`.
        size: one of `SIZES`; empty for a workload that the study does not have.
        style: also empty then, except for blocks.
    """

    name: str
    family: str
    size: str = ""
    style: str = ""


def _family(family: str, style: str, *models: tuple[str, str]) -> dict[str, Architecture]:
    return {
        workload: Architecture(name, family, size, style) for size, (workload, name) in zip(SIZES, models, strict=True)
    }


ARCHITECTURES = {
    **_family(
        "ResNet", CONVOLUTIONAL, ("resnet18", "ResNet-18"), ("resnet50", "ResNet-50"), ("resnet101", "ResNet-101")
    ),
    **_family(
        "EfficientNet",
        CONVOLUTIONAL,
        ("efficientnet_b3", "EfficientNet-B3"),
        ("efficientnet_b4", "EfficientNet-B4"),
        ("efficientnet_b5", "EfficientNet-B5"),
    ),
    **_family(
        "DeiT",
        TRANSFORMER,
        ("deit3_small_patch16_224", "DeiT-Small"),
        ("deit3_medium_patch16_224", "DeiT-Medium"),
        ("deit3_base_patch16_224", "DeiT-Base"),
    ),
    **_family(
        "Swin",
        TRANSFORMER,
        ("swin_s3_tiny_224", "Swin-Tiny"),
        ("swin_s3_small_224", "Swin-Small"),
        ("swin_s3_base_224", "Swin-Base"),
    ),
    **_family(
        "ConvNeXt",
        HYBRID,
        ("convnext_tiny", "ConvNeXt-Tiny"),
        ("convnext_small", "ConvNeXt-Small"),
        ("convnext_base", "ConvNeXt-Base"),
    ),
}
"""The fifteen models of the study by their names in timm, in the order of its Table IV."""


def architecture(label: str) -> Architecture:
    """Return the study's description of a workload with its arguments (`Case.model_label`).

    A workload that the study does not have, or has with other arguments, is a family of its own. A block keeps its
    style whatever its arguments.
    """
    if (block := label.partition(",")[0]) in BLOCKS:
        return Architecture(label, label, style=BLOCKS[block])
    return ARCHITECTURES.get(label.removesuffix(STUDY_SIZE), Architecture(label, label))
