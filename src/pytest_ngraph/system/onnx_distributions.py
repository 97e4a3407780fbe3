"""The distributions that install the module `onnxruntime`: one for a CPU, and one for each family of devices.

They write the same files. Whichever pip installs last replaces the others, which it still lists as installed. So no
message here has a second one installed.
"""

from __future__ import annotations

from pytest_ngraph.system.installed import distributions_of

MODULE = "onnxruntime"
EXTRAS = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-qnn")
"""Those for which pytest-ngraph has an extra of the same name."""
BY_PROVIDER = {
    "cpu": "onnxruntime",
    "cuda": "onnxruntime-gpu",
    "tensorrt": "onnxruntime-gpu",
    "openvino": "onnxruntime-openvino",
}
"""The distribution that has a provider, by this project's name of the provider."""


def installed() -> dict[str, str]:
    """Return the installed distributions that have the module, with their versions."""
    return distributions_of(MODULE)


def overwritten() -> str:
    """Return that several distributions have written the module, and the command that mends it; empty if one has."""
    names = [*installed()]
    if len(names) < 2:
        return ""
    wanted = next(name for name in names if name != MODULE)  # nobody needs the CPU's besides another
    return (
        f"{' and '.join(names)} have written the module {MODULE} over each other: "
        f"pip uninstall -y {' '.join(names)}, then {_install(wanted)}"
    )


def to_import() -> str:
    """Return the command after which the module can be imported, where it cannot be."""
    for name, number in installed().items():
        return overwritten() or f"pip install --force-reinstall --no-deps {name}=={number}"
    return _install(MODULE)


def instead(provider: str) -> str:
    """Return the commands that put the build with this provider in place of the installed one; empty if none has it."""
    names = " ".join(installed())
    wanted = BY_PROVIDER.get(provider, "")
    if not wanted:
        return ""
    return f"pip uninstall -y {names}, then {_install(wanted)}" if names else _install(wanted)


def _install(distribution: str) -> str:
    return f'pip install "pytest-ngraph[{distribution}]"' if distribution in EXTRAS else f"pip install {distribution}"
