from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from compiled import CPU, THROUGHPUT, Export, Load

from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import kinds
from pytest_ngraph.compilers.openvino import FILE, OpenVino, _refuse_device
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.workloads.verify import verify

openvino = pytest.importorskip("openvino")

CASE = Case(workload="mha", compiler="openvino", batch_size=2, width=16)


def test_fp32_is_fp32_on_processors_with_bf16(load: Load) -> None:
    assert load(CASE).facts["precision"] == "fp32"


def test_another_precision_than_the_targets_is_an_error() -> None:
    class Compiled:
        def get_property(self, name: str) -> Any:
            return {"EXECUTION_DEVICES": ["CPU"], "INFERENCE_PRECISION_HINT": openvino.Type.bf16}[name]

    with pytest.raises(NgraphError, match="asked to run fp32 on CPU, but runs bf16") as failure:
        OpenVino()._facts(Compiled(), CPU)
    assert not isinstance(failure.value, Unsupported)


def test_auto_is_configured_and_queried_by_device(load: Load, exported: Export) -> None:
    model = load(Case.from_dict(CASE.to_dict() | {"compiler": "openvino:device=AUTO,streams=2"}), THROUGHPUT)
    assert model.facts["precision"] == "fp32"
    assert verify(model.outputs(), exported(CASE).reference(), "fp32").agrees
    if openvino.Core().available_devices == ["CPU"]:
        assert model.facts["provider"] == "CPU"
        assert model.facts["threads"] == str(CPU.threads)
        assert model.facts["streams"] == str(model.concurrency) == "2"


def test_another_precision_behind_auto_is_an_error() -> None:
    class Compiled:
        def get_property(self, name: str) -> Any:
            precision = {"INFERENCE_PRECISION_HINT": openvino.Type.f16}
            return {"EXECUTION_DEVICES": ["GPU"], "DEVICE_PROPERTIES": {"CPU": {}, "GPU": precision}}[name]

    with pytest.raises(NgraphError, match="asked to run fp32 on GPU, but runs f16"):
        OpenVino(device="AUTO")._facts(Compiled(), CPU)


def test_a_precision_that_the_device_lacks_is_refused(
    load: Load, exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case.from_dict(CASE.to_dict() | {"precision": "bf16"})
    target = Target.from_dict(CPU.to_dict() | {"precision": "bf16"})
    OpenVino().compile(exported(case), target, tmp_path)
    monkeypatch.setattr(OpenVino, "_precisions", lambda self, core, device: ("fp32",))
    with pytest.raises(Unsupported, match="openvino does not run bf16 on cpu"):
        load(case, target, folder=tmp_path)


def test_the_compiled_graph_has_the_cases_size(exported: Export, tmp_path: Path) -> None:
    OpenVino().compile(exported(CASE), CPU, tmp_path)
    model = openvino.Core().read_model(tmp_path / FILE)
    assert [list(value.shape) for value in model.inputs] == [list(array.shape) for array in exported(CASE).inputs()]


def test_a_scaled_normalization_keeps_its_batch_open(load: Load, exported: Export, tmp_path: Path) -> None:
    """OpenVINO crashes while it compiles one at a fixed size."""
    case = Case(workload="unusual:modulated", compiler="openvino", batch_size=2)
    OpenVino().compile(exported(case), CPU, tmp_path)
    (x, _) = openvino.Core().read_model(tmp_path / FILE).inputs
    assert x.get_partial_shape()[0].is_dynamic
    assert [axis.get_length() for axis in list(x.get_partial_shape())[1:]] == [16, 8, 8]
    assert verify(load(case, folder=tmp_path).outputs(), exported(case).reference(), "fp32").agrees


def test_what_only_a_trace_can_be_converted_of_runs(load: Load, exported: Export) -> None:
    """OpenVINO has no rule for this model's `aten._upsample_bicubic2d_aa` in exported programs."""
    pytest.importorskip("timm")
    case = Case(workload="test_vit", compiler="openvino", batch_size=2)
    outputs = load(case).outputs()
    assert verify(outputs, exported(case).reference(), "fp32").agrees


def test_a_tensor_that_is_an_output_twice_runs(load: Load, exported: Export) -> None:
    case = Case(workload="odd_nets:layers", compiler="openvino", batch_size=2)
    assert verify(load(case).outputs(), exported(case).reference(), "fp32").agrees


def test_a_program_of_which_only_a_trace_can_be_converted_says_so(load: Load, exported: Export) -> None:
    """The trace holds the number that the program reads, so that it may not be deployed."""
    case = Case(workload="deciding:read_twice", compiler="openvino", batch_size=2)
    model = load(case)
    assert exported(case).values_decide
    assert model.facts["source"] == "trace"
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


def test_a_module_that_cannot_be_exported_is_traced(load: Load, exported: Export) -> None:
    case = Case(workload="twice:branching", compiler="openvino", batch_size=2)
    model = load(case)
    assert model.facts["source"] == "trace"
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("", r"torch\.export refuses odd_nets:only_eager: .*; openvino cannot convert a trace of it: "),
        ("graph=program", r"^torch\.export refuses odd_nets:only_eager: "),
    ],
)
def test_what_nothing_can_be_made_of_names_both_refusals(options: str, reason: str, load: Load) -> None:
    with pytest.raises(Unsupported, match=reason):
        load(Case(workload="odd_nets:only_eager", compiler=f"openvino:{options}".rstrip(":"), batch_size=2))


