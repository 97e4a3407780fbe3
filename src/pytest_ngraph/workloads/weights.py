"""Initial weights with which every branch of the graph changes the outputs, so that comparing outputs can check it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ngraph.workloads.own_types import is_opaque

if TYPE_CHECKING:
    import torch


def draw_constants(module: torch.nn.Module) -> None:
    """Replace every constant parameter and BatchNorm's running statistics by random values, in place.

    Untrained models start with constants that hide a compiler's mistakes: a residual branch that ends in a norm of
    weight 0 (ResNet) or in a layer scale of 1e-6 (ConvNeXt, DeiT) adds nothing to the output, a bias of 0 may be
    dropped, and running statistics of 0 and 1 make BatchNorm the identity. Outputs would agree with eager's even if
    such a branch were wrong. The random values are near those of trained models, which keeps outputs finite and of
    moderate size. They come from the global generator, which is seeded wherever a workload is built.

    Workloads by name are drawn by it. A model of your own keeps the weights that you gave it, unless you call it.

    A constant vector named `weight` is the scale of a norm: 1 becomes N(1, 0.1), 0 becomes N(0.5, 0.1). All other
    constants (biases, layer scales, tokens, position embeddings) become N(0, 0.1).
    """
    import torch

    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if _is_constant(parameter):
                is_scale = parameter.ndim == 1 and name.rpartition(".")[2] == "weight"
                centre = _scale_centre(parameter) if is_scale else 0.0
                parameter.copy_(centre + 0.1 * torch.randn_like(parameter))
        for part in module.modules():
            _draw_running_statistics(part)


def take_statistics(module: torch.nn.Module, args: tuple[Any, ...]) -> None:
    """Set BatchNorm's running statistics to those of a call, in place, where a channel has more than one value.

    Without, signals shrink from layer to layer. A detector then has the same score everywhere, so that rounding chooses
    what it reports, and outputs cannot be compared.
    """
    import torch

    def take(norm: Any, given: tuple[torch.Tensor, ...]) -> None:
        channels = given[0].transpose(0, 1).flatten(1)
        if channels.shape[1] > 1:
            norm.running_mean.copy_(channels.mean(1))
            norm.running_var.copy_(channels.var(1))

    norms = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]
    hooks = [norm.register_forward_pre_hook(take) for norm in norms]
    with torch.no_grad():
        module.eval()(*args)
    for hook in hooks:
        hook.remove()


def hidden(module: torch.nn.Module, tolerance: float) -> list[str]:
    """Return the parameters that are one value next to zero, so that outputs hardly depend on what they scale.

    Such are the last norm of a zero-initialised residual branch, a layer scale of 1e-6, and a gate of 0. What they
    scale may be wrong by its whole size, and the outputs would still agree. Biases are left out: a bias of 0 hides only
    itself.

    Args:
        tolerance: the largest absolute value that counts, the relative error that verification allows.
    """
    return [
        name
        for name, parameter in module.named_parameters()
        if not name.rpartition(".")[2].endswith("bias") and _is_next_to_zero(parameter, tolerance)
    ]


def _is_next_to_zero(parameter: torch.Tensor, tolerance: float) -> bool:
    if parameter.numel() == 0 or is_opaque(parameter) or _is_sparse(parameter):
        return False
    return abs(parameter.flatten()[0].item()) <= tolerance and _is_constant(parameter)


def _is_constant(parameter: torch.Tensor) -> bool:
    if parameter.numel() == 0 or _is_sparse(parameter):
        return False
    return bool((parameter == parameter.flatten()[0]).all())


def _is_sparse(parameter: torch.Tensor) -> bool:
    import torch

    return parameter.layout != torch.strided


def _scale_centre(parameter: torch.Tensor) -> float:
    value = parameter.flatten()[0].item()
    return 0.5 if value == 0 else float(value)


def _draw_running_statistics(part: torch.nn.Module) -> None:
    import torch

    mean, variance = getattr(part, "running_mean", None), getattr(part, "running_var", None)
    if isinstance(mean, torch.Tensor) and isinstance(variance, torch.Tensor):
        mean.copy_(0.1 * torch.randn_like(mean))
        variance.copy_(1 + 0.1 * torch.rand_like(variance))
