"""What is shown while single layers are measured."""

from __future__ import annotations

import dataclasses

from synthetic import case

from pytest_ngraph.bench.again.probing import OfLayer
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.case import Case
from pytest_ngraph.explain.layers import Layer
from pytest_ngraph.explain.widths import Slow

LAYER = Layer(kind="linear", outputs=66, inputs=30, input_shape=(1, 30))


class Shown(Silent):
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def doing(self, case: Case, text: str) -> None:
        self.lines.append((case.compiler, text))


def test_a_layer_is_named_with_the_width_that_is_tried() -> None:
    own, shown = case("openvino"), Shown()
    nearby = LAYER.nearby()
    widths = {layer.arguments["sizes"]: width for width, layer in nearby.items()}
    of_layer = OfLayer(shown, own, Slow(layer=LAYER, modules=("blocks.0.fc", "blocks.1.fc"), share=0.5), widths)
    for layer in (LAYER, nearby[72]):
        of_layer.phase(dataclasses.replace(own, model_args=tuple(sorted(layer.arguments.items()))), "compile")
    assert shown.lines == [
        ("openvino", "blocks.0.fc alone, 66 features: compile"),
        ("openvino", "blocks.0.fc alone, 72 features: compile"),
    ]
