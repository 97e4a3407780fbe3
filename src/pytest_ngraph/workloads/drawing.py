"""Inputs as a model would get them: token ids below the vocabulary, masks mostly of ones, positions that count up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    from pytest_ngraph.artifact import Array

PADDED_SHARE = 4
"""A mask's rows end in zeros over at most 1/PADDED_SHARE of their values."""


@dataclass(frozen=True, slots=True)
class Values:
    """Numbers of no particular meaning: floats from a standard normal distribution, integers 0 or 1.

    The text is that of integers: what floats are drawn as is not recorded.

    Attributes:
        why: what in the model says so, as a phrase; empty where nothing does.
    """

    why: str = ""

    def __str__(self) -> str:
        return _explained("0 or 1", self.why)


@dataclass(frozen=True, slots=True)
class Ids:
    """Numbers of the rows of a table.

    Attributes:
        below: the size of the smallest table that they index.
        why: as in `Values`: `index tok_embeddings.weight`.
    """

    below: int
    why: str = ""

    def __str__(self) -> str:
        return _explained(f"ids below {self.below}", self.why)


@dataclass(frozen=True, slots=True)
class Mask:
    """Ones, with zeros at the end of a row, as padded samples have. The first value of each row is a one.

    Attributes:
        why: as in `Values`: `its name ends in mask`.
    """

    why: str = ""

    def __str__(self) -> str:
        return _explained("a mask, mostly ones", self.why)


@dataclass(frozen=True, slots=True)
class Positions:
    """0, 1, 2 and so on along the last axis.

    Attributes:
        below: the size of the table that they index, at which they begin again; None where they index none.
        why: as in `Values`.
    """

    below: int | None = None
    why: str = ""

    def __str__(self) -> str:
        limit = "" if self.below is None else f" below {self.below}"
        return _explained(f"positions{limit}", self.why)


@dataclass(frozen=True, slots=True)
class Fixed:
    """One number, such as the sampling rate that a model asks for.

    Attributes:
        value: the number.
        why: as in `Values`.
    """

    value: int
    why: str = ""

    def __str__(self) -> str:
        return _explained(str(self.value), self.why)


Role: TypeAlias = Values | Ids | Mask | Positions | Fixed
"""What the numbers of an input mean. Its text is what a record says of them: `ids below 1000 (index embed.weight)`."""


def draw(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], role: Role) -> Array:
    """Return an input of this shape and type (a number or boolean), as its role asks for it.

    Args:
        generator: advanced by each input; the same seed and the same order give the same inputs.
        shape: shape of the input; () for a scalar.
        dtype: NumPy's type of the input. Ids and positions that it cannot hold are drawn below what it can.
        role: what the numbers mean.
    """
    import numpy as np

    is_float = np.issubdtype(dtype, np.floating)
    if isinstance(role, Fixed):
        return np.full(shape, role.value, dtype)
    if isinstance(role, Mask):
        return _mask(generator, shape).astype(dtype)
    if isinstance(role, Positions) and not is_float:
        along = np.arange(shape[-1] if shape else 1) % _below(dtype, role.below)
        return np.broadcast_to(along if shape else along[0], shape).astype(dtype)
    if is_float:
        return generator.standard_normal(shape, dtype=np.float32).astype(dtype)
    below = role.below if isinstance(role, Ids) else 2
    return np.asarray(generator.integers(0, _below(dtype, below), shape)).astype(dtype)


def _mask(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    import numpy as np

    if not shape:
        return np.array(1)
    length = shape[-1]
    padding = generator.integers(0, length // PADDED_SHARE + 1, shape[:-1])
    return np.arange(length) < length - np.expand_dims(padding, -1)


def _below(dtype: np.dtype[Any], below: int | None) -> int:
    """Return a bound that the type can hold."""
    import numpy as np

    most = 2 if dtype == np.bool_ else int(np.iinfo(dtype).max)
    return max(1, most if below is None else min(below, most))


def _explained(what: str, why: str) -> str:
    return f"{what} ({why})" if why else what
