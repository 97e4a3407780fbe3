from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from compiled import CPU, Compile, Export, Load

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes.worker_variables import bound_threads
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import executorch
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.workloads.verify import verify

pytest.importorskip("executorch")

NAME = "executorch"
CONV = Case(workload="conv", compiler=NAME, batch_size=1, depth=2, width=16)
MHA = Case(workload="mha", compiler=NAME, batch_size=3, depth=1, width=16)
CACHE = Case(workload="nets_with_state:written", compiler=NAME, batch_size=1)


@pytest.fixture
def load(load_once: Load) -> Load:
    """Each case is compiled only once: some of them also for `test_contract.py`."""
    return load_once


@pytest.mark.parametrize("case", [CONV, MHA, CACHE], ids=lambda case: case.group_label)
def test_outputs_agree_with_eager(case: Case, load: Load, exported: Export) -> None:
    agreement = verify(load(case).outputs(), exported(case).reference(), "fp32")
    assert agreement.agrees, agreement.problem


def test_fp16_agrees_with_eager(load: Load, exported: Export) -> None:
    case = Case.from_dict(CONV.to_dict() | {"precision": "fp16"})
    model = load(case, Target(cores=CPU.cores, precision="fp16"))
    assert model.facts["precision"] == "fp16"
    agreement = verify(model.outputs(), exported(case).reference(), "fp16")
    assert agreement.agrees, agreement.problem


def test_bf16_is_refused(load: Load) -> None:
    case = Case.from_dict(CONV.to_dict() | {"precision": "bf16"})
    with pytest.raises(Unsupported, match="executorch does not run bf16 on cpu; it runs fp32, fp16"):
        load(case, Target(cores=CPU.cores, precision="bf16"))


def test_facts_show_what_xnnpack_runs(load: Load) -> None:
    convolutional = load(CONV).facts
    assert convolutional["provider"] == "XnnpackBackend"
    assert convolutional["threads"] == str(CPU.threads)
    assert convolutional["delegated"] == "7 of 7 operators"
    delegated, of, total, _ = load(MHA).facts["delegated"].split()
    assert of == "of"
    assert 0 < int(delegated) < int(total)


def test_a_call_leaves_what_earlier_outputs_gave(load: Load) -> None:
    model = load(CONV)
    first = model.outputs()
    kept = [array.copy() for array in first]
    model()
    assert all((before == after).all() for before, after in zip(first, kept, strict=True))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("unusual:inverse", r"cannot lower .*inverse: Operator .*linalg_inv_ex.* is not in Core ATen"),
        ("unusual:ordered", r"no kernel for aten::sort\.values"),
        ("twice:build", r"cannot emit .*twice:build: Missing out variants: .*twice"),
    ],
)
def test_an_operator_that_it_lacks_is_named(function: str, reason: str, load: Load) -> None:
    with pytest.raises(Unsupported, match=reason):
        load(Case(workload=function, compiler=NAME, batch_size=2))


def test_an_onnx_file_is_refused(exported: Export, tmp_path: Path) -> None:
    artifact = exported(CONV)
    onnx = type(artifact).from_dict(artifact.to_dict() | {"program": "", "onnx": "net.onnx"})
    with pytest.raises(Unsupported, match="conv is an ONNX file"):
        compilers.resolve(NAME).compile(onnx, CPU, tmp_path)


BOUND = """
import json, os, sys
from pathlib import Path
import numpy, torch  # both start threads of their own
from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.system.affinity import threads_of_this_process

artifact, target = Artifact.from_dict(json.loads(sys.argv[1])), Target.from_dict(json.loads(sys.argv[2]))
before = set(threads_of_this_process())
model = compilers.resolve("executorch").load(artifact, target, Path(sys.argv[3]))
model()
masks = [sorted(os.sched_getaffinity(thread)) for thread in sorted(set(threads_of_this_process()) - before)]
compiler = sorted({"executorch.exir"} & set(sys.modules))
print(json.dumps([model.facts["threads"], sorted(os.sched_getaffinity(0)), masks, compiler]))
"""


def test_a_runtime_that_cannot_set_its_threads_is_refused(
    exported: Export, compiled: Compile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 1.0 for aarch64 is built without these functions."""
    monkeypatch.setattr(executorch, "_runtime", SimpleNamespace)
    with pytest.raises(Unsupported, match=r"cannot set its number of threads\. Install version 1\.1 or newer"):
        executorch.ExecuTorch().load(exported(CONV), CPU, compiled(CONV))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds threads")
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_the_targets_and_bound_to_its_cores(threads: int, exported: Export, compiled: Compile) -> None:
    cores = this_machine().cores[:threads]
    if len(cores) < threads:
        pytest.skip(f"needs {threads} cores, there are {len(cores)}")
    artifact, target = exported(CONV), Target(cores=cores)
    environment = os.environ | bound_threads(cores)
    arguments = [json.dumps(artifact.to_dict()), json.dumps(target.to_dict()), str(compiled(CONV))]
    ended = subprocess.run(
        [sys.executable, "-c", BOUND, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    used, own, others, compiler = json.loads(ended.stdout.splitlines()[-1])
    assert used == str(threads)
    assert own == [cores[0]]
    assert others == [[core] for core in cores[1:]]
    assert compiler == [], "loading needs the runtime only"
