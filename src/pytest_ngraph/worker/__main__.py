"""The child process in which models are built, compiled, verified and timed: `python -m pytest_ngraph.worker`.

The first line of standard input sets the process up. Each further line is a JSON request. Its answer is JSON lines:
`{"phase": ...}` as phases begin, `{"progress": text}` as a compiler reports how far it is, and at last one of
`{"done": {...}}`, `{"failed": {...}}` and `{"unsupported": reason}`, each with `"read"`: the digests of the user's own
files that the request depends on, by path. The process ends when its input does. What
libraries print goes to standard error.
"""

from __future__ import annotations

import json
import signal
import sys
import traceback
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.compilers import progress
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.machine import source_files
from pytest_ngraph.system import frames
from pytest_ngraph.system.child import die_with_parent, own_standard_streams
from pytest_ngraph.system.installed import PACKAGE_FOLDER
from pytest_ngraph.system.relocation import completed
from pytest_ngraph.worker.prepare import import_libraries
from pytest_ngraph.worker.worker import Answer, Worker


def main() -> None:
    """Answer requests until the input ends."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source_files.of_this_process()
    frames.with_room(_answer_requests)


def _answer_requests() -> None:
    with own_standard_streams() as (requests, replies):

        def send(line: str) -> None:
            replies.write(line + "\n")
            replies.flush()

        def reply(message: Answer) -> None:
            send(json.dumps(message))

        worker = Worker(announce=lambda phase: reply({"phase": phase}))
        with progress.reporting_to(lambda text: reply({"progress": text})):
            if setup := requests.readline():
                given = json.loads(setup)
                worker.own_path = list(map(Path, given.pop("own_path")))
                set_up(**given)
            for line in requests:
                send(_answer(worker, json.loads(line)))
        worker.close()


def set_up(*, path: list[str], keep_own: bool, ahead: str) -> None:
    """Set the search path, and import libraries ahead.

    The working folder comes last: plain `pytest` does not import from it, and a user's model often lies there.

    Args:
        path: where to import from.
        keep_own: whether `path` is `completed` by this interpreter's own search path, instead of replacing it.
        ahead: a compiler whose libraries are imported now, while the bench does something else; empty for none.
    """
    sys.path[:] = completed(path, sys.path) if keep_own else path
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)
    if ahead:
        import_ahead(ahead)


def import_ahead(text: str) -> None:
    """Import the libraries of a compiler, and PyTorch, unless the compiler declares no libraries.

    If an import fails, the request that needs it reports that.
    """
    with suppress(Exception):
        compiler = compilers.resolve(text)
        import_libraries(compiler, with_torch=bool(compiler.libraries))


def _answer(worker: Worker, request: Answer) -> str:
    worker.read = {}
    try:
        return _in_json({"done": getattr(worker, request.pop("do"))(**request), "read": worker.read})
    except BaseException as error:  # a compiler may raise anything, SystemExit and KeyboardInterrupt too
        _abandon(worker)
        return json.dumps(_problem(error) | {"read": worker.read})


def _in_json(answer: Answer) -> str:
    try:
        return json.dumps(answer, default=_plain)
    except TypeError as error:
        raise TypeError(*error.args) from None  # without the notes on where it was, which Python 3.14 adds


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as a number: a user's compiler may give its times or its concurrency as one."""
    if not hasattr(value, "item"):
        raise TypeError(f"{value!r} is neither a number nor text, so the worker cannot send it")
    return value.item()


def _problem(error: BaseException) -> Answer:
    if isinstance(error, Unsupported):
        return {"unsupported": str(error)}
    if isinstance(error, NgraphError):
        return {"failed": {"kind": "raised", "message": str(error)}}
    _print(error)
    return {"failed": {"kind": _kind(error), "message": _message(error)}}


def _print(error: BaseException) -> None:
    """Print the traceback to standard error, without our own frames at its top, which are the same for every error."""
    shown = traceback.TracebackException.from_exception(error)
    ours = len(list(takewhile(lambda frame: Path(frame.filename).is_relative_to(PACKAGE_FOLDER), shown.stack)))
    if ours < len(shown.stack):
        del shown.stack[: ours - 1]
    sys.stderr.writelines(shown.format())


def _abandon(worker: Worker) -> None:
    """Free what is held. An error while closing must not mask the original one."""
    try:
        worker.close()
    except BaseException:
        traceback.print_exc()


def _kind(error: BaseException) -> str:
    is_memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"  # PyTorch's, of a GPU
    return "out of memory" if is_memory else "raised"


def _message(error: BaseException) -> str:
    """Return the error in one line. Libraries add pages of context to theirs, which are left to standard error."""
    first = next((line for line in str(error).splitlines() if line.strip()), "")
    return ". ".join((f"{type(error).__name__}: {first[:500]}", *getattr(error, "__notes__", ())))


if __name__ == "__main__":
    main()
