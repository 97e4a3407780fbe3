"""What is known of a folder that serves, once it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.costs import Costs
from pytest_ngraph.record import Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A folder that serves a case, and what only its compiler knows of it.

    Attributes:
        folder: the folder.
        serving: what the compiler's `deploy` returned.
        inputs: name, type and shape of each.
        outputs: likewise.
        agreement: how close the outputs are to the reference.
        artifact_bytes: as in `Costs`.
        install_bytes: as in `Costs`.
        packages: folders with packages that it needs, where an isolated interpreter does not look.
    """

    folder: Path
    serving: Serving
    inputs: list[list[str]]
    outputs: list[list[str]]
    agreement: Agreement
    artifact_bytes: int
    install_bytes: int | None
    packages: list[str]

    @classmethod
    def from_answer(cls, answer: dict[str, Any], folder: Path, agreement: Agreement) -> Written:
        """Return what a worker answers of a folder that it has written (`worker.deploy`)."""
        serving = Serving.from_dict(answer["serving"])
        return cls(**answer | {"serving": serving, "folder": folder, "agreement": agreement})

    @property
    def costs(self) -> Costs:
        """The costs that are known without a launch."""
        return Costs(artifact_bytes=self.artifact_bytes, install_bytes=self.install_bytes)