def test_a_module_is_traced_where_that_is_asked_for(load: Load, exported: Export) -> None:
    case = Case.from_dict(CASE.to_dict() | {"compiler": "openvino:graph=module"})
    model = load(case)
    assert model.facts["source"] == "trace"
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert "source" not in load(CASE).facts


def test_throughput_keeps_all_requests_busy(load: Load, exported: Export) -> None:
    model = load(Case.from_dict(CASE.to_dict() | {"compiler": "openvino:streams=2"}), THROUGHPUT)
    assert model.concurrency == 2
    assert model.facts["streams"] == "2"
    model.stopwatch.start()
    for _ in range(3):
        model()
    assert model.stopwatch.stop() > 0
    assert verify(model.outputs(), exported(CASE).reference(), "fp32").agrees


def test_latency_runs_one_request_at_a_time(load: Load) -> None:
    assert load(CASE).concurrency == 1


def test_a_device_that_is_not_there_is_refused(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino.Core, "available_devices", ["CPU"])
    with pytest.raises(Unsupported, match="openvino finds no NPU here; it finds CPU"):
        load(Case.from_dict(CASE.to_dict() | {"compiler": "openvino:device=NPU"}))


@pytest.mark.parametrize(
    ("target", "option", "device"),
    [
        (Target(), "kind", "CPU"),
        (Target(kind="xpu"), "kind", "GPU"),
        (Target(kind="xpu", index=1), "kind", "GPU.1"),
        (Target(kind="npu"), "kind", "NPU"),
        (Target(kind="xpu"), "GPU.2", "GPU.2"),
        (Target(), "AUTO", "AUTO"),
    ],
)
def test_the_device_is_that_of_the_profile(target: Target, option: Any, device: str) -> None:
    assert OpenVino(device=option)._device(target, openvino.Core()) == device


INTEGRATED, ARC = ("aa" * 16, "Intel(R) UHD Graphics 770"), ("bb" * 16, "Intel(R) Arc(TM) A770 Graphics")
OTHER_ARC = ("cc" * 16, ARC[1])
Gpu = tuple[str, str]


class Gpus:
    """A machine's GPUs, by their UUID and name, in OpenVINO's order."""

    def __init__(self, *gpus: Gpu, has_uuid: bool = True) -> None:
        self._gpus = {f"GPU.{place}" if len(gpus) > 1 else "GPU": gpu for place, gpu in enumerate(gpus)}
        self._has_uuid = has_uuid
        self.available_devices = ["CPU", *self._gpus]

    def get_property(self, device: str, name: str) -> str:
        uuid, full_name = self._gpus[device]
        if name == "FULL_DEVICE_NAME":
            return f"{full_name} (dGPU)"
        if not self._has_uuid:
            raise RuntimeError("unsupported property")
        return uuid


