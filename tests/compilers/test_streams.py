"""Streams of fake instances, which record what runs when."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest
from paging import CALLS, most_pages

from pytest_ngraph.artifact import Array, Artifact, Target
from pytest_ngraph.case import Case
from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.compilers import streams
from pytest_ngraph.compilers.streams import AHEAD, THREAD, Streams
from pytest_ngraph.errors import NgraphError, Unsupported

CORES = (0, 1)
TARGET = Target(cores=CORES, objective="throughput")
ARTIFACT = Artifact(folder=Path(), case=Case(workload="net", compiler="fake", batch_size=1))


class Instance:
    """A fake model that runs `iterate` at every call, and records the threads that call it."""

    concurrency = 1

    def __init__(self, target: Target, iterate: Callable[[Target], object] = lambda target: None) -> None:
        self.target = target
        self.thread = threading.current_thread()
        self.calls: list[threading.Thread] = []
        self.is_closed = False
        self.stopwatch = WallStopwatch()
        self.facts = {"version": "1", "threads": str(target.threads)}
        self._iterate = iterate

    def __call__(self) -> object:
        self.calls.append(threading.current_thread())
        return self._iterate(self.target)

    def outputs(self) -> Sequence[Array]:
        return [np.ones(3, np.float32)]

    def close(self) -> None:
        self.is_closed = True


class Made(list[Instance]):
    """Makes instances and keeps them."""

    def __init__(self, iterate: Callable[[Target], object] = lambda target: None) -> None:
        super().__init__()
        self._iterate = iterate

    def __call__(self, target: Target) -> Instance:
        self.append(Instance(target, self._iterate))
        return self[-1]

    @property
    def calls(self) -> int:
        return sum(len(instance.calls) for instance in self)


def stream_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD]


def test_each_core_has_an_instance_that_one_thread_makes_and_calls() -> None:
    made = Made()
    model = Streams(made, ARTIFACT, TARGET)
    model()
    model.outputs()
    model.close()
    assert [instance.target for instance in made] == [Target(cores=(core,)) for core in CORES]
    assert len({instance.thread for instance in made}) == len(CORES)
    assert all(set(instance.calls) == {instance.thread} for instance in made)


def test_facts_show_the_streams_and_all_their_threads() -> None:
    model = Streams(Made(), ARTIFACT, TARGET)
    assert model.facts == {"version": "1", "threads": "2", "streams": "2"}
    assert model.concurrency == 2
    model.close()


def test_the_stopwatch_waits_for_every_iteration() -> None:
    made = Made()
    model = Streams(made, ARTIFACT, TARGET)
    before = made.calls
    model.stopwatch.start()
    for _ in range(10):
        model()
    model.stopwatch.stop()
    assert made.calls - before == 10 * model.concurrency
    model.close()


def test_a_stream_that_is_held_up_does_not_hold_up_the_other() -> None:
    holding, ran, go_on = threading.Event(), threading.Semaphore(0), threading.Event()

    def iterate(target: Target) -> None:
        if not holding.is_set():
            return  # the call that ends loading
        if target.cores == CORES[:1]:
            go_on.wait()
        else:
            ran.release()

    model = Streams(Made(iterate), ARTIFACT, TARGET)
    holding.set()
    for _ in range(AHEAD):
        model()
    for _ in range(AHEAD * model.concurrency - 1):  # all iterations but the one that is held up
        assert ran.acquire(timeout=60)
    go_on.set()
    model.close()


def test_calls_do_not_run_far_ahead_of_the_streams() -> None:
    holding, allowed = threading.Event(), threading.Semaphore(0)
    model = Streams(Made(lambda target: holding.is_set() and allowed.acquire()), ARTIFACT, TARGET)
    holding.set()
    returned: SimpleQueue[int] = SimpleQueue()

    def call() -> None:
        for index in range(AHEAD + 1):
            model()
            returned.put(index)

    caller = threading.Thread(target=call)
    caller.start()
    assert [returned.get(timeout=60) for _ in range(AHEAD)] == list(range(AHEAD))
    assert returned.empty()
    allowed.release((AHEAD + 1) * model.concurrency)
    caller.join()
    assert returned.get() == AHEAD
    model.close()


def test_what_an_iteration_raises_is_raised_once() -> None:
    failing = threading.Event()

    def iterate(target: Target) -> None:
        if failing.is_set():
            raise MemoryError("no more")

    model = Streams(Made(iterate), ARTIFACT, TARGET)
    failing.set()
    model()
    with pytest.raises(MemoryError, match="no more"):
        model.stopwatch.stop()
    failing.clear()
    model.stopwatch.start()
    model()
    model.stopwatch.stop()
    model.close()


def test_what_loading_raises_is_raised_and_the_streams_that_were_started_end() -> None:
    made = Made()

    def instance(target: Target) -> Instance:
        if made:
            raise MemoryError("one is all")
        return made(target)

    with pytest.raises(MemoryError, match="one is all"):
        Streams(instance, ARTIFACT, TARGET)
    assert made[0].is_closed
    assert not stream_threads()


def test_closing_ends_the_threads_and_closes_the_instances() -> None:
    made = Made()
    model = Streams(made, ARTIFACT, TARGET)
    assert len(stream_threads()) == len(CORES)
    model()
    model.close()
    assert not stream_threads()
    assert [instance.is_closed for instance in made] == [True, True]


def test_streams_that_disagree_are_an_error() -> None:
    class Wrong(Instance):
        def outputs(self) -> Sequence[Array]:
            return [np.full(3, self.target.cores[0], np.float32)]

    model = Streams(Wrong, ARTIFACT, TARGET)
    with pytest.raises(NgraphError, match="of 2 disagrees with stream 0"):
        model.outputs()
    model.close()


def test_streams_are_compared_as_with_eager_pytorch() -> None:
    """What is drawn in each call, and what rounding to bf16 decides, differs from stream to stream."""

    class Drawing(Instance):
        def outputs(self) -> Sequence[Array]:
            return [np.full(3, self.target.cores[0], np.float32), np.full(20, 1.0, np.float32)]

    artifact = replace(ARTIFACT, output_names=("sample", "mean"), random=("sample",))
    model = Streams(Drawing, artifact, TARGET)
    assert [array.shape for array in model.outputs()] == [(3,), (20,)]
    model.close()


def test_facts_are_those_of_a_model_that_is_warm() -> None:
    class Learning(Instance):
        def outputs(self) -> Sequence[Array]:
            self.facts["graphs"] = "9"
            return super().outputs()

    model = Streams(Learning, ARTIFACT, TARGET)
    assert "graphs" not in model.facts
    model.outputs()
    assert (model.facts["graphs"], model.facts["streams"]) == ("9", "2")
    model.close()


def test_latency_is_one_instance_in_the_callers_thread() -> None:
    latency = Target(cores=CORES)
    model = streams.load(Instance, ARTIFACT, latency)
    assert isinstance(model, Instance)
    assert model.target == latency
    assert model.thread is threading.current_thread()


def test_streams_on_a_gpu_are_refused() -> None:
    with pytest.raises(Unsupported, match="on cuda choose a larger batch size"):
        streams.load(Instance, ARTIFACT, Target(kind="cuda", objective="throughput"))


def test_no_call_of_a_stream_pays_for_where_its_frame_lies() -> None:
    pages: SimpleQueue[int] = SimpleQueue()
    running = Streams(Made(lambda target: pages.put(most_pages())), ARTIFACT, TARGET)
    running.close()
    assert max(pages.get() for _ in CORES) < CALLS / 10
