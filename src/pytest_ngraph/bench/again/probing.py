"""Measure single layers of a case at several widths, in turn, compiled as the case was."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.again.compiled_again import answer, prepared, require_it_runs
from pytest_ngraph.bench.processes.exporting import export
from pytest_ngraph.bench.processes.workers import EXPORTER, workers_alone
from pytest_ngraph.bench.progress import Progress, Silent
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.bench.rounds.group import interleave
from pytest_ngraph.bench.rounds.preparer import Preparer
from pytest_ngraph.case import LATENCY, Case, Scalar
from pytest_ngraph.explain.layers import Layer
from pytest_ngraph.explain.widths import Probed, Slow, Tried
from pytest_ngraph.metrics.between import IN_GENERAL, with_between
from pytest_ngraph.record import Phase
from pytest_ngraph.settings import Settings
from pytest_ngraph.stats import Estimate, Floats, median_interval
from pytest_ngraph.workloads.layer import NAME

BUDGET_S, WARMUP_S = 2.0, 1.0
"""Most seconds of rounds and of warming up at each width: a layer is small, and there are many."""


def probing(
    slow: Sequence[Slow], case: Case, target: Target, settings: Settings, progress: Progress
) -> Iterator[Probed]:
    """Yield each layer with its times at its own width and at those nearby, as soon as it is measured.

    Args:
        slow: layers of the case that have a width.
        case: whose compiler, precision and device they are compiled for.
        target: what the case was compiled for.

    Raises:
        UsageError: the compiler refuses a layer.
        NgraphError: exporting, compiling or measuring one fails.
    """
    settings = dataclasses.replace(settings, budget_s=BUDGET_S, warmup_s=WARMUP_S)
    with workers_alone(progress.waiting, settings.memory_bytes) as (workers, scratch):
        for number, each in enumerate(slow):
            nearby = each.layer.nearby()
            widths = {layer.arguments["sizes"]: width for width, layer in nearby.items()}
            of_layer = OfLayer(progress, case, each, widths)
            preparer = Preparer(workers=workers, settings=settings, progress=of_layer)
            with _arms([each.layer, *nearby.values()], case, target, preparer, scratch / str(number)) as arms:
                interleave(arms, settings, of_layer)
                own, *others = map(_times, arms)
            tried = [
                Tried(width=width, ratio=_ratio(times, own), work=layer.work / each.layer.work)
                for (width, layer), times in zip(nearby.items(), others, strict=True)
            ]
            yield Probed(slow=each, seconds=median_interval(own), tried=tuple(tried))


class OfLayer(Silent):
    """Shows what is done with a layer as done with its case.

    Args:
        progress: is notified.
        case: that the layer belongs to.
        slow: the layer.
        widths: those that it is tried at, by the sizes of the layer there.
    """

    def __init__(self, progress: Progress, case: Case, slow: Slow, widths: Mapping[Scalar, int]) -> None:
        self._progress = progress
        self._case = case
        self._slow = slow
        self._widths = widths

    def phase(self, case: Case, phase: Phase) -> None:
        layer = self._slow.layer
        width = self._widths.get(dict(case.model_args)["sizes"], layer.width)
        self._progress.doing(self._case, f"{self._slow.modules[0]} alone, {width} {layer.unit}: {phase}")

    def measuring(self, case: Case, share: float) -> None:
        self._progress.measuring(self._case, share)


@contextmanager
def _arms(layers: Sequence[Layer], case: Case, target: Target, preparer: Preparer, folder: Path) -> Iterator[list[Arm]]:
    """Prepare an arm for each layer, in a worker of its own: a worker holds one model. At the end, close them."""
    with ExitStack() as at_end:
        arms = []
        for place, layer in enumerate(layers):
            of_layer = dataclasses.replace(
                case,
                workload=NAME,
                batch_size=layer.input_shape[0],
                depth=None,
                width=None,
                objective=LATENCY,
                sizes=(),
                model_args=tuple(sorted(layer.arguments.items())),
                shapes=(),
                inputs="",
                scored_by="",
            )
            artifact = _exported(preparer, of_layer, target, folder / str(place))
            fresh = preparer.workers.fresh(target, compiler=case.compiler)  # of libraries that are imported once
            worker = answer(of_layer, "built", partial(at_end.enter_context, fresh))
            arms.append(prepared(preparer, artifact, of_layer, target, lambda worker=worker: worker))  # type: ignore[misc]
        yield arms


def _exported(preparer: Preparer, case: Case, target: Target, folder: Path) -> Artifact:
    folder.mkdir(parents=True)
    exporter, on_phase = preparer.workers.resident(EXPORTER, target), partial(preparer.progress.phase, case)
    ask = partial(export, exporter, case.group, folder, preparer.settings.timeout_s, on_phase=on_phase)
    return answer(case, "built", ask)


def _times(arm: Arm) -> Floats:
    require_it_runs(arm)
    return np.array([turn.sample_s for turn in arm.rounds])


def _ratio(times: Floats, own: Floats) -> Estimate:
    """Return the ratio of rounds that ran in turn, with what other processes may show."""
    logarithms = median_interval(np.log(times / own))
    value, low, high = (float(np.exp(each)) for each in logarithms)
    return with_between(Estimate(value, low, high), IN_GENERAL.pair)
