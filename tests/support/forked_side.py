"""What a server of `forking.py` imports, and how its workers become like those that their benches would start."""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import traceback
import types
from typing import Any, ClassVar

from pytest_ngraph import workloads
from pytest_ngraph.machine import source_files
from pytest_ngraph.system import entry_points, installed

fork_server: Any = sys.modules["__main__"]
fork = fork_server._forked
environment: dict[str, str] = {}
SCRIPT = "NGRAPH_TESTS_SCRIPT"
"""As in `forking.py`, which this process does not import."""
OWN = (__name__, "forked_torch", "forked_pytest")
"""Modules that a worker has not imported: they are no code of the user's."""
DEPENDENT: tuple[Any, ...] = (
    *(entry_points._everything, entry_points.registered, entry_points.load, workloads.family),
    source_files._foreign,
)
"""Caches of what depends on where a worker imports from, and on its temporary folder."""


class Light:
    """Declares, as a compiler does, what is to be imported: without a library, not even PyTorch."""

    libraries: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar = ("cpu",)

    def compile(self, *_: object) -> None: ...

    def load(self, *_: object) -> None: ...


def forked(given: dict[str, str], streams: list[int]) -> dict[str, Any] | None:
    """Fork a worker; a request without streams says with which environment the next one starts."""
    if not streams:
        environment.clear()
        environment.update(given)
        return {"pid": 0}
    answer: dict[str, Any] | None = fork(given, streams)
    if answer is None:
        os.environ.clear()
        os.environ.update(environment | given)
        os.chdir(environment["PWD"])
        tempfile.tempdir = None
        for name in OWN:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        for cached in DEPENDENT:
            cached.cache_clear()
        if script := os.environ.pop(SCRIPT, ""):
            fork_server.answer_requests = lambda: os._exit(run(**json.loads(script)))
    return answer


def run(code: str, arguments: list[str], without: list[str]) -> int:
    """Run a script in this process, and return its exit status."""
    for name in [name for name in sys.modules if name.partition(".")[0] in without]:
        del sys.modules[name]
    sys.argv = ["-c", *arguments]
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    try:
        exec(code, main.__dict__)  # noqa: S102 (as `python -c` does)
        ended: object = None
    except SystemExit as done:
        ended = done.code
    except BaseException:
        ended = traceback.format_exc()
    if isinstance(ended, str):
        print(ended, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    return ended if isinstance(ended, int) else int(ended is not None)


fork_server._forked = forked
for library in ("numpy", "psutil"):
    importlib.import_module(library)
installed.library_versions()  # which do not change
