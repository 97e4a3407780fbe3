"""Put a folder that serves together, check it and measure its costs in fresh processes, then move it to its place."""

from __future__ import annotations

import re
import subprocess
import tempfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.again.deploying import deploying
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.serving import launch, variables_of
from pytest_ngraph.costs import Costs
from pytest_ngraph.deploy.readme import readme
from pytest_ngraph.errors import NgraphError, UsageError
from pytest_ngraph.record import Record
from pytest_ngraph.serving.launches import Place
from pytest_ngraph.serving.script import SCRIPT, SUMS, throughput_in
from pytest_ngraph.serving.written import Written
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import Run
from pytest_ngraph.system.affinity import on_cores
from pytest_ngraph.system.files import sha256

README = "README.md"
NOT_SUMMED = (README, SUMS)
ANSWERED = re.compile(r"^(\S+) \([\d, ]*\)$", re.MULTILINE)
"""The type and the shape of an output, as `serve.py` prints it."""
ERROR = re.compile(r"^[\w.]+(?:Error|Exception):\s*.+$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """A folder that serves.

    Attributes:
        folder: the folder.
        checked: what its check printed, without the types of its outputs.
        per_s: samples a second that it has answered in its check.
        streams: calls that run side by side in it.
        costs: what serving costs.
    """

    folder: Path
    checked: str
    per_s: float
    streams: int
    costs: Costs


def names_of(records: Iterable[Record]) -> list[str]:
    """Return the names of the folders of several cases: their ids, without characters that file names cannot have.

    Where two ids come to the same, each gets the CRC-32 of its id, too.
    """
    ids = [record.case.id for record in records]
    plain = [re.sub(r"[^\w.,=+-]+", "_", each).strip(".") for each in ids]
    return [
        name if plain.count(name) == 1 else f"{name}-{zlib.crc32(each.encode()):08x}"
        for each, name in zip(ids, plain, strict=True)
    ]


def require_empty(folder: Path) -> None:
    """Raise `UsageError` where something exists at this path that is not an empty folder."""
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty. Give a new folder: -o DIR.")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file. Give a new folder: -o DIR.")


def deploy(record: Record, run: Run, target: Target, settings: Settings, folder: Path, progress: Progress) -> Deployed:
    """Compile a record's case again, or take it from the cache, and write the folder that serves it.

    The folder appears only once its own check has passed in a process that has nothing but this interpreter's
    packages, and its costs are measured in further ones.

    Raises:
        UsageError: the folder is not empty, the case is not what was measured, or it cannot be deployed.
        NgraphError: it cannot be compiled any more, or the check of the folder fails.
    """
    require_empty(folder)
    destination = folder.resolve()
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}. Give another folder: -o DIR.") from None
    beside = destination if destination.exists() else destination.parent  # what exists may be a file system of its own
    with tempfile.TemporaryDirectory(prefix=f".{destination.name}-", dir=beside) as around:
        building = Path(around, destination.name)
        building.mkdir()
        graph = record.follows_from["graph"]
        with deploying(record.case, target, settings, graph, building, progress) as written:
            write_sums(building)
            place = Place(
                folder=building, cores=target.cores, variables=variables_of(building, target), packages=written.packages
            )
            checked = _check(place, record.case.id, settings.timeout_s)
            written = _as_answered(written, checked)
            costs = _costs(written, place, record, settings, progress)
            (building / README).write_text(readme(record, run, target, written, costs))
        if destination.exists():  # it may be the folder that the command runs in, which must stay
            for path in building.iterdir():
                path.rename(destination / path.name)
        else:
            building.rename(destination)
    streams = written.serving.streams
    found = ANSWERED.sub("", checked).strip()
    return Deployed(folder=folder, checked=found, per_s=throughput_in(checked), streams=streams, costs=costs)


def write_sums(folder: Path) -> None:
    """Write the SHA-256 of every file, as `sha256sum` does."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in NOT_SUMMED)
    sums = "".join(f"{sha256(path)}  {path.relative_to(folder)}\n" for path in files)
    (folder / SUMS).write_text(sums)


def _check(place: Place, case: str, timeout_s: float) -> str:
    """Have the folder check itself. Return what it printed; raise `NgraphError` where it fails, or takes longer."""
    command = [*place.command, SCRIPT, "--check"]
    try:
        with on_cores(place.cores):
            done = subprocess.run(
                command,
                cwd=place.folder,
                env=place.environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout_s,
            )
    except subprocess.TimeoutExpired:
        raise _not_written(case, "fails its check", f"it took longer than {timeout_s:g} s") from None
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise _not_written(case, "fails its check", _error_in(said) if said else f"status {done.returncode}")
    return done.stdout


def _as_answered(written: Written, printed: str) -> Written:
    """Return it with the outputs' types as `serve.py` prints them: those of the reference are fp32's."""
    types = ANSWERED.findall(printed)[-len(written.outputs) :]  # libraries may print, too
    rows = zip(written.outputs, types, strict=True)
    return replace(written, outputs=[[name, kind, shape] for (name, _, shape), kind in rows])


def _error_in(text: str) -> str:
    """Return the last error's name and first line, as PyTorch's messages have many. Without an error, the last line."""
    errors = ERROR.findall(text)
    return " ".join(errors[-1].split()) if errors else text.splitlines()[-1]


def _costs(written: Written, place: Place, record: Record, settings: Settings, progress: Progress) -> Costs:
    """Return what the folder costs to serve. Raise `NgraphError` where it does not answer."""
    try:
        (launches,) = launch(record.case, [place], settings.timeout_s, progress)
    except NgraphError as error:
        raise _not_written(record.case.id, "does not answer when it is imported", str(error)) from None
    return replace(written.costs, launches=launches)


def _not_written(case: str, what: str, why: str) -> NgraphError:
    return NgraphError(f"{case} is compiled, and the folder that should serve it {what}, so it is not written: {why}")
