"""Helpers shared by the tests of parsing and the fuzzer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from synthetic import case, failed, noisy, under_load

from pytest_ngraph import store
from pytest_ngraph.costs import Costs, ServingLaunch
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.store import Journal


def journal_of(folder: Path) -> Path:
    journal = Journal(folder, {"python": "3"}, lambda: [case("identity").id])
    journal.enter(case("identity"), "compile")
    for seconds, compiler in ((0.01, "identity"), (0.02, "tvm")):
        journal.append(noisy(case(compiler), seconds, follows_from={"files": {}, "graph": "g"}))
    journal.append(failed(case("openvino")))
    launch = ServingLaunch(cold_start_s=1.0, serving_import_s=0.5, serving_load_s=0.3, serving_first_call_s=0.2)
    journal.append(dataclasses.replace(under_load("openvino", 0.01, 50.0, 51.0), serving=Costs(launches=(launch,))))
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
