"""Wheels of one module each, made without a build tool."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path


def wheel(folder: Path, name: str, version: str, code: str, requires: str = "") -> Path:
    """Write the wheel of a package whose only module has this code."""
    folder.mkdir(exist_ok=True)
    information = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}.py": code,
        f"{information}/METADATA": metadata + (f"Requires-Dist: {requires}\n" if requires else ""),
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    records = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in files.items()]
    files[f"{information}/RECORD"] = "\n".join([*records, f"{information}/RECORD,,", ""])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in files.items():
            archive.writestr(place, text)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
