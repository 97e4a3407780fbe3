"""The family `hf:`: whole models of transformers, and the steps of those that generate text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.export import export_module
from pytest_ngraph.workloads.hugging_face import generation
from pytest_ngraph.workloads.hugging_face.inputs import Drawing
from pytest_ngraph.workloads.hugging_face.models import PREFIX, create, import_transformers
from pytest_ngraph.workloads.whole_models import refuse_depth_and_width, refuse_other_sizes

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact
    from pytest_ngraph.case import Case

SIZES = ("image", "seq_len")


class HuggingFace:
    """Any model of transformers whose inputs are text, images, videos or sound.

    After the prefix `hf:` comes a folder or file with a configuration, a type of model with its default configuration
    (`hf:bert`), or a name on the hub, of which only the configuration is fetched. Weights are random and seeded unless
    `pretrained=True`. `architecture` names another class, `attn_implementation` the kind of attention; all other model
    arguments set fields of the configuration (`num_hidden_layers=2`).

    A model that generates text runs one step: `step="prefill"` (the default), `"decode"`, or `"forward"` for a plain
    call without a cache. Sizes: `seq_len` (tokens of the text; of the cache, when decoding) and `image`. One that the
    model's inputs do not have is an error.
    """

    priority = 25
    takes = ("sizes",)

    def owns(self, name: str) -> bool:
        return name.startswith(PREFIX)

    def check(self, case: Case) -> None:
        refuse_depth_and_width(case)
        refuse_other_sizes(case, SIZES)
        step = dict(case.model_args).get("step")
        if step is not None and step not in generation.STEPS:
            raise UsageError.unknown(f"step of {case.workload}", step, generation.STEPS)

    def build(self, case: Case) -> Built:
        self.check(case)
        arguments: dict[str, Any] = dict(case.model_args)
        step = arguments.pop("step", None)
        architecture, pretrained = arguments.pop("architecture", None), bool(arguments.pop("pretrained", False))
        transformers = import_transformers(case.workload)
        name = case.workload.removeprefix(PREFIX)
        module = create(transformers, name, arguments, architecture=architecture, pretrained=pretrained)
        step = step or ("prefill" if _generates(module) else "forward")
        if step != "forward" and not _generates(module):
            raise UsageError(f"step={step}: {type(module).__name__} does not generate text. Leave it out.")
        drawing = Drawing(module, case.batch_size, dict(case.sizes), decodes=step == "decode")
        built = _built(module, drawing, step)
        for name, size in case.sizes:
            if name not in drawing.used:
                raise UsageError(
                    f"size {name}={size}: {type(module).__name__} takes nothing of that size. Leave it out."
                )
        return built

    def export(self, case: Case, folder: Path) -> Artifact:
        return export_module(case, self.build(case), folder)


def _generates(module: Any) -> bool:
    return bool(module.can_generate())


def _built(module: torch.nn.Module, drawing: Drawing, step: str) -> Built:
    if step == "decode":
        decode, inputs = generation.decode(module, drawing)
        return Built(decode, (), inputs, tokens=1, step="decode")
    inputs = drawing.inputs()
    tokens = inputs["input_ids"].shape[1] if "input_ids" in inputs else None
    if step == "prefill":
        return Built(generation.prefill(module), (), inputs, tokens=tokens, step="prefill")
    return Built(module, (), inputs, tokens=tokens)
