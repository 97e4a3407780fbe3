"""A folder for each compiler: it checks itself without this package, answers when imported, and notices damage."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import served
from compiled import CPU, Export, require
from forking import TorchServer

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.costs import Costs
from pytest_ngraph.deploy.folder import write_sums
from pytest_ngraph.deploy.readme import readme
from pytest_ngraph.record import Record, Round
from pytest_ngraph.serving.launches import Place, launched
from pytest_ngraph.serving.written import Written
from pytest_ngraph.store import Run
from pytest_ngraph.worker.deploy import deploy as deployed
from pytest_ngraph.workloads.verify import verify

Deploy = Callable[..., Path]
Check = Callable[[Case], "subprocess.CompletedProcess[str]"]
WITHOUT_TORCH = ("onnxruntime", "openvino", "tvm")
SLOW = [pytest.param(name, marks=[pytest.mark.slow] * (name == "inductor")) for name in compilers.names()]


@pytest.fixture(scope="module")
def deploy(exported: Export, tmp_path_factory: pytest.TempPathFactory) -> Deploy:
    """Return a function that compiles a case, deploys it and returns the folder; each case is deployed only once."""
    made: dict[Case, Path] = {}

    def written(case: Case, target: Target, place: Path) -> Written:
        artifact, compiler, compiled = exported(case), compilers.resolve(case.compiler), tmp_path_factory.mktemp("made")
        compiler.compile(artifact, target, compiled)
        with closing(compiler.load(artifact, target, compiled)) as model:
            agreement = verify(model.outputs(), artifact.reference(), case.precision)
            answer = deployed(case, artifact, target, compiled, model.outputs, agreement.tolerance, place)
        assert agreement.agrees, agreement
        return Written.from_answer(answer, place, agreement)

    def deploy_once(case: Case) -> Path:
        require(case.compiler)
        if case not in made:
            target = dataclasses.replace(CPU, precision=case.precision, objective=case.objective)
            place = tmp_path_factory.mktemp("deployed")
            record = Record(case=case, outcome="measured", rounds=(Round(1, 0.5),) * 6, facts={"version": "1"})
            run = Run(id="a-run", environment={"processor": "a processor"}, records=(record,))
            (place / "README.md").write_text(readme(record, run, target, written(case, target, place), Costs()))
            write_sums(place)
            made[case] = place
        return made[case]

    return deploy_once


def conv(compiler: str, **values: object) -> Case:
    return Case(**{"workload": "conv", "compiler": compiler, "batch_size": 1, "depth": 1, "width": 16} | values)  # type: ignore[arg-type]


@pytest.fixture
def check(deploy: Deploy, torch_server: TorchServer) -> Check:
    """Return a function that deploys a case and checks the folder, in a fork where its runtime is PyTorch."""

    def check(case: Case) -> subprocess.CompletedProcess[str]:
        own_runtime = case.compiler in WITHOUT_TORCH
        return served.check(deploy(case), server=None if own_runtime else torch_server)

    return check


@pytest.mark.parametrize("compiler", SLOW)
def test_it_checks_itself_and_answers_where_only_its_runtime_can_be_imported(compiler: str, deploy: Deploy) -> None:
    done = served.check_and_import(deploy(conv(compiler)), *(["torch"] if compiler in WITHOUT_TORCH else []))
    assert done.returncode == 0, done.stderr
    checked = r"outputs agree with the reference: largest difference \S+\n[\d.]+ samples/s, the median of \d+ rounds\n"
    answered = "list [('ndarray', 1, 16, 244, 244)]\n[]\n"
    assert re.fullmatch(checked + re.escape(answered), done.stdout)


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino", "tvm"])
def test_it_can_be_launched_to_see_what_it_costs(compiler: str, deploy: Deploy) -> None:
    launch = launched(Place(folder=deploy(conv(compiler)), cores=CPU.cores), timeout_s=60)
    parts = launch.serving_import_s, launch.serving_load_s, launch.serving_first_call_s
    assert 0 < sum(parts) < launch.cold_start_s


@pytest.mark.parametrize("function", ["spectrum", "of_complex"])
def test_onnxruntime_takes_and_gives_complex_numbers(function: str, check: Check) -> None:
    done = check(Case(workload=f"complex_nets:{function}", compiler="onnxruntime", batch_size=2))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_conjugate_and_a_parameter_are_arrays(precision: str, check: Check) -> None:
    case = Case(workload="nets_of_views:learned_conjugate", compiler="identity", batch_size=2, precision=precision)
    done = check(case)
    assert done.returncode == 0, done.stderr


SIDE_BY_SIDE = """
import sys
sys.path.insert(0, sys.argv[1])
from concurrent.futures import ThreadPoolExecutor
import numpy as np, serve
model, (x,) = serve.load(), serve.samples()
given = [x, x + 1]
expected = [serve.answer(model, [each])[0].copy() for each in given]

