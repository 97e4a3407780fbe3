"""Let Inductor's C++ compiler use all cores: what it builds one after another is built side by side.

Inductor starts the C++ compiler from the thread that compiles, so that it runs on that thread's core, one file at a
time. AOTInductor writes two files: all kernels, and the wrapper that calls them, which takes most of the time. Here the
wrapper is cut into parts (`cpp_parts.py`), which are compiled beside the kernels, with its own command, and joined as
the object that Inductor links.
"""

from __future__ import annotations

import hashlib
import shlex
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pytest_ngraph.compilers import threads
from pytest_ngraph.compilers.inductor import cpp_parts
from pytest_ngraph.compilers.inductor.cpp_parts import Part

LINKED_LATER = (".wrapper.cpp", ".kernel.cpp", ".main.cpp", ".optimized.cpp")
"""Ends of the names of files that Inductor compiles one after another, and needs as objects only when it links."""
COMPILE_ONLY = "-c"
JOB_BYTES = 2**30
"""More than one run of a C++ compiler takes with PyTorch's headers."""
Finish = Callable[[], None]
"""Waits until an object has been built. Raises what Inductor's own build would raise."""


@contextmanager
def side_by_side() -> Iterator[None]:
    """Build on all cores that compiling may use inside this context, also in threads that Inductor starts.

    As many compilers run at a time as there are cores, or fewer where memory is short.
    """
    from torch._inductor import config, cpp_builder

    cores = threads.compiling_cores()
    if len(cores) == 1 or not hasattr(cpp_builder, "run_compile_cmd"):  # PyTorch may rename it: it is not public
        yield
        return
    jobs = min(len(cores), _most_jobs())
    with ThreadPoolExecutor(jobs, initializer=threads.use_all_cores) as pool, config.patch(compile_threads=jobs):
        builder: Any = cpp_builder.CppBuilder
        own = builder.build
        builder.build = Builds(pool, cpp_builder).as_method()
        try:
            yield
        finally:
            builder.build = own


def _most_jobs() -> int:
    import psutil

    return max(1, int(psutil.virtual_memory().available) // JOB_BYTES)


class Builds:
    """The builds of Inductor's `CppBuilder`, in threads that use all cores.

    A file that is linked later is compiled in the background. Every other build first waits for those that its thread
    has started.

    Args:
        pool: runs the compilers.
        cpp_builder: Inductor's module of that name.
    """

    def __init__(self, pool: ThreadPoolExecutor, cpp_builder: Any) -> None:
        self._pool = pool
        self._run = cpp_builder.run_compile_cmd
        self._build = cpp_builder.CppBuilder.build
        self._of_thread = threading.local()  # Inductor may build in several threads

    def as_method(self) -> Callable[[Any], None]:
        """Return what takes the place of `CppBuilder.build`."""

        def build(builder: Any) -> None:
            words = shlex.split(builder.get_command_line())
            source = next((word for word in words if word.endswith(LINKED_LATER)), "")
            if source and COMPILE_ONLY in words:
                self._started.append(self._start(builder, words, Path(source)))
                return
            while self._started:
                self._started.pop()()
            self._pool.submit(self._build, builder).result()

        return build

    @property
    def _started(self) -> list[Finish]:
        """What this thread has started and not waited for."""
        if not hasattr(self._of_thread, "started"):
            self._of_thread.started = []
        started: list[Finish] = self._of_thread.started
        return started

    def _start(self, builder: Any, words: Sequence[str], source: Path) -> Finish:
        """Start to build an object."""
        target = Path(builder.get_target_file_path())
        parts = cpp_parts.parts(source.name, source.read_text())
        if len(parts) == 1 or str(target) not in words or "-flto" in words:
            return self._pool.submit(self._build, builder).result
        objects = [self._object(part, number, words, source, target) for number, part in enumerate(parts)]

        def finish() -> None:
            try:
                paths = [str(path.result()) for path in objects]
                compiler = words[: words.index(str(source))]
                self._run(shlex.join([*compiler, "-r", "-nostdlib", "-o", str(target), *paths]), str(target.parent))
            except Exception:  # whatever is wrong with the parts, Inductor's own build settles it
                self._pool.submit(self._build, builder).result()

        return finish

    def _object(self, part: Part, number: int, words: Sequence[str], source: Path, target: Path) -> Future[Path]:
        """Compile a part, or take the object of an earlier model, if the part is the same for every model."""
        folder, stem = source.parent, f"{source.stem}.part{number}"
        if part.is_common:
            command = [word for word in words if word not in (str(source), str(target))]
            digest = hashlib.sha256("\0".join([part.text, *command]).encode()).hexdigest()
            folder, stem = _common(), digest
        made, text = folder / f"{stem}.o", folder / f"{stem}.cpp"
        if part.is_common and made.is_file():
            done: Future[Path] = Future()
            done.set_result(made)
            return done
        swapped = {str(source): str(text), str(target): f"{made}.new"}

        def compile_it() -> Path:
            text.write_text(part.text)
            self._run(shlex.join(swapped.get(word, word) for word in words), str(folder))
            return Path(f"{made}.new").rename(made)  # complete or not at all

        return self._pool.submit(compile_it)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="ngraph-inductor-common-")


def _common() -> Path:
    """Return the folder of this process for objects that are the same for every model."""
    folder = Path(_folder().name)
    folder.mkdir(exist_ok=True)  # what cleans up temporary files may have removed it
    return folder
