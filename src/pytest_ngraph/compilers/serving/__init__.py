"""What a compiler adds to a folder that serves: the lines of its `serve.py` that load the compiled model and call it.

In: what `compile` wrote, the artifact and the target. Out: files in the folder, and a `Serving`, from which `deploy/`
writes `serve.py`, its requirements and its README. Each runtime has a file; open `onnxruntime.py` first. The code that
they return imports neither this package nor, where the runtime can do without it, PyTorch.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers import program
from pytest_ngraph.errors import Unsupported

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ngraph.artifact import Array, Artifact, Target
    from pytest_ngraph.compilers.interface import Compiler


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a deployed folder answers, as far as only its compiler knows.

    Attributes:
        libraries: modules that `serve.py` needs, whose distributions go to `requirements.txt`; with extras of these in
            brackets, of which it lists what is installed.
        imports: lines that import what `code` uses, from the standard library, too.
        before: lines that run before it imports anything that is not of the standard library.
        code: constants and the functions `load()` and `answer(model, inputs)`. Inputs and outputs are lists of NumPy
            arrays in the graph's order. It may use `HERE` (the folder), `THREADS`, `np` and `arrays(name)`, which reads
            an npz file of the folder.
        files: what each file is, by its name.
        spare: names of those that `load()` does not read as `code` stands.
        threads: threads that one call computes with; None for those of the target, which calls side by side share.
        streams: calls that run side by side; more than 1 for throughput. `answer` is then called from as many threads.
        concurrent: whether several threads may call `answer` at a time. Where they may not, and there are no streams,
            `serve.py` has a lock around it.
        notes: further sentences for the README.
        takes_any: whether the runtime takes too few inputs, or inputs of other types, without an error. Then `serve.py`
            has a function `require(inputs)`, which refuses them, and `answer` calls it first.
    """

    libraries: tuple[str, ...]
    imports: tuple[str, ...]
    code: str
    files: dict[str, str]
    threads: int | None = None
    streams: int = 1
    concurrent: bool = False
    notes: tuple[str, ...] = field(default=())
    spare: tuple[str, ...] = ()
    takes_any: bool = False
    before: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Serving:
        """Return what `to_dict` wrote."""
        return cls(**data | {name: tuple(data[name]) for name in ("libraries", "imports", "notes", "spare", "before")})


def deploy(name: str, compiler: Compiler, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
    """Let a compiler write into `folder` what serves the model that it compiled.

    Args:
        name: the compiler's name with its options.
        compiled: what `compile` filled.
        folder: what is deployed; empty.

    Raises:
        Unsupported: the compiler cannot deploy this model, or has no method `deploy`.
    """
    method = getattr(compiler, "deploy", None)
    if method is None:
        raise Unsupported(f"{name} has no method deploy; docs/add-a-compiler.md says what it returns")
    serving: Serving = method(artifact, target, compiled, folder)
    return serving


def samples(artifact: Artifact) -> list[Array]:
    """Return the inputs in the types in which the program takes them, but bfloat16, which NumPy lacks, as float32."""
    return [(each.float() if is_bf16(each.dtype) else each).numpy() for each in program.inputs(artifact)]


def is_bf16(dtype: object) -> bool:
    """Return whether this is PyTorch's bfloat16."""
    return str(dtype) == "torch.bfloat16"
