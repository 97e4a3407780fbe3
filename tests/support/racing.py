"""What a race of made-up compilers has to choose from."""

from __future__ import annotations

import dataclasses

from pytest_ngraph.advise.candidates import Axes
from pytest_ngraph.case import CompilerSpec

OPTIONS = {"openvino": {"openvino:streams=2": 1.0}, "onnxruntime": {"onnxruntime:rewrite=true": 1.0}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MadeUpAxes(Axes):
    """Axes whose compilers need not be installed."""

    def options_of(self, compiler: str) -> dict[str, float]:
        return {} if CompilerSpec.parse(compiler).options else OPTIONS.get(compiler, {})
