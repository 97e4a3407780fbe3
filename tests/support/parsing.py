"""Helpers shared by the tests of parsing and the fuzzer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from synthetic import case, failed, noisy

from pytest_ngraph import store
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.store import Journal


def journal_of(folder: Path) -> Path:
    journal = Journal(folder, {"python": "3"}, lambda: [case("identity").id])
    journal.enter(case("identity"), "compile")
    for seconds, compiler in ((0.01, "identity"), (0.02, "tvm")):
        journal.append(noisy(case(compiler), seconds, follows_from={"files": {}, "graph": "g"}))
    journal.append(failed(case("openvino")))
    journal.end(whole=True)
    journal.close()
    return folder / f"{journal.id}{store.SUFFIX}"


def succeeds_or_explains(work: Callable[[], object]) -> bool:
    """Return whether this succeeds or is refused with a message. Any other error is raised."""
    try:
        work()
    except NgraphError as error:
        return len(str(error)) > 10
    return True
