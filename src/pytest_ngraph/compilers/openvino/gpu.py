"""Which of OpenVINO's GPUs is the one that PyTorch means by an index.

Each has an order of its own: for OpenVINO an integrated GPU is the first, and PyTorch leaves it out beside others.
"""

from __future__ import annotations

from typing import Any

from pytest_ngraph.errors import Unsupported


def of_index(core: Any, index: int) -> str:
    """Return OpenVINO's name of the GPU of this index, by PyTorch's order if PyTorch can use Intel's GPUs.

    Raises:
        Unsupported: PyTorch finds none of this index, or OpenVINO does not say which it is.
    """
    import torch

    there: list[str] = [device for device in core.available_devices if device.partition(".")[0] == "GPU"]
    if not there or not torch.xpu.is_available():
        return f"GPU.{index}" if index else "GPU"
    if index >= (count := torch.xpu.device_count()):
        raise Unsupported(f"PyTorch finds no GPU of index {index} here; it finds {count}")
    wanted = torch.xpu.get_device_properties(index)
    same_uuid = [device for device in there if _uuid(core, device) == _plain(getattr(wanted, "uuid", "?"))]
    same_name = [device for device in there if name(core, device) == wanted.name]
    for found in (same_uuid, same_name, there if count == 1 else []):
        if len(found) == 1:
            return found[0]
    raise Unsupported(
        f"openvino does not say which of {', '.join(there)} is {wanted.name}, PyTorch's GPU of index {index}. Name it, "
        "as in openvino:device=GPU.1"
    )


def name(core: Any, device: str) -> str:
    """Return the name of a GPU, without what OpenVINO adds to it."""
    full_name: str = core.get_property(device, "FULL_DEVICE_NAME")
    return full_name.removesuffix(" (dGPU)").removesuffix(" (iGPU)")


def _uuid(core: Any, device: str) -> str:
    try:
        return _plain(core.get_property(device, "DEVICE_UUID"))
    except RuntimeError:  # its driver reports none
        return ""


def _plain(uuid: object) -> str:
    digits = bytes(uuid).hex() if isinstance(uuid, (bytes, list, tuple)) else str(uuid)
    return digits.replace("-", "").lower()
