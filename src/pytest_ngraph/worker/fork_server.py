"""The process that workers are forked from: `python -m pytest_ngraph.worker.fork_server DESCRIPTOR`.

It imports a compiler's libraries once and computes nothing, so that a worker forked from it starts as a new process
does, without the seconds that imports take. `DESCRIPTOR` is a socket. The first message sets the process up. Then
`{"environment": {...}}` comes with the standard streams of a new worker and is answered by `{"pid": ...}`, or by
`{"refused": reason}` where a library has started threads, which a fork would lose. `{"wait": pid}` is answered by
`{"code": ...}`, the exit code as `subprocess` gives it, once that worker has ended. `{"serve": compiler, "environment":
{...}}` comes with a socket and forks a server that imports that compiler's libraries as well, so that PyTorch is
imported once for all of them.
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import socket
import sys
from typing import Any

from pytest_ngraph.machine import source_files
from pytest_ngraph.system.child import die_with_parent
from pytest_ngraph.worker.__main__ import import_ahead, set_up
from pytest_ngraph.worker.__main__ import main as answer_requests

MESSAGE_BYTES = 1 << 20
STREAMS = 3
"""Standard input, output and error."""
MOST_PADDING_BYTES = 1 << 24
"""A worker begins by taking up to this much memory, so that the heap of each lies elsewhere."""


def main() -> None:
    """Fork workers and further servers until the other end of the socket closes."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    files = source_files.of_this_process()  # its workers then know what this process has read for them
    own = socket.socket(fileno=int(sys.argv[1]))
    message, _, _, _ = socket.recv_fds(own, MESSAGE_BYTES, 0)
    if not message:
        return
    set_up(**json.loads(message))
    control: socket.socket | None = own
    while control is not None:
        files.keep_imported()  # the workers need not look at thousands of files of libraries again
        gc.freeze()  # a collection in a worker must not touch, and so copy, what it shares with this process
        control = _serve(control)
    padding = bytearray(random.SystemRandom().randrange(MOST_PADDING_BYTES))
    answer_requests()
    del padding
    os._exit(0)


def _serve(control: socket.socket) -> socket.socket | None:
    """Fork until the other end closes, which ends this process. Return in what was forked: in a server its socket."""
    with control:
        while True:
            message, given, _, _ = socket.recv_fds(control, MESSAGE_BYTES, STREAMS)
            if not message:
                sys.exit()
            request = json.loads(message)
            answer = {"code": _code(request["wait"])} if "wait" in request else _forked(request["environment"], given)
            if answer is None:
                break
            for descriptor in given:
                os.close(descriptor)
            control.sendall(json.dumps(answer).encode())
    if compiler := request.get("serve"):
        die_with_parent()
        import_ahead(compiler)
        return socket.socket(fileno=given[0])
    return None


def _forked(environment: dict[str, str], given: list[int]) -> dict[str, Any] | None:
    """Fork a worker or a server and return the answer for the bench; None in what was forked.

    Args:
        given: the standard streams of a worker, which it has then; or the socket of a server.
    """
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    if threads > 1:
        return {"refused": f"the libraries have started {threads - 1} threads"}
    child = os.fork()
    if child:
        return {"pid": child}
    os.setsid()
    os.environ.update(environment)
    if len(given) == STREAMS:
        for number, stream in enumerate(given):
            os.dup2(stream, number)
            os.close(stream)
    return None


def _code(pid: int) -> int:
    """Wait for a worker to end, and return its exit code: the negative number of the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    main()