@pytest.fixture
def in_pytorch(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have PyTorch find these GPUs, in its order."""

    def find(*gpus: Gpu) -> None:
        properties = [
            SimpleNamespace(uuid=f"{uuid[:8]}-{uuid[8:]}".upper(), name=full_name) for uuid, full_name in gpus
        ]
        monkeypatch.setattr(torch.xpu, "is_available", lambda: bool(gpus))
        monkeypatch.setattr(torch.xpu, "device_count", lambda: len(gpus))
        monkeypatch.setattr(torch.xpu, "get_device_properties", properties.__getitem__)

    return find


@pytest.mark.parametrize(
    ("core", "pytorchs", "index", "device"),
    [
        (Gpus(INTEGRATED, ARC), [ARC], 0, "GPU.1"),  # PyTorch leaves out integrated ones beside others
        (Gpus(INTEGRATED, ARC, has_uuid=False), [ARC], 0, "GPU.1"),
        (Gpus(INTEGRATED, ARC, OTHER_ARC), [OTHER_ARC, ARC], 0, "GPU.2"),
        (Gpus(INTEGRATED), [INTEGRATED], 0, "GPU"),
        (Gpus(INTEGRATED, ARC), [], 1, "GPU.1"),  # without PyTorch's XPU, the order is OpenVINO's
        (Gpus(INTEGRATED, ARC), [], 0, "GPU"),
    ],
)
def test_a_gpu_of_intel_is_the_one_that_pytorch_has_under_its_index(
    in_pytorch: Callable[..., None], core: Any, pytorchs: list[Gpu], index: int, device: str
) -> None:
    in_pytorch(*pytorchs)
    assert OpenVino()._device(Target(kind="xpu", index=index), core) == device


def test_a_gpu_that_cannot_be_known_from_others_is_refused(in_pytorch: Callable[..., None]) -> None:
    """Else compilers would be compared on different ones."""
    in_pytorch(OTHER_ARC, ARC)
    core: Any = Gpus(INTEGRATED, ARC, OTHER_ARC, has_uuid=False)
    with pytest.raises(Unsupported, match=r"which of GPU\.0, GPU\.1, GPU\.2 is .*A770 Graphics, .* index 0"):
        OpenVino()._device(Target(kind="xpu"), core)
    assert OpenVino(device="GPU.2")._device(Target(kind="xpu"), core) == "GPU.2"
    with pytest.raises(Unsupported, match="PyTorch finds no GPU of index 2 here; it finds 2"):
        OpenVino()._device(Target(kind="xpu", index=2), core)


def test_the_facts_name_the_gpu_as_pytorch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openvino, "Core", lambda: Gpus(INTEGRATED, ARC))
    monkeypatch.setattr(torch.xpu, "get_device_name", lambda: ARC[1])
    answers = {"EXECUTION_DEVICES": ["GPU.1"], "INFERENCE_PRECISION_HINT": openvino.Type.f32, "NUM_STREAMS": 1}
    compiled = SimpleNamespace(get_property=answers.__getitem__)
    assert OpenVino()._facts(compiled, Target(kind="xpu"))["gpu"] == kinds.named("xpu").facts()["gpu"] == ARC[1]


def test_a_device_of_another_kind_is_refused() -> None:
    with pytest.raises(Unsupported, match="device=NPU is not of kind xpu: leave it out"):
        OpenVino(device="NPU")._device(Target(kind="xpu"), openvino.Core())


def test_of_several_gpus_one_that_is_not_there_is_refused() -> None:
    for there in ("GPU", "GPU.0", "GPU.1"):
        _refuse_device(there, ["CPU", "GPU.0", "GPU.1"])
    with pytest.raises(Unsupported, match=r"openvino finds no GPU\.2 here; it finds CPU, GPU\.0, GPU\.1"):
        _refuse_device("GPU.2", ["CPU", "GPU.0", "GPU.1"])


def test_an_input_of_an_onnx_file_may_be_an_output(load: Load, exported: Export, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    import onnx_models as models

    x, y = models.value("x", ["N", 4]), models.value("y", ["N", 4])
    onnx.save(models.model([onnx.helper.make_node("Relu", ["x"], ["y"])], [x], [y, x]), tmp_path / "passed_on.onnx")
    case = Case(workload=str(tmp_path / "passed_on.onnx"), compiler="openvino", batch_size=2)
    assert verify(load(case).outputs(), exported(case).reference(), "fp32").agrees


def of_kind(kind: str) -> tuple[torch.nn.Module, torch.Tensor]:
    return torch.nn.Identity(), torch.zeros(1, 4, dtype=getattr(torch, kind))


@pytest.mark.parametrize("graph", ["program", "module"])
@pytest.mark.parametrize("kind", ["complex64", "uint16"])
def test_an_input_in_a_type_that_openvino_lacks_is_refused(graph: str, kind: str, load: Load) -> None:
    case = Case(
        workload=f"{__name__}:of_kind",
        compiler=f"openvino:graph={graph}",
        batch_size=2,
        model_args=(("kind", kind),),
    )
    with pytest.raises(Unsupported, match=rf"openvino takes no input in {kind}, as input of .*:of_kind is"):
        load(case)
