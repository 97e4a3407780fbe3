"""Frameworks stay imported after a run of pytest in this process: most of them refuse to be imported twice."""

from __future__ import annotations

import sys

from _pytest import pytester

FRAMEWORKS = (
    "numpy",
    "onnx",
    "onnxruntime",
    "onnxscript",
    "openvino",
    "timm",
    "torch",
    "torchvision",
    "transformers",
    "tvm",
)


class _Keeping(pytester.SysModulesSnapshot):
    def restore(self) -> None:
        kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in FRAMEWORKS}
        super().restore()
        sys.modules.update(kept)


def install() -> None:
    """Have pytester keep what a run in this process is the first to import of a framework."""
    pytester.SysModulesSnapshot = _Keeping  # type: ignore[misc]
