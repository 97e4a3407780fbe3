"""A folder for each compiler: it checks itself without this package, answers when imported, and notices damage."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import served
from compiled import CPU, Export, require
from served import WITHOUT_TORCH, Check, Deploy, conv

from pytest_ngraph import compilers
from pytest_ngraph.case import Case, Precision
from pytest_ngraph.deploy.folder import write_sums
from pytest_ngraph.serving.launches import Place, launched
from pytest_ngraph.worker.deploy import deploy as deployed

SLOW = [pytest.param(name, marks=[pytest.mark.slow] * (name == "inductor")) for name in compilers.names()]


@pytest.mark.parametrize("compiler", SLOW)
def test_it_checks_itself_and_answers_where_only_its_runtime_can_be_imported(compiler: str, deploy: Deploy) -> None:
    needless = {"executorch": "executorch.exir"} | dict.fromkeys(WITHOUT_TORCH, "torch")
    done = served.check_and_import(deploy(conv(compiler)), *filter(None, [needless.get(compiler)]))
    assert done.returncode == 0, done.stderr
    checked = r"outputs agree with the reference: largest difference \S+\n[\d.]+ samples/s, the median of \d+ rounds\n"
    types = "float32 (1, 16, 244, 244)\n"
    answered = "list [('ndarray', 1, 16, 244, 244)]\n[]\n"
    assert re.fullmatch(checked + re.escape(types + answered), done.stdout)


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino", "tvm"])
def test_it_can_be_launched_to_see_what_it_costs(compiler: str, deploy: Deploy) -> None:
    launch = launched(Place(folder=deploy(conv(compiler)), cores=CPU.cores), timeout_s=60)
    parts = launch.serving_import_s, launch.serving_load_s, launch.serving_first_call_s
    assert 0 < sum(parts) < launch.cold_start_s


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino"])
def test_it_sends_no_telemetry(compiler: str, deploy: Deploy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both write an identity into the home folder before they send anything, unless they run under CI."""
    folder = deploy(conv(compiler))
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_CACHE_HOME", "CI", "TF_BUILD", "JENKINS_URL", "ORT_DISABLE_TELEMETRY"):
        monkeypatch.delenv(variable, raising=False)
    done = served.check_and_import(folder, "torch")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("function", ["spectrum", "of_complex"])
def test_onnxruntime_takes_and_gives_complex_numbers(function: str, check: Check) -> None:
    done = check(Case(workload=f"complex_nets:{function}", compiler="onnxruntime", batch_size=2))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_conjugate_and_a_parameter_are_arrays(precision: Precision, check: Check) -> None:
    case = Case(workload="nets_of_views:learned_conjugate", compiler="identity", batch_size=2, precision=precision)
    done = check(case)
    assert done.returncode == 0, done.stderr


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
    streams = int(re.search(r"^STREAMS = (\d+)", (place / "serve.py").read_text(), re.MULTILINE)[1])  # type: ignore[index]
    beside = f", {streams} side by side" if streams > 1 else ""
    row = f"| time of one call{beside} | {500 * streams} ms (median of 6 rounds) |"
    assert row in (place / "README.md").read_text(), "the record has a round of 0.5 s for one call"
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
