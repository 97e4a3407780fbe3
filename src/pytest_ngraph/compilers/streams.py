"""Run one instance of a model per core, each in a thread of its own: for throughput.

For libraries without a queue of requests of their own. With one thread per instance, no operator waits for the slowest
of several threads, and none leaves cores idle because its work cannot be divided.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.compilers import CompiledModel, threads
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.system.frames import with_room

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array, Artifact, Target
    from pytest_ngraph.case import Precision

Instance = Callable[["Target"], CompiledModel]
"""Makes a model that computes on the target's cores. Called in the thread that will call the model."""
Job = Callable[[CompiledModel], object]

THREAD = "stream"
"""Name of the threads."""
AHEAD = 2
"""Iterations queued per stream: one that runs and one that waits, so that no stream is idle."""


def load(instance: Instance, artifact: Artifact, target: Target) -> CompiledModel:
    """Return one instance on all cores for latency, or one instance per core for throughput.

    Args:
        artifact: what the instances are made from.

    Raises:
        Unsupported: throughput on a GPU. One instance has the GPU to itself; a larger batch size fills it.
    """
    if target.objective == "latency":
        return instance(target)
    if target.kind != "cpu":
        raise Unsupported(f"throughput runs one model per CPU core; on {target.kind} choose a larger batch size")
    return Streams(instance, artifact, target)


def common_outputs(of_streams: Sequence[Sequence[Array]], artifact: Artifact, precision: Precision) -> Sequence[Array]:
    """Return the outputs of the first stream. Raises `NgraphError` where those of another stream disagree.

    Args:
        of_streams: the outputs of each stream.
        artifact: what the streams' models are made from: its outputs are compared as with eager PyTorch's.
        precision: what they are compiled for.
    """
    from pytest_ngraph.workloads.verify import agreement  # needs numpy, and test collection imports this file

    first, *others = of_streams
    for index, outputs in enumerate(others, start=1):
        found = agreement(outputs, artifact, precision, reference=first)
        if not found.agrees:
            raise NgraphError(f"stream {index} of {len(of_streams)} disagrees with stream 0: {found.problem}")
    return first


class DrainingStopwatch(WallStopwatch):
    """Times work that outlasts the calls that started it, from idle to idle."""

    def __init__(self, wait: Callable[[], object]) -> None:
        """wait: returns when all work is done."""
        super().__init__()
        self._wait = wait

    def start(self) -> None:
        self._wait()
        super().start()

    def stop(self) -> float:
        self._wait()
        return super().stop()


class Streams:
    """One model per core of the target, each in a thread of its own.

    A call queues one iteration per stream; whichever stream is free first takes the next. The call returns as soon as
    enough iterations are queued to keep all streams busy. It raises what an earlier iteration raised. The stopwatch
    waits for all iterations.
    """

    def __init__(self, instance: Instance, artifact: Artifact, target: Target) -> None:
        self.concurrency = target.threads
        self._artifact, self._target = artifact, target
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._models: list[CompiledModel] = []
        self.stopwatch = DrainingStopwatch(self._wait)
        try:
            for core in target.cores:  # one after another: the first creates what they share
                self._start(instance, dataclasses.replace(target, cores=(core,), objective="latency"))
        except BaseException:
            self.close()
            raise
        for _ in range(AHEAD * self.concurrency):
            self._ended.put(None)
        self.facts = self._facts()

    def __call__(self) -> object:
        for _ in range(self.concurrency):
            self._submit(_call)
        return None

    def outputs(self) -> Sequence[Array]:
        together = threading.Barrier(self.concurrency)  # otherwise a quick stream would take two of the jobs
        outputs: dict[int, Sequence[Array]] = {}

        def run(model: CompiledModel) -> None:
            together.wait()
            outputs[id(model)] = model.outputs()

        self._wait()
        for _ in range(self.concurrency):
            self._submit(run)
        self._wait()
        self.facts = self._facts()  # a model may know more once it is warm
        of_streams = [outputs[id(model)] for model in self._models]
        return common_outputs(of_streams, self._artifact, self._target.precision)

    def close(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        for model in self._models:
            model.close()
        self._models.clear()
        del self.stopwatch

    def _facts(self) -> dict[str, str]:
        return self._models[0].facts | {"threads": str(self._target.threads), "streams": str(self.concurrency)}

    def _start(self, instance: Instance, target: Target) -> None:
        """Start a stream and return when its model is loaded. Raises what loading raises."""
        loaded: Future[CompiledModel] = Future()
        serve = partial(_serve, instance, target, loaded, self._jobs, self._ended)
        thread = threading.Thread(target=with_room, args=(serve,), name=THREAD, daemon=True)
        thread.start()
        self._models.append(loaded.result())
        self._threads.append(thread)

    def _submit(self, job: Job) -> None:
        """Queue a job, once the streams are not too far behind."""
        error = self._ended.get()
        if error is not None:
            self._ended.put(None)
            raise error
        self._jobs.put(job)

    def _wait(self) -> None:
        """Return when every stream is idle."""
        ended = [self._ended.get() for _ in range(AHEAD * self.concurrency)]
        for _ in ended:
            self._ended.put(None)
        for error in ended:
            if error is not None:
                raise error


def _call(model: CompiledModel) -> None:
    model()


def _serve(
    instance: Instance,
    target: Target,
    loaded: Future[CompiledModel],
    jobs: SimpleQueue[Job | None],
    ended: SimpleQueue[BaseException | None],
) -> None:
    """Run a stream: load its model, do jobs until the job is None, and report how each ended."""
    this_thread = [threading.get_native_id()]
    threads.bind(this_thread, target.cores)
    try:
        model = instance(target)
        model()
    except BaseException as error:
        loaded.set_exception(error)
        return
    # Again: if the model entered OpenMP, that has bound this thread to the first core of the process.
    threads.bind(this_thread, target.cores)
    loaded.set_result(model)
    while (job := jobs.get()) is not None:
        try:
            job(model)
        except BaseException as error:
            ended.put(error)
        else:
            ended.put(None)
