from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Target, save_arrays
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.serving.requirements import install_bytes
from pytest_ngraph.worker.deploy import deploy

CASE = Case(workload="net", compiler="deployable:Remembers", batch_size=2)


class Compiler:
    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        (folder / "model").write_bytes((compiled / "model").read_bytes())
        (folder / "spare").write_text("not loaded")
        files = {"model": "the model", "spare": "another"}
        return Serving(libraries=("numpy",), imports=("import numpy",), code="", files=files, spare=("spare",))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an exported workload, what was compiled, and a place for what is deployed."""
    pytest.importorskip("torch")
    monkeypatch.setattr(compilers, "resolve", lambda text: Compiler())
    for name in ("exported", "compiled", "out"):
        (tmp_path / name).mkdir()
    save_arrays(tmp_path / "exported" / "inputs.npz", [np.ones((2, 3), np.float32), np.array(7)])
    save_arrays(tmp_path / "exported" / "reference.npz", [np.full((2, 3), 5, np.float32)])
    (tmp_path / "compiled" / "model").write_text("a model")
    return tmp_path


def written(folders: Path, facts: dict[str, str] | None = None, **fields: object) -> dict[str, object]:
    artifact = Artifact(folder=folders / "exported", case=CASE, **fields)  # type: ignore[arg-type]
    return deploy(
        CASE,
        artifact,
        Target(),
        folders / "compiled",
        lambda: [np.full((2, 3), 4, np.float32)],
        1e-3,
        folders / "out",
        facts,
    )


def test_a_folder_that_could_not_check_itself_is_refused(folders: Path) -> None:
    with pytest.raises(Unsupported, match=r"net draws output\['y'\] at random in each call, so that a folder"):
        written(folders, output_names=("output['y']",), random=("output['y']",))


def test_a_model_that_keeps_a_state_is_refused(folders: Path) -> None:
    """Compilers disagree: some keep the state from call to call, others answer with that of the sample forever."""
    message = (
        r"^each call of net writes into keys, and its outputs depend on what was there before, .* before it reads it"
    )
    with pytest.raises(Unsupported, match=message):
        written(folders, written=("keys", "calls"), state=("keys",))


def test_a_trace_of_what_values_decide_is_refused(folders: Path) -> None:
    """It would answer with the branch that the sample inputs took."""
    error = "GuardOnDataDependentSymNode: Could not guard on u0 > 0 (net.py, line 9, in forward)"
    message = r"has a trace of net, .* wrong for others: GuardOnData.* line 9, in forward\). Use torch\.where"
    with pytest.raises(Unsupported, match=message):
        written(folders, {"source": "trace"}, export_error=error)
    assert written(folders, {"source": "script"}, export_error=error)


def test_a_trace_of_a_program_in_which_values_decide_is_refused(folders: Path) -> None:
    """It would compute with the number that the sample inputs held."""
    with pytest.raises(Unsupported, match=r"wrong for others\. Use torch\.where .* \(without item\), or"):
        written(folders, {"source": "trace"}, values_decide=True)
    assert written(folders, {"source": "program"}, values_decide=True)


def test_a_trace_of_what_only_cannot_be_exported_is_written(folders: Path) -> None:
    assert written(folders, {"source": "trace"}, export_error="ValueError: unsupported")


def test_a_folder_that_cannot_be_written_is_one_line(folders: Path) -> None:
    (folders / "out").rmdir()
    with pytest.raises(Unsupported, match=r"^its folder cannot be written: No such file or directory$"):
        written(folders)


def arrays(path: Path) -> list[list[float]]:
    with np.load(path) as archive:
        return [archive[name].ravel().tolist() for name in sorted(archive.files)]


def test_it_writes_the_model_the_inputs_and_the_reference_outputs(folders: Path) -> None:
    answer = written(folders, input_names=("x", "n"), output_names=("output['y']",))
    assert answer["inputs"] == [["x", "float32", "2 x 3"], ["n", "int64", "scalar"]]
    assert answer["outputs"] == [["output['y']", "float32", "2 x 3"]]
    names = {path.name for path in (folders / "out").iterdir()}
    assert names == {"model", "spare", "inputs.npz", "reference.npz", "requirements.txt", "serve.py"}
    assert "TOLERANCE = 2, 0.001 " in (folders / "out" / "serve.py").read_text()
    assert answer["artifact_bytes"] == len("a model")
    assert answer["install_bytes"] == install_bytes(["numpy"])
    assert arrays(folders / "out" / "inputs.npz") == [[1.0] * 6, [7]]
    assert arrays(folders / "out" / "reference.npz") == [[5.0] * 6]


def test_where_values_decide_sizes_the_reference_is_the_verified_models_own(folders: Path) -> None:
    answer = written(folders, data_dependent=("output",))
    assert arrays(folders / "out" / "reference.npz") == [[4.0] * 6]
    assert answer["outputs"] == [["output[0]", "float32", "2 x 3"]]


def test_the_reference_has_the_integers_of_the_verified_model(folders: Path) -> None:
    """Rounding to bf16 may have changed them."""
    ones = np.ones((2, 3), np.float32)
    save_arrays(folders / "exported" / "reference.npz", [ones, np.array([1, 2]), ones > 0])
    artifact = Artifact(folder=folders / "exported", case=CASE)
    own = [ones + 1, np.array([1, 3]), ones < 0]
    deploy(CASE, artifact, Target(), folders / "compiled", lambda: own, 1e-3, folders / "out")
    assert arrays(folders / "out" / "reference.npz") == [[1.0] * 6, [1, 3], [0] * 6]


@pytest.mark.parametrize(("precision", "dtype"), [("fp16", "float16"), ("bf16", "float32")])
def test_inputs_have_the_type_that_the_model_takes_unless_numpy_lacks_it(
    folders: Path, precision: str, dtype: str
) -> None:
    case = Case(workload="net", compiler="mine", batch_size=2, precision=precision)  # type: ignore[arg-type]
    artifact = Artifact(folder=folders / "exported", case=case)
    deploy(case, artifact, Target(), folders / "compiled", list, 1e-3, folders / "out")
    with np.load(folders / "out" / "inputs.npz") as archive:
        assert archive["a0000"].dtype == dtype


@pytest.mark.parametrize(("precisions", "mask"), [((), "1e+30"), (("fp16",), "32500")])
def test_the_check_of_a_folder_knows_masks_in_fp16(folders: Path, precisions: tuple[str, ...], mask: str) -> None:
    reference = np.array([np.finfo(np.float32).min, 3], np.float32)
    save_arrays(folders / "exported" / "reference.npz", [reference])
    written(folders, precisions=precisions)
    assert f"np.abs(array) < {mask}" in (folders / "out" / "serve.py").read_text()