def answers(place):
    return all(np.array_equal(serve.answer(model, [given[place]])[0], expected[place]) for _ in range(50))

with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(answers, range(2))))
"""


@pytest.mark.parametrize("compiler", ["openvino", "tvm"])
def test_threads_of_a_service_get_their_own_outputs(compiler: str, deploy: Deploy) -> None:
    command = [sys.executable, "-I", "-c", SIDE_BY_SIDE, str(deploy(conv(compiler)))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "[True, True]\n", done.stderr


TRANSPOSED = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, serve
model, inputs = serve.load(), serve.samples()
same = [np.ascontiguousarray(each.T).T for each in inputs]
print(all(map(np.array_equal, serve.answer(model, same), serve.answer(model, inputs))))
"""


def test_inputs_may_lie_in_memory_in_another_way_than_when_it_was_measured(deploy: Deploy) -> None:
    """Exporting drops the `contiguous` before a view that the measured inputs did not need."""
    case = Case(workload="nets_of_views:rows", compiler="identity", batch_size=2)
    done = subprocess.run(
        [sys.executable, "-I", "-c", TRANSPOSED, str(deploy(case))], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"


KEEPING = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import serve, torch
model = serve.load()

def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

found = []
for _ in range(40):
    before = pages()
    torch.empty(2**24).fill_(1)  # 64 MiB
    found.append(pages() - before)
print(max(found[20:]))
"""
"""The first calls may take new memory: a small block that glibc caches keeps what is freed from being used again."""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is glibc's")
@pytest.mark.parametrize("compiler", ["identity", "torchscript"])
def test_pytorch_keeps_what_it_frees_as_when_it_was_measured(compiler: str, deploy: Deploy) -> None:
    """Else the system hands out and clears the pages of a network's activations again in each call."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUN"))}
    command = [sys.executable, "-I", "-c", KEEPING, str(deploy(conv(compiler)))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert int(done.stdout) < 1600, "pages, of 16,384"


ANSWERING = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import serve
model = serve.load()
(images,) = serve.samples()
(expected,) = serve.answer(model, [images])
turned = np.ascontiguousarray(images.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
print(np.allclose(serve.answer(model, [turned])[0], expected))
for other in (images.astype(np.float64), images[:, :1]):
    try:
        serve.answer(model, [other])
    except ValueError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_package_that_reads_whatever_lies_in_memory_gets_its_own_inputs_only(deploy: Deploy) -> None:
    command = [sys.executable, "-I", "-c", ANSWERING, str(deploy(conv("inductor")))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    same, *refused = done.stdout.splitlines()
    assert same == "True", "the same values, in another order in memory"
    assert [text.partition(", not ")[0] for text in refused] == ["the model takes [('float32', (1, 16, 244, 244))]"] * 2


def test_openvino_binds_no_thread_to_a_core(deploy: Deploy) -> None:
    assert '"ENABLE_CPU_PINNING": False,' in (deploy(conv("openvino")) / "serve.py").read_text()


def test_graphs_that_are_not_loaded_do_not_count_as_artifact(exported: Export, tmp_path: Path) -> None:
    require("onnxruntime")
    case, compiler = conv("onnxruntime"), compilers.resolve("onnxruntime")
    (compiled := tmp_path / "compiled").mkdir()
    (place := tmp_path / "place").mkdir()
    compiler.compile(exported(case), CPU, compiled)
    answer = deployed(case, exported(case), CPU, compiled, list, 1e-3, place)
    assert answer["artifact_bytes"] == (place / "optimized.onnx").stat().st_size


def test_weights_that_both_graphs_share_are_loaded_and_count(exported: Export, tmp_path: Path) -> None:
    """ONNX Runtime leaves weights that it does not change in the file where they were."""
    require("onnxruntime")
    case, compiler = conv("onnxruntime", workload="mha", width=64), compilers.resolve("onnxruntime")
    (compiled := tmp_path / "compiled").mkdir()
    (place := tmp_path / "place").mkdir()
    compiler.compile(exported(case), CPU, compiled)
    answer = deployed(case, exported(case), CPU, compiled, list, 1e-3, place)
    assert answer["serving"]["spare"] == ("model.onnx",)
    (place / "model.onnx").unlink()
    assert answer["artifact_bytes"] == sum(
        (place / name).stat().st_size for name in ("optimized.onnx", "model.onnx.data")
    )
    write_sums(place)
    assert served.check(place).returncode == 0


def test_a_damaged_model_fails_the_check(deploy: Deploy, tmp_path: Path) -> None:
    place = shutil.copytree(deploy(conv("onnxruntime")), tmp_path / "copy")
    largest = max(place.glob("*[!z]"), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    done = served.check(place)
    assert done.returncode == 1
    assert done.stderr.endswith(f"{largest.name} is damaged: its SHA-256 is not the one in SHA256SUMS\n")


@pytest.mark.parametrize("compiler", ["identity", "onnxruntime", "openvino", "torchscript"])
def test_for_throughput_calls_run_side_by_side(compiler: str, deploy: Deploy, check: Check) -> None:
    case = conv(compiler, objective="throughput")
    done, place = check(case), deploy(case)
    assert done.returncode == 0, done.stderr
    if compiler != "openvino" and (count := len(CPU.cores)) > 1:
        assert f"STREAMS = {count} " in (place / "serve.py").read_text()
        assert "THREADS = 1 " in (place / "serve.py").read_text()


@pytest.mark.parametrize("compiler", ["identity", "torchscript", "openvino"])
def test_bf16_which_numpy_lacks(compiler: str, check: Check) -> None:
    if compiler == "openvino":
        openvino = pytest.importorskip("openvino")
        if "BF16" not in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            pytest.skip("this processor does not compute in bf16")
    done = check(conv(compiler, precision="bf16"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["identity", "onnxruntime", "openvino", "torchscript", "tvm"])
def test_nested_outputs_and_integers_are_lists_of_arrays(compiler: str, deploy: Deploy, check: Check) -> None:
    case = Case(workload="odd_nets:nested", compiler=compiler, batch_size=2)
    done, place = check(case), deploy(case)
    assert done.returncode == 0, done.stderr
    assert "| output['sum'] | float32 |" in (place / "README.md").read_text()


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino"])
def test_a_scalar(compiler: str, check: Check) -> None:
    done = check(Case(workload="odd_nets:scalar", compiler=compiler, batch_size=1))
    assert done.returncode == 0, done.stderr


def test_a_scripted_module_with_branches(check: Check) -> None:
    done = check(Case(workload="odd_nets:branches", compiler="torchscript", batch_size=1))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["identity", "identity:channels_last=true"])
def test_a_model_that_a_library_builds(compiler: str, deploy: Deploy, check: Check) -> None:
    pytest.importorskip("timm")
    case = Case(workload="test_resnet", compiler=compiler, batch_size=1)
    done, place = check(case), deploy(case)
    assert done.returncode == 0, done.stderr
    assert 'timm.create_model("test_resnet").eval()' in (place / "serve.py").read_text()
    assert "timm==" in (place / "requirements.txt").read_text()


def test_channels_last_beside_weights_of_five_dimensions(check: Check) -> None:
    done = check(Case(workload="layouts:frames", compiler="identity:channels_last=true", batch_size=1))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["identity", "onnxruntime", "openvino"])
def test_an_onnx_file(compiler: str, deploy: Deploy, tmp_path_factory: pytest.TempPathFactory) -> None:
    onnx = pytest.importorskip("onnx")
    import onnx_models

    file = tmp_path_factory.getbasetemp() / "sums.onnx"
    onnx.save(onnx_models.sums(x=("batch", 4), y=("batch", 3)), file)
    done = served.check(deploy(Case(workload=str(file), compiler=compiler, batch_size=1)), "torch")
    assert done.returncode == 0, done.stderr
