from __future__ import annotations

from pathlib import Path

import pytest
from synthetic import case

from pytest_ngraph.system.relocation import moved, with_paths

HERE, THERE = Path("/home/somebody/project"), Path("/var/copy")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/somebody/project/a/net.onnx", "/var/copy/a/net.onnx"),
        ("/home/somebody/project", "/var/copy"),
        ("/home/somebody/project/test_it.py::test[a/b]", "/var/copy/test_it.py::test[a/b]"),
        ("/home/somebody/project-2/net.onnx", "/home/somebody/project-2/net.onnx"),
        ("a/net.onnx", "a/net.onnx"),
        ("package.module:function", "package.module:function"),
    ],
)
def test_paths_in_the_folder_are_moved_and_nothing_else(text: str, expected: str) -> None:
    assert moved(text, HERE, THERE) == expected


def test_every_text_of_a_case_may_be_a_path() -> None:
    weights = (("layers", 3), ("weights", f"{HERE}/weights.pt"))
    found = with_paths(case(workload=f"{HERE}/net.onnx", model_args=weights), lambda text: moved(text, HERE, THERE))
    assert found == case(workload=f"{THERE}/net.onnx", model_args=(("layers", 3), ("weights", f"{THERE}/weights.pt")))
