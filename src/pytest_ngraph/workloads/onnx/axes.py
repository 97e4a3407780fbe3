"""The axes that an ONNX file leaves open: what the case and the graph say of them, and what is asked of the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ngraph.case import BATCH, RESERVED
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.onnx.formulas import NAME, names_in, size_of
from pytest_ngraph.workloads.onnx.nodes import Uses, fed
from pytest_ngraph.workloads.onnx.proposals import ARGUMENTS, EXAMPLE, Axis, argument, line

if TYPE_CHECKING:
    from pytest_ngraph.case import Case, Shape

BATCH_NAMES = ("n", "b", "bs")
"""Names of the batch axis besides those that contain the word."""


def fix(model: Any, case: Case, given: Mapping[str, tuple[int, ...]] | None = None) -> dict[str, int]:
    """Set every open axis of the inputs to its size, in place, and the axes of the outputs that have the same names.

    Args:
        given: shapes of inputs that the user gives, by name. They settle the axes that nothing else does.

    Returns:
        The place of the batch among the axes of each input that has one.

    Raises:
        UsageError: an axis stays open, the file fixes another batch size, or the case gives a size, an input or an
            axis that the file does not have.
    """
    axes = _Axes(model, case, given or {})
    axes.fix()
    return axes.batched


@dataclass(eq=False)
class _Axes:
    """The axes of the inputs that are tensors.

    Attributes:
        given: as in `fix`.
        batched: what `fix` returns.
        symbols: the size of each name that the file gives to axes, as far as it is known.
    """

    model: Any
    case: Case
    given: Mapping[str, tuple[int, ...]]
    symbols: dict[str, int] = field(default_factory=dict)
    batched: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._file = self.case.workload
        self._sizes, self._shapes = self.case.named_sizes, dict(self.case.shapes)
        self._inputs = {value.name: value for value in fed(self.model) if value.type.HasField("tensor_type")}
        for value in self._inputs.values():
            if not value.type.tensor_type.HasField("shape"):
                self._add_axes(value)
        for _, _, axis in self._axes():
            if axis.dim_value < 1:  # some exporters write -1 or 0 for an open axis
                axis.ClearField("dim_value")
        self._named = {name for _, _, axis in self._axes() for name in names_in(axis.dim_param)}
        for name in self._named - set(self._sizes):
            if (called := self._argument_of(name)) in self._sizes and called not in self._texts():
                self._sizes[name] = self._sizes.pop(called)
        self._batch_names: set[str] = set()
        self._uses = Uses.of(self.model)

    def fix(self) -> None:
        self._check_names()
        self.symbols |= {name: size for name, size in self._sizes.items() if name in self._named}
        for name, shape in self._shapes.items():
            self._give(self._inputs[name], shape)
        self._take_batch()
        self.symbols |= dict.fromkeys(self._batch_names, self.case.batch_size)
        for value, index, axis in sorted(self._axes(), key=lambda each: _is_formula(each[2])):
            if is_open(axis):
                self._settle(value, index, axis)
        self._refuse_open()
        has_sequence = any(value.type.HasField("sequence_type") for value in fed(self.model))
        if not self.batched and not has_sequence:  # a sequence has as many parts as the batch
            self._check_fixed_batch()
        for value in self.model.graph.output:
            for axis in value.type.tensor_type.shape.dim:
                if (size := size_of(axis.dim_param, self.symbols)) is not None:
                    axis.dim_value = size

    def _add_axes(self, value: Any) -> None:
        """Give an input for which the file states no shape as many open axes as the user says that it has."""
        known = self._shapes.get(value.name, self.given.get(value.name))
        if known is None:
            raise UsageError(
                f"{self._file} states no shape for input {value.name!r}. Give it in the mark, for example "
                f'shapes={{"{value.name}": ("{BATCH}", {EXAMPLE})}}.'
            )
        value.type.tensor_type.shape.SetInParent()
        for _ in known:
            value.type.tensor_type.shape.dim.add()

    def _check_names(self) -> None:
        for name in self._shapes:
            if name not in self._inputs:
                raise UsageError.unknown(f"input of {self._file} in shapes", name, self._inputs)
        taken = self._named | self._texts()
        for name in self._sizes:
            if name not in taken:
                example = f'shapes={{"{next(iter(self._inputs), "x")}": ("batch", "{name}")}}'
                step = f"Give a known one, or name an axis by it: {example}."
                known = {self._argument_of(each) or each for each in taken - {BATCH}}
                raise UsageError.unknown(f"size of {self._file}", name, known, step)

    def _texts(self) -> set[str]:
        """Return the names of axes in the shapes that the case gives."""
        return {axis for shape in self._shapes.values() for axis in shape if isinstance(axis, str)}

    def _argument_of(self, name: str) -> str:
        """Return what a mark calls the size of an axis, `width` for `w`; empty where no argument can set it."""
        if name not in RESERVED:
            return name
        called = RESERVED[name]
        is_free = called == name or called not in self._named
        return called if called in ARGUMENTS and is_free else ""

    def _give(self, value: Any, shape: Shape) -> None:
        """Set an input to the shape that the case gives it."""
        axes = value.type.tensor_type.shape.dim
        if len(shape) != len(axes):
            raise UsageError(
                f"{self._file}: shapes gives input {value.name!r} {len(shape)} axes, and the file {len(axes)}: "
                f"{_shown(value)}. Give one size for each axis."
            )
        for index, (axis, given) in enumerate(zip(axes, shape, strict=True)):
            size = self._size(value, index, given)
            if not is_open(axis) and axis.dim_value != size:
                raise UsageError(
                    f"{self._file}: axis {index} of input {value.name!r} is {axis.dim_value} in the file, and the case "
                    f"makes it {size}. Give {axis.dim_value}, or export the file again with this axis open."
                )
            name = name_of(axis)
            if given == BATCH and name:
                self._batch_names.add(name)
            elif name and name not in self._sizes:
                self.symbols[name] = size
            axis.dim_value = size

    def _size(self, value: Any, index: int, given: int | str) -> int:
        if given == BATCH:
            self.batched.setdefault(value.name, index)
            return self.case.batch_size
        if isinstance(given, int):
            return given
        if given not in self._sizes:
            raise UsageError(
                f"{self._file}: shapes calls axis {index} of input {value.name!r} {given!r}, and no size of that "
                f"name is given. Write {argument(given)}."
            )
        return self._sizes[given]

    def _take_batch(self) -> None:
        """Find the names of the batch: those that say so, of first axes also by a letter, or else all of first axes."""
        open_ = {(name_of(axis), index == 0) for _, index, axis in self._axes() if is_open(axis)}
        left = {(name, is_first) for name, is_first in open_ if name and name not in self.symbols}
        own = {name for name, is_first in left if BATCH in name.lower() or (is_first and name.lower() in BATCH_NAMES)}
        self._batch_names |= own or {name for name, is_first in left if is_first}

    def _settle(self, value: Any, index: int, axis: Any) -> None:
        """Set an axis where its name, its place or the graph says its size."""
        name, rank = name_of(axis), len(value.type.tensor_type.shape.dim)
        size = size_of(axis.dim_param, self.symbols)
        if name in self._batch_names or (index == 0 and not name and size is None):
            size = self.case.batch_size
            self.batched.setdefault(value.name, index)
        if size is None:
            size = self._uses.size_of(value.name, index, rank)
        if size is None and len(self.given.get(value.name, ())) == rank:
            size = self.given[value.name][index]
        if size is not None:
            if name:
                self.symbols[name] = size
            axis.dim_value = size

    def _refuse_open(self) -> None:
        """Raise `UsageError` for all axes that are still open, with the line to write."""
        left = [
            f"axis {index} of {value.name!r} ({axis.dim_param or 'unnamed'})"
            for value, index, axis in self._axes()
            if is_open(axis)
        ]
        if left:
            proposed = self._line()
            batch = f' Write "{BATCH}" for an axis that is the batch.' if "shapes=" in proposed else ""
            raise UsageError(
                f"{self._file} leaves open: {', '.join(left)}. Give their sizes in the mark, for example "
                f"{proposed}.{batch}"
            )

    def _line(self) -> str:
        """Return arguments of the mark that would settle the open axes, as a user writes them."""
        inputs = {
            name: [
                Axis(axis.dim_param, None if is_open(axis) else axis.dim_value)
                for axis in value.type.tensor_type.shape.dim
            ]
            for name, value in self._inputs.items()
        }
        return line(inputs, self.symbols, self.batched, self._argument_of)

    def _check_fixed_batch(self) -> None:
        """Raise `UsageError` where no axis can follow the batch size, and it is not the one that the file has."""
        given = set(self._sizes) | set(self._shapes)
        fixed = [value for value in self._inputs.values() if value.type.tensor_type.shape.dim]
        size = fixed[0].type.tensor_type.shape.dim[0].dim_value if fixed and not given else 1
        if size == self.case.batch_size:
            return
        if given or not fixed:
            raise UsageError(
                f"batch_size={self.case.batch_size}: no axis of {self._file} is the batch. Use batch_size=1, or mark "
                f"the axis in shapes with {BATCH!r}."
            )
        raise UsageError(
            f"{self._file} has batch size {size} fixed in input {fixed[0].name!r}, not {self.case.batch_size}. "
            f"Use batch_size={size}, or export it again with a dynamic batch axis."
        )

    def _axes(self) -> Iterator[tuple[Any, int, Any]]:
        """Yield each axis, after its input and its place there."""
        for value in self._inputs.values():
            for index, axis in enumerate(value.type.tensor_type.shape.dim):
                yield value, index, axis


def is_open(axis: Any) -> bool:
    """Return whether nothing has said the size of this axis. What says it may say 0."""
    return not axis.HasField("dim_value")


def name_of(axis: Any) -> str:
    """Return the name by which a case can set an axis; empty for one without, or with a formula such as `n + 1`."""
    name: str = axis.dim_param
    return name if re.fullmatch(NAME, name) else ""


def _is_formula(axis: Any) -> bool:
    return bool(axis.dim_param) and not name_of(axis)


def _shown(value: Any) -> str:
    axes = value.type.tensor_type.shape.dim
    texts = [(name_of(axis) or "?") if is_open(axis) else str(axis.dim_value) for axis in axes]
    return f"({', '.join(texts)})"
