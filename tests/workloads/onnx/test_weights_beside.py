"""Files beside an ONNX file that hold its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_models as models
import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.onnx import graph, runtime
from pytest_ngraph.workloads.onnx.file import OnnxFile
from pytest_ngraph.workloads.onnx.graph import read

CASE = Case(workload="net.onnx", compiler="identity", batch_size=2)


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("../secret.bin", r"weights 'w' lie outside its folder \(\.\./secret\.bin\)\. Move them"),
        ("/etc/hostname", "weights 'w' lie outside its folder"),
        ("inside.bin", "weights 'w' are in inside.bin, which is a symbolic link. Copy .* cp -rL .*models COPY"),
        ("linked/secret.bin", "weights 'w' lie outside its folder"),
    ],
    ids=["above", "absolute", "link", "linked folder"],
)
def test_weights_outside_the_folder_are_never_read(location: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(models.WEIGHTS.tobytes())
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "inside.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "linked").symlink_to(tmp_path)
    model = models.linear([2, 4])
    weights = model.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=location)
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(UsageError, match=message):
        read(folder / "net.onnx", CASE)


def _saved(folder: Path) -> Path:
    """Return an ONNX file whose weights are in `net.bin`, beside it."""
    path, linear = folder / "net.onnx", models.linear([2, 4])
    onnx.save(linear, path, save_as_external_data=True, location="net.bin", size_threshold=0)
    return path


def test_a_missing_file_of_weights_is_named(tmp_path: Path) -> None:
    path = _saved(tmp_path)
    (tmp_path / "net.bin").unlink()
    with pytest.raises(UsageError, match=r"weights in another file, which is missing \(.*net\.bin.*\)\. Put it there"):
        read(path, CASE)


def test_a_link_inside_the_folder_says_what_to_copy(tmp_path: Path) -> None:
    path = _saved(tmp_path)
    (tmp_path / "net.bin").rename(tmp_path / "other.bin")
    (tmp_path / "net.bin").symlink_to("other.bin")
    with pytest.raises(UsageError, match=r"weights 'w' are in net\.bin, which is a symbolic link\. Copy"):
        read(path, CASE)


def _exported(model: object, folder: Path) -> Artifact:
    """Export a model into a new folder inside this one, which becomes the working folder."""
    onnx.save(model, folder / "net.onnx")
    (into := folder / f"exported{len(list(folder.iterdir()))}").mkdir()
    return OnnxFile().export(CASE, into)


@pytest.fixture
def _large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small weights are written as large ones are, and ONNX Runtime loads no branch at fixed sizes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(graph, "EXTERNAL_BYTES", 10_000)
    monkeypatch.setattr(runtime, "refusal", lambda path, custom_ops, *, optimized: "a contradiction" * optimized)


@pytest.mark.usefixtures("_large")
def test_other_weights_of_a_large_graph_with_branches_have_another_digest(tmp_path: Path) -> None:
    """Such a graph is written twice: its axes are left open in the end."""
    tables = [models.weights(300, 40) * factor for factor in (1, 1, 2)]
    first, same, other = (_exported(models.branching(table), tmp_path) for table in tables)
    assert first.digest == same.digest != other.digest
    for artifact, table in ((first, tables[0]), (other, tables[2])):
        assert artifact.onnx is not None
        written = onnx.load(artifact.onnx).graph
        assert written.input[0].type.tensor_type.shape.dim[0].dim_param == "N"
        held = {each.name: onnx.numpy_helper.to_array(each) for each in written.initializer}
        assert np.array_equal(held["table"], table)
        assert sum(file.stat().st_size for file in artifact.folder.glob("*.data")) < 1.3 * table.nbytes


@pytest.mark.usefixtures("_large")
def test_integers_of_a_large_graph_are_drawn_by_what_it_does_with_them(tmp_path: Path) -> None:
    artifact = _exported(models.branching(models.weights(300, 40)), tmp_path)
    assert artifact.drawn["kind"] == "ids below 200 (compared with 0 to 199)"


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize("name", ["model.data", "model.onnx.data"])
def test_a_large_graph_is_exported_whatever_lies_in_the_working_folder(name: str, tmp_path: Path) -> None:
    """onnx looks there for the file of weights that it is to write elsewhere, and refuses where it finds one."""
    Path(name).write_text("of the user")
    assert _exported(models.branching(models.weights(300, 40)), tmp_path).digest
    assert Path(name).read_text() == "of the user"
