"""A study that nobody measured: devices, compilers, models and blocks whose times follow from a formula.

    seconds per iteration = work(workload, depth, width) * b ** friction(compiler) / (speed(device) * gain)

so that ASE(b) = b ** -friction(compiler) exactly. The gain of identity is 1. The gain of another compiler on a model
depends on the model's style (`GAINS`); on a block it grows by `SLOPE` with each level of depth. Every record has 21
rounds, spread evenly within 0.5 % of the formula's value, so that their median is exact.

Odd on purpose: TVM fails on every Swin, OpenVINO disagrees on `swin_s3_base_224` at batch size 16, TensorRT is
skipped for blocks on the Orin, ONNX Runtime does not settle at batch size 16, and the Xeon's first run, the day before,
has `resnet18` under identity at half its speed, which later records replace.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from pytest_ngraph.artifact import Model
from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.record import Agreement, Contention, Failure, Record, Round
from pytest_ngraph.report.study.families import BLOCKS, CONVOLUTIONAL, HYBRID, TRANSFORMER, architecture
from pytest_ngraph.store import Journal, Run

DATA = Path(__file__).parents[2] / "data"
MODELS = {row["timm_name"]: row for row in csv.DictReader((DATA / "table4_models.csv").open())}
PER_BLOCK = {
    (row["block"], int(row["width"])): int(row["parameters_per_block"])
    for row in csv.DictReader((DATA / "table5_blocks.csv").open())
}
STEM_PARAMETERS = 1000
BATCH_SIZES = (1, 2, 4, 8, 16)
BLOCK_BATCH_SIZES = (1, 8, 16)
DEPTHS = (1, 2, 3, 6)
WIDTHS = {"conv": (64, 96), "mha": (128, 256)}

COMPILERS = {
    "xeon": ("identity", "torchscript", "onnxruntime", "openvino", "tvm"),
    "gpu": ("identity", "onnxruntime", "tensorrt"),
    "orin": ("identity", "tensorrt"),
}
SPEEDS = {"xeon": 1.0, "gpu": 10.0, "orin": 0.5}
FRICTION = {"identity": 0.9, "torchscript": 0.95, "onnxruntime": 0.8, "openvino": 0.7, "tensorrt": 0.6, "tvm": 1.05}
GAINS = {
    "torchscript": {CONVOLUTIONAL: 1.1, TRANSFORMER: 0.95, HYBRID: 1.0},
    "onnxruntime": {CONVOLUTIONAL: 1.4, TRANSFORMER: 1.1, HYBRID: 1.2},
    "openvino": {CONVOLUTIONAL: 2.0, TRANSFORMER: 1.2, HYBRID: 1.3},
    "tensorrt": {CONVOLUTIONAL: 2.5, TRANSFORMER: 3.0, HYBRID: 2.8},
    "tvm": {CONVOLUTIONAL: 1.6, TRANSFORMER: 0.4, HYBRID: 0.5},
}
SLOPE = 0.25
"""What each further block adds to the speedup at batch size 1."""
WORK_S = {"ResNet": 0.012, "EfficientNet": 0.014, "DeiT": 0.010, "Swin": 0.016, "ConvNeXt": 0.013}
"""Seconds of the small model at batch size 1 on the Xeon; medium and large ones take two and four times as long."""
SIZE_FACTORS = {"small": 1.0, "medium": 2.0, "large": 4.0}
COMPILE_S = {"torchscript": 0.5, "onnxruntime": 4.0, "openvino": 5.0, "tensorrt": 20.0, "tvm": 600.0}
"""Seconds to compile at batch size 1; each further sample adds 2 %."""
ROUNDS = 21
SPREAD = 0.005
YESTERDAY, TODAY = 1_000_000.0, 1_086_400.0


def latency_s(case: Case) -> float:
    """Return the seconds per iteration by the formula."""
    growth: float = case.batch_size ** FRICTION[case.compiler]
    return _work_s(case) * growth / (SPEEDS[case.device] * gain(case))


def gain(case: Case) -> float:
    """Return how many times as fast as identity a compiler is at batch size 1."""
    if case.compiler == IDENTITY:
        return 1.0
    by_style = GAINS[case.compiler][architecture(case.workload).style]
    return by_style + SLOPE * (case.depth - 1) if case.depth else by_style


def runs() -> list[Run]:
    """Return two runs of the Xeon, and one of each other device."""
    early = _record(Case(workload="resnet18", compiler=IDENTITY, batch_size=1, device="xeon"), "1", YESTERDAY, slower=2)
    return [
        Run(id="1", environment=_environment("xeon"), records=(early,)),
        *(
            Run(id=str(number), environment=_environment(device), records=tuple(_records(device, str(number))))
            for number, device in enumerate(COMPILERS, start=2)
        ),
    ]


def write(run: Run, store: Path) -> None:
    """Put a run into a store."""
    journal = Journal(store, run.environment)
    for record in run.records:
        journal.append(record)
    journal.close()


def cases(device: str) -> Iterator[Case]:
    """Yield every case of a device: the fifteen models, then the blocks."""
    for compiler in COMPILERS[device]:
        for workload in MODELS:
            for batch_size in BATCH_SIZES:
                yield Case(workload=workload, compiler=compiler, batch_size=batch_size, device=device)
        for block in BLOCKS:
            for width in WIDTHS[block]:
                for depth in DEPTHS:
                    for size in BLOCK_BATCH_SIZES:
                        yield Case(
                            workload=block, compiler=compiler, batch_size=size, depth=depth, width=width, device=device
                        )


def _records(device: str, run: str) -> Iterator[Record]:
    for number, case in enumerate(cases(device)):
        yield _record(case, run, TODAY + number)


def _record(case: Case, run: str, started_at: float, slower: float = 1.0) -> Record:
    model, failure, skip_reason = _model(case), _failure(case), _skip_reason(case)
    if failure is not None or skip_reason:
        return Record(
            case=case,
            outcome="failed" if failure else "skipped",
            run=run,
            started_at=started_at,
            model=model,
            failure=failure,
            skip_reason=skip_reason,
        )
    seconds = slower * latency_s(case) * (1 + SPREAD * np.linspace(-1, 1, ROUNDS))
    return Record(
        case=case,
        outcome="measured",
        run=run,
        started_at=started_at,
        rounds=tuple(Round(4, 4 * float(each)) for each in seconds),
        stable=not (case.compiler == "onnxruntime" and case.batch_size == 16),
        compile_s=COMPILE_S[case.compiler] * (1 + 0.02 * (case.batch_size - 1)) if case.compiler in COMPILE_S else None,
        agreement=Agreement(error=1e-6 * len(case.compiler), tolerance=1e-4),
        cpu_percent=95.0 if case.device == "xeon" else 12.0 / (gain(case) * case.batch_size**0.5),
        worker_memory_bytes=4 * (model.parameters or 0) + 2**20 * (200 + 10 * case.batch_size + 5 * len(case.compiler)),
        device_memory_bytes=None if case.device == "xeon" else 2**20 * (100 + 8 * case.batch_size),
        contention=Contention(pressure_percent=1.0),
        model=model,
    )


def _work_s(case: Case) -> float:
    if case.depth and case.width:
        return 0.001 * case.depth * case.width / 64
    of = architecture(case.workload)
    return WORK_S[of.family] * SIZE_FACTORS[of.size]


def _model(case: Case) -> Model:
    if case.depth and case.width:
        return Model(parameters=STEM_PARAMETERS + case.depth * PER_BLOCK[case.workload, case.width])
    row = MODELS[case.workload]
    macs = int(row["torchinfo_mult_adds_at_224"])
    return Model(parameters=int(row["parameters"]), mult_adds=macs, flops=2 * macs)


def _failure(case: Case) -> Failure | None:
    if case.compiler == "tvm" and case.workload.startswith("swin"):
        return Failure(phase="compile", kind="raised", message="NotImplementedError: roll\nsecond line")
    if (case.compiler, case.workload, case.batch_size) == ("openvino", "swin_s3_base_224", 16):
        return Failure(phase="verify", kind="disagreed", message="output 0 differs by 0.3")
    return None


def _skip_reason(case: Case) -> str:
    return (
        "TensorRT has no plugin for it" if case.device == "orin" and case.compiler == "tensorrt" and case.depth else ""
    )


def _environment(device: str) -> dict[str, str]:
    processors = {"xeon": "Intel Xeon", "gpu": "AMD Ryzen 7 5700G", "orin": "Cortex-A78AE"}
    accelerators = {"gpu": {"gpu": "RTX 4070"}, "orin": {"gpu": "Orin"}}
    return {
        "fingerprint": f"{device}-0",
        "processor": processors[device],
        "logical CPUs": "8",
        "memory": "32.0 GiB",
        **accelerators.get(device, {}),
        "torch": "2.15.0",
        "openvino": "2026.4.1",
    }
