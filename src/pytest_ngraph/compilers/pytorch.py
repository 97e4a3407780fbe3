"""What PyTorch itself runs: eager modules, TorchScript, Inductor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_ngraph.clock import Stopwatch, WallStopwatch
from pytest_ngraph.compilers import CompiledModel, cuda, program, streams

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Array, Artifact, Target

Run = Callable[..., object]


class PytorchModel:
    """A PyTorch callable with its inputs in place."""

    concurrency = 1

    def __init__(self, run: Run, inputs: tuple[torch.Tensor, ...], target: Target, **facts: object) -> None:
        """`run` takes `inputs`, both on the target's kind of device. `facts`: what is particular to this compiler."""
        import torch

        self._run = run
        self._inputs = inputs
        # What `torch.inference_mode` wraps. The wrapper doubles the cost of a call, 2 % of the smallest blocks' time.
        self._inference_mode = torch._C._InferenceMode
        self.stopwatch = _stopwatch(target)
        # PyTorch promotes or lowers no type behind one's back once `set_up` has pinned fp32: what the graph says runs.
        general = {"version": torch.__version__, "precision": target.precision, "provider": target.kind}
        threads_used = {"threads": torch.get_num_threads()} if target.kind == "cpu" else {}
        self.facts = {name: str(value) for name, value in (general | threads_used | facts).items()}

    def __call__(self) -> object:
        with self._inference_mode(True):
            return self._run(*self._inputs)

    def outputs(self) -> Sequence[Array]:
        return program.flatten(self())

    def close(self) -> None:
        del self._run, self._inputs


def load(run: Run, inputs: tuple[torch.Tensor, ...], target: Target, **facts: object) -> CompiledModel:
    """A PyTorch callable as the target's objective asks for it: its streams share weights and inputs."""

    def instance(on: Target) -> CompiledModel:
        set_up(on)  # in its own thread: PyTorch counts threads for each that calls it
        return PytorchModel(run, inputs, on, **facts)

    return streams.load(instance, target)


def set_up(target: Target) -> None:
    """Set what belongs to the process: threads, the meaning of fp32, and on a GPU the stream. Before any model."""
    import torch

    torch.set_num_threads(target.threads)
    torch.set_float32_matmul_precision("highest")
    if target.kind == "cuda":
        cuda.use_full_fp32()
        cuda.own_stream()


def program_module(artifact: Artifact, target: Target) -> torch.nn.Module:
    """The exported program as a module on the target's kind of device. Raises as `program.load` does."""
    loaded = program.load(artifact)
    if target.kind != "cpu":
        from torch.export.passes import move_to_device_pass

        loaded = move_to_device_pass(loaded, target.kind)  # constants and operators that name a device, too
    module: torch.nn.Module = loaded.module()
    return module.to(target.kind)


def _stopwatch(target: Target) -> Stopwatch:
    return cuda.CudaStopwatch(cuda.own_stream()) if target.kind == "cuda" else WallStopwatch()
