"""One model under all compilers through pytest: built, exported, compiled, verified and run once, not measured."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path

from model_coverage import processes
from model_coverage.entries import Entry
from model_coverage.processes import Limits
from model_coverage.results import Outcome, Result

TEST = """import pytest


@pytest.mark.ngraph({arguments})
def test_model(measurement): ...
"""
REPORT = "junit.xml"
AT_LIMIT = re.compile(r"timed out in |GiB and was killed|killed from outside")
"""What the message of a case has whose worker was ended at its limits, or for lack of memory."""


def run(entry: Entry, compilers: Sequence[str], folder: Path, limits: Limits) -> Iterator[Result]:
    """Yield the result of each compiler.

    All run in one pytest, which exports the model once. If that gives no report, each runs in a pytest of its own.

    Args:
        folder: an empty folder, for the test and what it writes.
        limits: what the model may take under one compiler.
    """
    found, finished = _pytest(entry, compilers, folder, limits)
    if not found and finished.problem and len(compilers) > 1:
        for compiler in compilers:
            yield from run(entry, [compiler], folder, limits)
        return
    for compiler in compilers:
        without: tuple[Outcome, str] = (
            "stopped" if finished.at_limit else "fails",
            finished.problem or _last_line(finished),
        )
        outcome, reason = found.get(compiler, without)
        yield Result(
            family=entry.family,
            model=entry.name,
            compiler=compiler,
            side="ours",
            outcome=outcome,
            reason=reason,
            seconds=round(finished.seconds, 1),
        )


def _pytest(
    entry: Entry, compilers: Sequence[str], folder: Path, limits: Limits
) -> tuple[dict[str, tuple[Outcome, str]], processes.Finished]:
    """Run pytest, and return what it reports of each compiler, and how it ended."""
    given = {"workload": entry.workload, "batch_size": 1}
    further = {name: value for name in ("model_args", "sizes", "shapes") if (value := getattr(entry, name))}
    arguments = ", ".join(f"{name}={value!r}" for name, value in {**given, **further}.items())
    (folder / "test_model.py").write_text(TEST.format(arguments=arguments))
    (folder / "pytest.ini").write_text("[pytest]\n")
    options = [
        "--benchmark-disable",
        f"--compiler={','.join(compilers)}",
        f"--ngraph-timeout={limits.timeout_s}",
        f"--ngraph-memory={limits.memory_bytes / 2**30:g}GiB",
        "--ngraph-cache=off",
        f"--junitxml={REPORT}",
    ]
    together = Limits(timeout_s=limits.timeout_s * (1 + len(compilers)), memory_bytes=2 * limits.memory_bytes)
    finished = processes.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options], "", folder, together
    )
    report = folder / REPORT
    return (_outcomes(report) if report.exists() else {}), finished


def _outcomes(report: Path) -> dict[str, tuple[Outcome, str]]:
    """Return the outcome of each compiler from pytest's report."""
    found: dict[str, tuple[Outcome, str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        compiler = re.search(r"-([a-z_]+)-b1\b", case.get("name", ""))
        if compiler is None:
            continue
        outcome: Outcome = "agrees"
        reason = ""
        for element, becomes in (("skipped", "skipped"), ("failure", "fails"), ("error", "fails")):
            if (problem := case.find(element)) is not None:
                outcome, reason = becomes, _message(problem)  # type: ignore[assignment]
                if becomes == "fails" and AT_LIMIT.search(reason):
                    outcome = "stopped"
        found[compiler[1]] = (outcome, reason)
    return found


def _message(problem: ElementTree.Element) -> str:
    message = (problem.get("message", "") or (problem.text or "")).removeprefix("Failed: ")
    return next((line.strip() for line in message.splitlines() if line.strip()), "")


def _last_line(finished: processes.Finished) -> str:
    lines = [line for line in (finished.output + finished.errors).splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line]
    return (telling or lines or ["no output"])[-1].strip()
