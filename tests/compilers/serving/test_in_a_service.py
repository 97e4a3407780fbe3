"""A deployed folder in a service that imports it: threads, arrays of any layout, and the memory that it keeps."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from served import Deploy, conv

from pytest_ngraph.case import Case

SIDE_BY_SIDE = """
import sys
sys.modules["torch"] = None  # TVM would import it
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
    command = [sys.executable, "-I", "-c", SIDE_BY_SIDE, str(deploy(conv(compiler, width=4)))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "[True, True]\n", done.stderr


@pytest.fixture
def serve(deploy: Deploy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Case], dict[str, Any]]]:
    """Return a function that deploys a case and runs its `serve.py` in this process, which is PyTorch's."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("MALLOC_ARENA_MAX", "8")  # so that `load` leaves this process's allocator as it is
    threads = torch.get_num_threads()

    def names(case: Case) -> dict[str, Any]:
        file = deploy(case) / "serve.py"
        found: dict[str, Any] = {"__file__": str(file), "__name__": "serve"}
        exec(file.read_text(), found)  # noqa: S102
        return found

    yield names
    torch.set_num_threads(threads)


@pytest.mark.parametrize("compiler", ["identity", "torchscript"])
@pytest.mark.parametrize("workload", ["nets_of_views:learned_conjugate", "odd_nets:nested"])
def test_writing_into_an_answer_changes_neither_the_model_nor_the_inputs(
    workload: str, compiler: str, serve: Callable[[Case], dict[str, Any]]
) -> None:
    """Their outputs are also a learned parameter, and the inputs themselves."""
    served = serve(Case(workload=workload, compiler=compiler, batch_size=2))
    model, inputs = served["load"](), served["samples"]()
    for output in served["answer"](model, inputs):
        output[...] = 0
    assert all(map(np.array_equal, inputs, served["samples"]()))
    for output, expected in zip(served["answer"](model, inputs), served["arrays"]("reference.npz"), strict=True):
        np.testing.assert_allclose(output, expected, atol=1e-6)


@pytest.mark.parametrize(
    "case",
    [
        Case(workload="nets_of_views:started", compiler="identity", batch_size=2),
        Case(workload="nets_of_views:started", compiler="torchscript", batch_size=2),
        Case(workload="test_resnet", compiler="identity", batch_size=2),
    ],
    ids=["program", "script", "module"],
)
def test_inputs_of_other_shapes_and_types_are_an_error(case: Case, serve: Callable[[Case], dict[str, Any]]) -> None:
    """A trace has the batch size among its constants, and would broadcast."""
    if case.workload == "test_resnet":
        pytest.importorskip("timm")
    served = serve(case)
    model, (x,) = served["load"](), served["samples"]()
    for given in ([x[:1]], [x.astype(np.float64)], [x, x]):
        with pytest.raises(ValueError, match="the model takes"):
            served["answer"](model, given)


def test_inputs_may_lie_in_memory_in_another_way_than_when_it_was_measured(
    serve: Callable[[Case], dict[str, Any]],
) -> None:
    """Exporting drops the `contiguous` before a view that the measured inputs did not need."""
    served = serve(Case(workload="nets_of_views:rows", compiler="identity", batch_size=2))
    model, inputs = served["load"](), served["samples"]()
    same = [np.ascontiguousarray(each.T).T for each in inputs]
    assert all(map(np.array_equal, served["answer"](model, same), served["answer"](model, inputs)))


IN_A_THREAD = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
import serve
serve.THREADS = 1
model, inputs = serve.load(), serve.samples()

def request():
    before = len(os.listdir("/proc/self/task"))
    serve.answer(model, inputs)
    print(len(os.listdir("/proc/self/task")) - before)

thread = threading.Thread(target=request)
thread.start()
thread.join()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_any_thread_of_a_service_computes_with_the_measured_number_of_threads(deploy: Deploy) -> None:
    """OpenMP keeps the number for each calling thread, and oneDNN's packed convolutions take it from there."""
    command = [sys.executable, "-I", "-c", IN_A_THREAD, str(deploy(conv("torchscript")))]
    variables = os.environ | {"OMP_NUM_THREADS": "3"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert done.stdout == "0\n", "helpers that the call has started"


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
