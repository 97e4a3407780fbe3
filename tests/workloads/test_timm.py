from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
import torch

from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.workloads import Built, counts
from pytest_ngraph.workloads.timm import Timm, create

TABLE_IV = list(csv.DictReader((Path(__file__).parents[1] / "data" / "table4_models.csv").open()))
SMALLEST_OF_EACH_FAMILY = {row["family"]: row["timm_name"] for row in reversed(TABLE_IV)}


pytest.importorskip("timm")


def _case(workload: str, **model_args: Scalar) -> Case:
    return Case(workload=workload, compiler="identity", batch_size=1, model_args=tuple(model_args.items()))


def _without_weights(name: str) -> torch.nn.Module:
    """Return the model on the meta device, or with weights where timm is too old for that."""
    try:
        with torch.device("meta"):
            return create(name, {})
    except RuntimeError:
        return create(name, {})


@pytest.mark.parametrize("row", TABLE_IV, ids=lambda row: row["timm_name"])
def test_models_are_those_of_the_study(row: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torchinfo")
    monkeypatch.setattr(counts, "_count_flops", lambda *_: None)  # which the study does not have
    found = counts.count(Built(_without_weights(row["timm_name"]).eval(), (torch.empty(1, 3, 224, 224),)), 1)
    assert found.parameters == int(row["parameters"])
    assert found.mult_adds == int(row["torchinfo_mult_adds_at_224"])


@pytest.mark.parametrize("name", SMALLEST_OF_EACH_FAMILY.values())
def test_untrained_weights_hide_no_branch_and_keep_outputs_moderate(name: str) -> None:
    built = Timm().build(_case(name))
    constant = [key for key, value in built.module.named_parameters() if (value == value.flatten()[0]).all()]
    assert not constant
    with torch.inference_mode():
        output = built.module(*built.inputs)
    assert output.isfinite().all()
    assert 0.01 < output.std() < 100


def test_building_twice_gives_the_same() -> None:
    first, second = (Timm().build(_case("resnet18")).module.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    ("case", "shape"),
    [
        (_case("resnet18"), (1, 3, 224, 224)),
        (_case("efficientnet_b3"), (1, 3, 288, 288)),
        (_case("resnet18", img_size=64), (1, 3, 64, 64)),
        (_case("deit3_small_patch16_224", img_size=64), (1, 3, 64, 64)),
        (_case("resnet18", in_chans=1, img_size=64), (1, 1, 64, 64)),
    ],
    ids=lambda value: value.id if isinstance(value, Case) else None,
)
def test_the_input_is_what_the_model_is_made_for(case: Case, shape: tuple[int, ...]) -> None:
    built = Timm().build(case)
    assert built.inputs[0].shape == shape
    assert not built.module.training
    with torch.inference_mode():
        assert built.module(*built.inputs).shape == (1, 1000)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (_case("resnet_18"), r"unknown timm model 'resnet_18'\. Nearest: .*resnet18.*package\.module:function"),
        (_case("qqqqqqqqqqqqqqqqqq"), r"timm\.list_models\(\)"),
        (_case("resnet18.a1_in2k"), "unknown pretrained tag of timm model resnet18 'a1_in2k'. Did you mean 'a1_in1k'"),
        (_case("resnet18", drop_rat=0.1), "unknown model argument of resnet18 'drop_rat'. Did you mean 'drop_rate'"),
    ],
    ids=["near name", "far name", "tag", "argument"],
)
def test_unknown_names_are_refused_with_what_is_known(case: Case, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Timm().build(case)


def test_weights_from_a_checkpoint_are_left_alone(tmp_path: Path) -> None:
    module = create("mobilenetv3_small_050", {})
    torch.save(module.state_dict(), tmp_path / "weights.pth")
    case = _case("mobilenetv3_small_050", checkpoint_path=str(tmp_path / "weights.pth"))
    loaded = Timm().build(case).module.state_dict()
    assert all(torch.equal(value, loaded[name]) for name, value in module.state_dict().items())


@pytest.mark.parametrize(
    ("case", "takes"),
    [
        (_case("deit_tiny_distilled_patch16_224", img_size=256), True),
        (_case("deit_tiny_patch16_224", img_size=256), True),
        (_case("vit_tiny_patch16_224", img_size=256, features_only=True), True),
        (_case("resnet18", img_size=256), False),
        (_case("resnet18", img_size=256, features_only=True), False),
    ],
    ids=["hidden in **kwargs", "named", "features", "any size", "features of any size"],
)
def test_the_construction_is_of_the_model_that_is_measured(case: Case, takes: bool) -> None:
    found = Timm().construction(case)
    assert found is not None
    assert ("img_size=256" in found.expression) == takes
    module: torch.nn.Module = eval(found.expression, {"timm": pytest.importorskip("timm")})  # noqa: S307
    module.load_state_dict(Timm().build(case).module.state_dict())


@pytest.mark.parametrize("size", ["depth", "width"])
def test_whole_models_have_no_depth_or_width(size: str) -> None:
    case = Case(workload="resnet18", compiler="identity", batch_size=1, **{size: 2})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"{size}=2: resnet18 is a whole model and has no {size}"):
        Timm().check(case)


def test_without_timm_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(Unsupported, match=r'pip install "pytest-ngraph\[timm\]"'):
        Timm().build(_case("resnet18"))
