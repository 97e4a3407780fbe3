"""The input of every compiler: an exported program (or an ONNX file) on disk, and the target it is compiled for."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pytest_ngraph.case import Case, Objective, Precision

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"
Kind = str
"""A kind of device: `cpu`, `cuda`, `xpu`, ..., each a file of `compilers/kinds/`."""
LISTS = (
    "unrelated", "input_names", "output_names", "input_types", "precisions", "hidden", "random", "written",
    "assigned", "state", "operators", "custom_ops", "data_dependent",
)  # fmt: skip
"""Fields of `Artifact` that are tuples."""
CAVEAT = "caveat"
"""The fact that says what a reader of the figures must know of how the model ran: the summary shows it."""
Step = Literal["", "prefill", "decode"]
"""What one iteration of a model that generates text does: the whole prompt, or one token after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The hardware and goal to compile for.

    Attributes:
        kind: the kind of device.
        index: which of the machine's devices of that kind, from 0.
        cores: the logical CPUs that compute, one thread bound to each.
        draw: for compilers that search. Each number above 0 is a search of its own, which starts from nothing that
            another has found; 0 allows what earlier searches have found.
    """

    kind: Kind = "cpu"
    index: int = 0
    cores: tuple[int, ...] = (0,)
    precision: Precision = "fp32"
    objective: Objective = "latency"
    draw: int = 0

    @property
    def threads(self) -> int:
        return len(self.cores)

    def for_case(self, case: Case) -> Target:
        """Return the same target with the precision and objective of a case."""
        return dataclasses.replace(self, precision=case.precision, objective=case.compiled_for)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Target:
        return cls(**data | {"cores": tuple(data["cores"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The size of the workload's model, counted before compiling, and the text that it works on.

    Attributes:
        parameters: number of learnable values.
        mult_adds: multiply-adds of one sample as torchinfo counts them (the study's MACs; attention is not counted).
        flops: floating-point operations of one sample as `torch.utils.flop_counter` counts them.
        tokens: tokens of one sample that an iteration works on; None where there is no text.
        step: the step of generating text; empty for anything else.
    """

    parameters: int | None = None
    mult_adds: int | None = None
    flops: int | None = None
    tokens: int | None = None
    step: Step = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One workload at one size, exported once and read by every compiler. Plain data: it travels as JSON.

    Attributes:
        folder: holds `inputs.npz` and `reference.npz` (the outputs of eager PyTorch in fp32), and the files below.
        case: the case that it was exported for; all fields but its compiler and device describe the workload.
        program: `torch.export` archive in the case's precision, or None (an ONNX workload, or `export_error`).
        onnx: the ONNX file at the case's batch size, or None (a PyTorch workload).
        export_error: why there is no program, when the model builds but `torch.export` refuses it.
        quantized: whether the graph contains operators that round to eight bits.
        data_dependent: which of `output_names` have a number of rows that values decide, or may decide.
        values_decide: whether values decide sizes or branches inside of the program, so that a trace holds those of
            these inputs.
        digest: SHA-256 of the graph and its weights.
        inputs_digest: SHA-256 of the values of the inputs.
        model: parameters and operations.
        files: digests of the user's own files that were read to build it, by path.
        unrelated: those of `files` that only other workloads import, which the same process has built before.
        drawn: what the integers and Booleans among the inputs were drawn as, and why, by the input's name.
        input_names: what users know each of `inputs` by: `ids`, `batch['mask']`; empty where the graph names them.
        output_names: likewise, of `reference`: `output`, `output[0]`, `output['logits']`.
        input_types: PyTorch's name of each input's type, `bfloat16`; empty where all floats have the case's precision.
        precisions: what a module that is left as it is computes in, `bf16`, `fp32`; empty for the case's precision.
        hidden: parameters next to zero, so that the outputs hardly depend on what they scale (`weights.hidden`).
        random: which of `output_names` have values that are drawn in each call.
        written: buffers and other tensors of the module that each call writes into.
        assigned: tensors in its attributes that each call replaces, which its program forgets.
        state: those of both that each call changes, if the outputs depend on what they held before.
        operators: modules that define operators of the program, and are imported before it is read.
        custom_ops: shared libraries with operators of `onnx`, which ONNX Runtime loads before it.
    """

    folder: Path
    case: Case
    program: Path | None = None
    onnx: Path | None = None
    export_error: str = ""
    quantized: bool = False
    data_dependent: tuple[str, ...] = ()
    values_decide: bool = False
    digest: str = ""
    inputs_digest: str = ""
    model: Model = field(default_factory=Model)
    files: dict[str, str] = field(default_factory=dict)
    unrelated: tuple[str, ...] = ()
    drawn: dict[str, str] = field(default_factory=dict)
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    input_types: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    custom_ops: tuple[str, ...] = ()

    @property
    def own_files(self) -> dict[str, str]:
        """Digests of the files that this workload is built from, by path."""
        return {path: digest for path, digest in self.files.items() if path not in self.unrelated}

    @property
    def calls_own_code(self) -> bool:
        """Whether the program has operators that the user's own files define, of which it holds only the names."""
        homes = [f"/{home.replace('.', '/')}" for home in self.operators]
        ends = tuple(home + end for home in homes for end in (".py", "/__init__.py"))
        return any(f"/{path}".endswith(ends) for path in self.own_files)

    def inputs(self) -> list[Array]:
        """Return the input tensors in the order in which `program` and compiled models take them.

        Floats are in fp32, or in fp64 where the workload takes that.
        """
        return load_arrays(self.folder / "inputs.npz")

    def reference(self) -> list[Array]:
        """Return the output tensors of eager PyTorch for `inputs`, flattened in order, floats in fp32."""
        return load_arrays(self.folder / "reference.npz")

    def to_dict(self) -> dict[str, Any]:
        data = dataclasses.asdict(self) | {"case": self.case.to_dict()}
        return {key: str(value) if isinstance(value, Path) else value for key, value in data.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Artifact:
        return cls(
            **data
            | {
                "folder": Path(data["folder"]),
                "case": Case.from_dict(data["case"]),
                "program": Path(data["program"]) if data["program"] else None,
                "onnx": Path(data["onnx"]) if data["onnx"] else None,
                "model": Model(**data["model"]),
                **{name: tuple(data.get(name, ())) for name in LISTS},
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An operation of the exported program, or of the ONNX file.

    Attributes:
        name: its name there, `conv2d_4`.
        operator: what it does, `conv2d`.
        module: path of the module that it belongs to, `layer1.0.conv1`; empty for the network itself.
        type: element type of its result, `float32`; empty for results other than one tensor.
        shape: shape of its result.
        attributes: its arguments that are not tensors, as text: `[2, 2], [1, 1]`.
        inputs: names of the nodes that it reads.
    """

    name: str
    operator: str
    module: str = ""
    type: str = ""
    shape: tuple[int | str, ...] = ()
    attributes: str = ""
    inputs: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the node as JSON-ready data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Node:
        """Return the node that `to_dict` wrote."""
        return cls(**data | {name: tuple(data[name]) for name in ("shape", "inputs")})


def save_arrays(path: Path, arrays: list[Array]) -> str:
    """Write arrays so that `Artifact` reads them back in order. Return the SHA-256 of types, shapes and values."""
    import numpy as np

    np.savez(path, **{f"a{index:04d}": array for index, array in enumerate(arrays)})  # type: ignore[arg-type]
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def load_arrays(path: Path) -> list[Array]:
    import numpy as np

    with np.load(path, allow_pickle=False) as archive:
        return [archive[name] for name in sorted(archive.files)]
