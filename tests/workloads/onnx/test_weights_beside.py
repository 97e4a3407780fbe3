"""Files beside an ONNX file that hold its weights."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_models as models
import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
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
