"""PyTorch's global settings: those that a user's code makes hold for its own workload, and for no other.

One process exports all workloads, and a compiler's process builds many. `torch.set_default_dtype(torch.bfloat16)` in
one user's function would otherwise build the next model in bf16.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

ATTRIBUTES = (
    "cuda.matmul.allow_tf32", "cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda.matmul.allow_bf16_reduced_precision_reduction", "cuda.matmul.allow_fp16_accumulation", "cudnn.allow_tf32",
    "cudnn.enabled", "cudnn.benchmark", "cudnn.deterministic", "mkldnn.enabled", "mkldnn.deterministic",
    "quantized.engine", "fp32_precision", "cuda.matmul.fp32_precision", "cudnn.fp32_precision",
    "cudnn.conv.fp32_precision", "cudnn.rnn.fp32_precision", "mkldnn.fp32_precision", "mkldnn.matmul.fp32_precision",
    "mkldnn.conv.fp32_precision", "mkldnn.rnn.fp32_precision",
)  # fmt: skip
"""Settings of `torch.backends` that are attributes. `fp32_precision` comes last: what precedes it sets it, too."""
ATTENTIONS = ("flash", "mem_efficient", "math", "cudnn")
"""The implementations of attention that `torch.backends.cuda` has a switch for."""

Values = Mapping[str, Any]
"""Settings by name, without those that this PyTorch lacks, or cannot report while others contradict each other."""


class _Setting(NamedTuple):
    read: Callable[[], Any]
    write: Callable[[Any], object]


class _Change(NamedTuple):
    before: Any
    after: Any


_OF_MODULES: dict[str, Values] = {}
"""What importing a user's module has set, by the module's name."""
_STANDING: dict[str, _Change] = {}
"""What the workload that was built last has set, and may need when it is called."""


@contextmanager
def restored(*, needs_torch: bool = True) -> Iterator[None]:
    """Run the block without what the workload built last has set, and put back all that the block sets.

    Args:
        needs_torch: whether the block runs code that may set something. Other blocks may do without PyTorch.
    """
    undo()
    before = _read(needs_torch=needs_torch)
    try:
        yield
    finally:
        _write(before)


@contextmanager
def standing(*, needs_torch: bool = True) -> Iterator[None]:
    """Run the block without what the workload built last has set. What the block sets stands until `undo`.

    Args:
        needs_torch: as for `restored`.
    """
    undo()
    before = _read(needs_torch=needs_torch)
    try:
        yield
    finally:
        after = _read(needs_torch=needs_torch)
        names = [name for name in before if name in after and before[name] != after[name]]
        _STANDING.update({name: _Change(before[name], after[name]) for name in names})


def undo() -> None:
    """Take back what the workload that was built last has set, unless it was set again since."""
    if _STANDING:
        now = _read()
        _write({name: each.before for name, each in _STANDING.items() if now.get(name) == each.after})
        _STANDING.clear()


@contextmanager
def of_module(name: str) -> Iterator[None]:
    """Run the block, which imports a user's module. Set what the module has set, also if it was imported before."""
    if name in sys.modules:
        yield
        _write(_OF_MODULES.get(name, {}))
        return
    before = _read()
    yield
    _OF_MODULES[name] = {setting: value for setting, value in _read().items() if before.get(setting) != value}


def _read(*, needs_torch: bool = True) -> Values:
    values: dict[str, Any] = {}
    if not needs_torch and "torch" not in sys.modules:
        return values
    for name, setting in _settings().items():
        with suppress(AttributeError, RuntimeError):
            values[name] = setting.read()
    return values


def _write(values: Values) -> None:
    """Set what differs from these values."""
    if not values:
        return
    now, settings = _read(), _settings()
    for name, value in values.items():
        if name not in now or now[name] != value:
            with suppress(AttributeError, RuntimeError):
                settings[name].write(value)


def _settings() -> dict[str, _Setting]:
    """Return how each setting is read and written, in the order in which they are written."""
    import torch

    cuda = torch.backends.cuda
    named = {
        "dtype": _Setting(torch.get_default_dtype, torch.set_default_dtype),
        "device": _Setting(_default_device, torch.set_default_device),
        "deterministic": _Setting(_determinism, _determine),
        "grad": _Setting(torch.is_grad_enabled, torch.set_grad_enabled),
        "anomaly": _Setting(torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
        "threads": _Setting(torch.get_num_threads, torch.set_num_threads),
        "fastpath": _Setting(torch.backends.mha.get_fastpath_enabled, torch.backends.mha.set_fastpath_enabled),
        "matmul": _Setting(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    }
    for device in ("cpu", "cuda"):
        enabled = partial(torch.is_autocast_enabled, device), partial(torch.set_autocast_enabled, device)
        named[f"autocast {device}"] = _Setting(*enabled)
    for name in ATTENTIONS:
        read, write = getattr(cuda, f"{name}_sdp_enabled"), getattr(cuda, f"enable_{name}_sdp")
        named[f"{name} attention"] = _Setting(read, write)
    return named | {name: _Setting(partial(_attribute, name), partial(_set_attribute, name)) for name in ATTRIBUTES}


def _default_device() -> Any:
    """Return the device that is set, None for none: one that is set to the CPU slows every call down."""
    import torch

    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


def _determinism() -> tuple[bool, bool]:
    import torch

    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _determine(both: tuple[bool, bool]) -> None:
    import torch

    enabled, warns_only = both
    torch.use_deterministic_algorithms(enabled, warn_only=warns_only)


def _attribute(name: str) -> Any:
    import torch

    return attrgetter(name)(torch.backends)


def _set_attribute(name: str, value: Any) -> None:
    import torch

    owner, _, attribute = name.rpartition(".")
    setattr(attrgetter(owner)(torch.backends) if owner else torch.backends, attribute, value)
