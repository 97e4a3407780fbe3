"""Cut the wrapper that AOTInductor writes in C++ into parts that can be compiled side by side.

A part has the declarations that it needs and some of the file's functions, unchanged. Where a wrapper does not look as
expected, because another version of PyTorch has written it, it stays whole. So do kernels: cut, some of them become
other instructions, because the C++ compiler inlines by what else is in the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WRAPPER = ".wrapper.cpp"
"""End of the name of a wrapper."""
CONSTRUCTOR = "\nAOTInductorModel::AOTInductorModel("
"""Begins the model's constructor, which describes every weight."""
BEFORE_RUNNING = (
    "} // namespace torch::aot_inductor\nusing namespace torch::aot_inductor;\nnamespace torch::aot_inductor {\n"
)
"""Between the constructor and the functions that run the model."""


@dataclass(frozen=True, slots=True)
class Part:
    """C++ that compiles by itself.

    Attributes:
        is_common: whether it is the same for every model.
    """

    text: str
    is_common: bool = False


def parts(file: str, text: str) -> list[Part]:
    """Return the parts of a file of this name, the longest first; one part where it is not cut."""
    if not file.endswith(WRAPPER):
        return [Part(text)]
    return sorted(_of_wrapper(text), key=lambda part: (part.is_common, -len(part.text)))


def _of_wrapper(text: str) -> list[Part]:
    """Return PyTorch's interface, the constructor, and what runs the model."""
    interface = _interface()
    if not interface or any(text.count(mark) != 1 for mark in (interface, CONSTRUCTOR, BEFORE_RUNNING)):
        return [Part(text)]
    before, model = text.split(interface)
    declarations, _, functions = model.partition(CONSTRUCTOR)
    constructor, _, running = functions.partition(BEFORE_RUNNING)
    included = "".join(re.findall(r"^#include .*\n", interface, re.MULTILINE))
    head = f"{before}{included}{declarations}"
    return [
        Part(f"{before}{interface}", is_common=True),
        Part(f"{head}{CONSTRUCTOR}{constructor}}} // namespace torch::aot_inductor\n"),
        Part(f"{head}\n{BEFORE_RUNNING}{running}"),
    ]


@cache
def _interface() -> str:
    """Return the source of the interface that PyTorch writes into every wrapper; empty if this version has none."""
    import torch._inductor.codegen

    path = Path(torch._inductor.codegen.__path__[0]) / "aoti_runtime" / "interface.cpp"
    return path.read_text() if path.is_file() else ""
