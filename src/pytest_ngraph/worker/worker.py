"""What a worker process holds, and the requests that it answers."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pytest_ngraph.artifact import Artifact, Kind, Target, load_arrays, save_arrays
from pytest_ngraph.case import Case
from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.comparison import BASE, HEAD
from pytest_ngraph.compilers import CompiledModel, InHostTime, profiling, resolve
from pytest_ngraph.compilers.profiling import ProfiledModel
from pytest_ngraph.machine import compiler_code, source_files
from pytest_ngraph.machine.imported_files import imported_files
from pytest_ngraph.record import Phase
from pytest_ngraph.system import garbage, perf_events
from pytest_ngraph.system.imported_code import refuse_files, refuse_head, refuse_outdated
from pytest_ngraph.worker import idle, load, memory
from pytest_ngraph.worker.ahead import compile_ahead
from pytest_ngraph.worker.cache import Cache
from pytest_ngraph.worker.deploy import deploy
from pytest_ngraph.worker.measure import time_calls, time_pipelined, time_quad, time_round, until_disturbed, warm_up
from pytest_ngraph.worker.prepare import prepare
from pytest_ngraph.worker.score import score
from pytest_ngraph.worker.usage import with_usage
from pytest_ngraph.workloads import modules_of, torch_settings
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.nodes import nodes

Answer = dict[str, Any]


class Worker:
    """Holds the compiled model of a case, and that of its base as well if the two are compared.

    Every public method but `close` is a request; what it returns is the answer.

    Args:
        announce: called as each phase begins.

    Attributes:
        read: digests of the user's own files that what was compiled for the last request depends on, by path.
        own_path: where a working tree has its packages, of which no outdated copies may be imported.
    """

    def __init__(self, announce: Callable[[Phase], None]) -> None:
        self.read: dict[str, str] = {}
        self.own_path: Sequence[Path] = ()
        self._announce = announce
        self._models: dict[str, CompiledModel] = {}
        self._profiled: dict[str, ProfiledModel] = {}
        self._folders: list[Path] = []
        self._compiled: dict[str, Path] = {}
        self._footprint = memory.Footprint()
        self._random = random.Random()
        self._exported: set[str] = set()
        self._home = Path.cwd()

    def ready(self) -> Answer:
        """Return an empty answer. It shows that the worker is set up and has imported its libraries."""
        return {}

    def export(self, *, case: dict[str, Any], folder: str, instead_of: list[str] | None = None) -> Answer:
        """Build the case's workload and write what every compiler starts from.

        Args:
            case: the case, as JSON-ready data.
            folder: where to write it.
            instead_of: a copy of a folder, and that folder itself, from which nothing may be imported or read then.
        """
        self._announce("build")
        files = source_files.of_this_process()
        files.begin(case["workload"])
        try:
            with garbage.without_garbage_collection():
                artifact = export(Case.from_dict(case), Path(folder))
        finally:
            os.chdir(self._home)  # a workload may have changed it
        if instead_of:
            refuse_head(instead_of, sys.modules)
        refuse_outdated(self.own_path, sys.modules)
        read = files.digests()
        if instead_of:
            refuse_files(instead_of, read)
        unrelated = sorted(self._imported_elsewhere(artifact).intersection(read))
        return replace(artifact, files=read, unrelated=tuple(unrelated)).to_dict()

    def compiler_files(self, *, compiler: str) -> Answer:
        """Return the user's own files that make up a compiler, with their digests."""
        return {"files": compiler_code.files(compiler)}

    def prepare(
        self,
        *,
        case: dict[str, Any],
        artifact: dict[str, Any],
        target: dict[str, Any],
        warmup_s: float,
        round_s: float,
        cache: dict[str, Any] | None = None,
        timed: bool = True,
        arm: str = HEAD,
        instead_of: list[str] | None = None,
    ) -> Answer:
        """Compile, warm up and verify a model. A model that agrees stays until `release`.

        It is verified when warm, in the state in which it is timed. If it disagrees and comes from the cache, it is
        compiled.

        Args:
            cache: the compile cache, as data; None for none.
            timed: whether the seconds that compiling takes are recorded.
            arm: `HEAD` or `BASE`.
            instead_of: as in `export`.
        """
        on = Target.from_dict(target)
        folder = Path(tempfile.mkdtemp(prefix="ngraph-compiled-"))
        self._folders.append(folder)
        self._compiled[arm] = folder
        kept = Cache.from_dict(cache) if cache else None
        self._announce("compile")
        files = source_files.of_this_process()
        try:
            footprint = None if self._models else self._footprint
            of = Case.from_dict(case), Artifact.from_dict(artifact), on
            ready = prepare(*of, folder, kept, files, footprint=footprint, timed=timed)
        finally:
            self.read = files.digests(kept.folder if kept else None)
        self.read |= ready.read
        waits = on.kind != "cpu" and on.objective == "latency" and type(ready.model.stopwatch) is not WallStopwatch
        model = self._models[arm] = InHostTime(ready.model) if waits else ready.model
        memory.trim()
        self._announce("warm-up")
        warmup, seconds = warm_up(model, model.stopwatch, window_s=round_s, budget_s=warmup_s)
        self._announce("verify")
        agreement = ready.verify()
        if not agreement.agrees:
            self._models.pop(arm).close()
            if ready.cached_at is not None:
                how: dict[str, Any] = {"warmup_s": warmup_s, "round_s": round_s, "timed": timed, "arm": arm}
                return self.prepare(case=case, artifact=artifact, target=target, **how, instead_of=instead_of)
        self._footprint.look(on.kind)
        if instead_of:
            refuse_head(instead_of, sys.modules)
        refuse_outdated(self.own_path, sys.modules)  # a compiler of the user's own was not imported before
        pipelined_s = time_pipelined(ready.model, seconds, round_s) if waits and agreement.agrees else None
        self._announce("measure")
        return {
            **ready.times,
            "cached_at": ready.cached_at,
            "warmup": asdict(warmup),
            "seconds_per_call": seconds,
            "agreement": asdict(agreement),
            "facts": ready.facts,
            "concurrency": model.concurrency,
            "pipelined_s": pipelined_s,
            "device_memory": self._footprint.on_device(on.kind),
        }

    def compile_ahead(self, *, cache: dict[str, Any], looks_only: bool = False, **of: dict[str, Any]) -> Answer:
        """Compile a model into the cache, beside other processes that compile; the arguments are those of `prepare`.

        Args:
            looks_only: only look whether the cache has it.
        """
        each = Case.from_dict(of["case"]), Artifact.from_dict(of["artifact"]), Target.from_dict(of["target"])
        try:
            files = source_files.of_this_process()
            return {"became": compile_ahead(*each, Cache.from_dict(cache), files, looks_only=looks_only)}
        finally:
            self.close()

    def save_outputs(self, *, file: str, arm: str = HEAD) -> Answer:
        """Write the outputs of a call of a model."""
        save_arrays(Path(file), list(self._models[arm].outputs()))
        return {}

    def score(self, *, function: str, outputs: str) -> Answer:
        """Return the user's own score of outputs that `save_outputs` of another worker wrote."""
        found = score(function, load_arrays(Path(outputs)))
        self.read = source_files.digests(imported_files(function.partition(":")[0]))
        return {"score": found}

    def measure(self, *, calls: int, untimed: int = 0, arm: str = HEAD, counts: bool = False) -> Answer:
        """Time one round of `calls` calls of the model, after some that are not timed.

        Args:
            counts: whether to count what the processor does during these calls. Off where the times are the result.
        """
        model = self._models[arm]
        if not counts:
            timed, used = with_usage(lambda: time_round(model, model.stopwatch, calls, untimed))
            idle.wait()
            return {"elapsed_s": timed.elapsed_s, **used}
        for _ in range(untimed):
            model()
        timed, counted = perf_events.counting(lambda: time_round(model, model.stopwatch, calls))
        idle.wait()
        return {"elapsed_s": timed.elapsed_s, "counters": counted.events, "uncounted": counted.refused}

    def time_calls(self, *, calls: int, every: int, arm: str = HEAD) -> Answer:
        """Time `calls` calls of a model one by one, each the last of `every`."""
        model = self._models[arm]
        seconds = time_calls(model, model.stopwatch, calls, every)
        idle.wait()
        return {"seconds": seconds}

    def load(self, *, per_s: float, requests: int, **how: Any) -> Answer:
        """Put the model under load. The arguments are those of `worker.load.run`."""
        rate = load.run(per_s, requests, self._models[HEAD], **how)
        idle.wait()
        return asdict(rate)

    def compare(self, *, calls: int, quads: int, slowest_s: float | None = None) -> Answer:
        """Time quads of base and head, in bursts of `calls` calls.

        The arm that begins a quad is drawn at random: in a fixed order, another process that takes a core at regular
        intervals could always delay the same arm.

        Args:
            calls: calls per burst.
            quads: how many quads to time.
            slowest_s: stop once several quads in a row take longer than this, because other work delays them. None to
                time all.
        """
        base, head = self._models[BASE], self._models[HEAD]
        order = [self._random.random() < 0.5 for _ in range(quads)]
        each = (time_quad(base, head, calls, head_first=first) for first in order)
        timed, used = with_usage(lambda: until_disturbed(each, slowest_s))
        idle.wait()
        return {"quads": timed, **used}

    def deploy(
        self, *, case: dict[str, Any], artifact: dict[str, Any], target: dict[str, Any], tolerance: float, folder: str
    ) -> Answer:
        """Write into `folder` what serves the model that was prepared last, and return what is known of it.

        Args:
            tolerance: largest relative difference from the reference that is allowed.
        """
        compiled, model = self._folders[-1], self._models[HEAD]
        of = Case.from_dict(case), Artifact.from_dict(artifact), Target.from_dict(target)
        return deploy(*of, compiled, model.outputs, tolerance, Path(folder), model.facts)

    def peaks(self, *, kind: Kind) -> Answer:
        """Return the peaks of memory since the first `prepare`."""
        return {**self._footprint.peaks(kind)}

    def instrument(
        self, *, case: dict[str, Any], artifact: dict[str, Any], target: dict[str, Any], arm: str = HEAD
    ) -> Answer:
        """Load a model that was prepared once more, instrumented, and return the operations of its program."""
        compiler, exported = Case.from_dict(case).compiler, Artifact.from_dict(artifact)
        on, compiled = Target.from_dict(target), self._compiled[arm]
        model = self._profiled[arm] = profiling.instrument(compiler, resolve(compiler), exported, on, compiled)
        operations = getattr(model, "nodes", None) or nodes(exported)  # those of a trace are no program's
        return {"nodes": [node.to_dict() for node in operations]}

    def profile(self, *, calls: int, arm: str = HEAD) -> Answer:
        """Return the kernels of `calls` calls of the instrumented model."""
        kernels = self._profiled[arm].profile(calls)
        idle.wait()
        return {"kernels": [kernel.to_dict() for kernel in kernels]}

    def release(self, *, kind: Kind) -> Answer:
        """Free what is held, and return the peaks of memory since the first `prepare`."""
        peaks = self.peaks(kind=kind)
        self.close()
        return peaks

    def close(self) -> None:
        """Free what is held, if anything, and undo what others changed: the working folder, PyTorch's settings."""
        models, self._models = self._models, {}
        profiled, self._profiled = self._profiled, {}
        folders, self._folders = self._folders, []
        with ExitStack() as last:
            last.callback(os.chdir, self._home)
            for folder in folders:
                last.callback(shutil.rmtree, folder, ignore_errors=True)
            last.callback(memory.give_back)
            last.callback(torch_settings.undo)
            held: list[CompiledModel | ProfiledModel] = [*models.values(), *profiled.values()]
            for model in held:
                last.callback(model.close)  # every model, even if closing another raises

    def _imported_elsewhere(self, artifact: Artifact) -> set[str]:
        """Return the files that only workloads exported earlier import, and not this one."""
        begins, earlier = modules_of(artifact.case.workload), set(self._exported)
        self._exported.update(begins)
        own = {file for module in (*begins, *artifact.operators) for file in imported_files(module)}
        return {file for module in earlier for file in imported_files(module)} - own
