"""The program of a launch: serves like a service, and notes when each step was done. It imports nothing but `serve`.

python [-I] client.py FOLDER DESCRIPTOR

It imports `serve` from the folder, loads the model, answers, and answers on until its memory is steady. Then it writes
the readings of the clock and the bytes of memory to the descriptor, separated by spaces; -1 for what is not known.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # of `typing`, which would have to be imported
if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW_S, CALLS = 0.1, 2
"""Memory is looked at after this many seconds, and at least this many calls."""
REQUIREMENTS = "requirements.txt"
FRAMEWORKS = ("jax", "tensorflow", "torch")
"""Large packages that other libraries import where they find them, only to know their types. TVM takes PyTorch: half a
GiB, and two seconds of a cold start. Where the folder does not require one, it is not found, as in an environment with
the requirements alone."""
STEADY, SHARE, LONGEST_S = 3, 0.002, 20.0
"""Memory is steady after so many windows in a row in which it grew by less than this share, or after so many
seconds."""


def main() -> None:
    begun = time.monotonic()
    folder, descriptor = sys.argv[1:]
    hide(frameworks_not_required(f"{folder}/{REQUIREMENTS}"))
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):  # Python 3.10 has no PYTHONSAFEPATH
        del sys.path[0]  # the folder of this file
    sys.path.insert(0, folder)
    import serve  # type: ignore[import-not-found]

    imported = time.monotonic()
    model = serve.load()
    loaded = time.monotonic()
    inputs = serve.samples()
    given = time.monotonic()
    serve.answer(model, inputs)
    answered = time.monotonic()

    def answer(_: object = None) -> object:
        return serve.answer(model, inputs)

    streams = getattr(serve, "STREAMS", 1)  # calls side by side
    settle(answer if streams == 1 else lambda: list(serve.POOL.map(answer, range(streams))))
    found = [begun, imported, loaded, given, answered, *memory()]
    os.write(int(descriptor), " ".join(map(repr, found)).encode())
    os._exit(0)  # some libraries take long to end


def frameworks_not_required(path: str) -> list[str]:
    """Return which of `FRAMEWORKS` a file does not list; none where there is no such file."""
    try:
        with open(path) as file:  # noqa: PTH123 (`pathlib` would have to be imported)
            required = [line.partition("==")[0] for line in file]
    except OSError:
        return []
    return [name for name in FRAMEWORKS if name not in required]


def hide(names: list[str]) -> None:
    """Let imports of these packages fail, as where they are not installed."""
    for name in names:
        sys.modules[name] = None  # type: ignore[assignment]


def settle(answer: Callable[[], object]) -> None:
    """Answer until the memory is steady."""
    unchanged, largest, end = 0, resident(), time.monotonic() + LONGEST_S
    while unchanged < STEADY and time.monotonic() < end:
        calls, window = 0, time.monotonic() + WINDOW_S
        while calls < CALLS or time.monotonic() < window:
            answer()
            calls += 1
        now = resident()
        unchanged = unchanged + 1 if now <= largest * (1 + SHARE) else 0
        largest = max(largest, now)


def resident() -> int:
    """Return the resident bytes; 0 where the kernel does not say."""
    try:
        with open("/proc/self/statm") as file:  # noqa: PTH123 (`pathlib` would have to be imported)
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def memory() -> tuple[int, int, int]:
    """Return the resident bytes, the private ones among them, and the resident peak; -1 where it is not known."""
    now, peak = sizes("/proc/self/smaps_rollup"), sizes("/proc/self/status")
    private = [size for name, size in now.items() if name.startswith("Private_")]
    return now.get("Rss", -1), sum(private) if private else -1, peak.get("VmHWM", -1)


def sizes(path: str) -> dict[str, int]:
    """Return the sizes in a file of the kernel, in bytes by their names."""
    try:
        with open(path) as file:  # noqa: PTH123
            lines = [line.split() for line in file]
    except OSError:
        return {}
    return {line[0].rstrip(":"): 1024 * int(line[1]) for line in lines if line[-1:] == ["kB"]}


if __name__ == "__main__":
    main()
