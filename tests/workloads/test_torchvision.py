from __future__ import annotations

import sys

import pytest
import torch

from pytest_ngraph import workloads
from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.errors import Unsupported, UsageError

pytest.importorskip("torchvision")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("downloads weights")

    monkeypatch.setattr("torch.hub.load_state_dict_from_url", refuse)
    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", refuse)


def _case(name: str, batch_size: int = 2, sizes: dict[str, int] | None = None, **model_args: Scalar) -> Case:
    return Case(
        workload=f"torchvision:{name}",
        compiler="identity",
        batch_size=batch_size,
        sizes=tuple(sorted((sizes or {}).items())),
        model_args=tuple(sorted(model_args.items())),
    )


@pytest.mark.parametrize(
    ("case", "shapes"),
    [
        (_case("mobilenet_v3_small"), [(2, 3, 224, 224)]),
        (_case("inception_v3", batch_size=1), [(1, 3, 299, 299)]),
        (_case("mobilenet_v3_small", sizes={"image": 64}), [(2, 3, 64, 64)]),
        (_case("lraspp_mobilenet_v3_large"), [(2, 3, 520, 520)]),
        (_case("mc3_18"), [(2, 3, 16, 112, 112)]),
        (_case("mc3_18", sizes={"frames": 4, "image": 56}), [(2, 3, 4, 56, 56)]),
        (_case("ssdlite320_mobilenet_v3_large"), [(3, 320, 320), (3, 320, 320)]),
        (_case("vit_b_32", batch_size=1, image_size=64), [(1, 3, 64, 64)]),
        (_case("raft_small"), [(2, 3, 128, 128), (2, 3, 128, 128)]),
    ],
    ids=lambda value: value.id if isinstance(value, Case) else None,
)
def test_the_input_is_what_the_model_is_made_for(case: Case, shapes: list[tuple[int, ...]]) -> None:
    built = workloads.build(case)
    assert [tuple(tensor.shape) for tensor in built.inputs] == shapes
    assert not built.module.training


@pytest.mark.parametrize("name", ["mobilenet_v3_small", "mc3_18"])
def test_models_run_on_their_inputs(name: str) -> None:
    built = workloads.build(_case(name, batch_size=1))
    with torch.no_grad():
        output = built.module(*built.args)
    assert output.isfinite().all()
    assert 0.001 < output.std() < 1000


def test_an_untrained_detector_reports_something() -> None:
    built = workloads.build(_case("ssdlite320_mobilenet_v3_large"))
    with torch.no_grad():
        outputs = built.module(*built.args)
    assert [output.keys() for output in outputs] == [{"boxes", "scores", "labels"}] * 2
    assert all(len(output["boxes"]) for output in outputs)


def test_the_scores_of_an_untrained_detector_differ() -> None:
    """Where all are the same, rounding chooses what is reported, and compilers seem to be wrong."""
    built = workloads.build(_case("ssdlite320_mobilenet_v3_large"))
    with torch.no_grad():
        scores = built.module(*built.args)[0]["scores"]
    assert (scores.diff().abs() > 1e-4 * scores.max()).float().mean() > 0.8


def test_the_score_threshold_of_a_detector_is_the_users_where_given() -> None:
    module = workloads.build(_case("ssdlite320_mobilenet_v3_large", score_thresh=0.7)).module
    assert module.score_thresh == 0.7


def test_building_twice_gives_the_same() -> None:
    first, second = (workloads.build(_case("mobilenet_v3_small")).module.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_pretrained_asks_for_the_weights() -> None:
    with pytest.raises(AssertionError, match="downloads weights"):
        workloads.build(_case("mobilenet_v3_small", pretrained=True))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (_case("resnet_18"), r"unknown torchvision model 'resnet_18'\. Nearest: .*resnet18.*package\.module:function"),
        (_case("qqqqqqqqqqqqqqqqqq"), r"torchvision\.models\.list_models\(\)"),
        (_case("resnet18", drop_rat=0.1), r"does not build resnet18 with \(drop_rat=0\.1\)"),
        (_case("mobilenet_v3_small", sizes={"frames": 8}), "size frames=8: .* takes images, not videos"),
        (_case("mobilenet_v3_small", sizes={"img": 8}), "unknown size of torchvision:mobilenet_v3_small 'img'"),
    ],
    ids=["near name", "far name", "argument", "frames", "size"],
)
def test_what_cannot_be_built_says_what_can(case: Case, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        workloads.build(case)


def test_whole_models_have_no_depth() -> None:
    case = Case(workload="torchvision:resnet18", compiler="identity", batch_size=1, depth=2)
    with pytest.raises(UsageError, match="depth=2: torchvision:resnet18 is a whole model and has no depth"):
        workloads.check(case)


def test_without_torchvision_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision.models", None)
    with pytest.raises(Unsupported, match=r'pip install "pytest-ngraph\[torchvision\]"'):
        workloads.build(_case("resnet18"))
