"""The outlines of a run and of a baseline's runs as columns, with the same cases in the same places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pytest_ngraph.gate.stored.between_runs import SpreadBetweenRuns
from pytest_ngraph.gate.stored.pooled_columns import EffectColumns, PriorColumns
from pytest_ngraph.gate.stored.stored_runs import FEWEST_ROUNDS, ran_alike
from pytest_ngraph.metrics.sampled import Bools, Rows
from pytest_ngraph.stats import Floats
from pytest_ngraph.store.outline import Kind, Outline

HEAD = -1
"""The place of the run that is judged: the last one. The baseline's runs are before it, oldest first."""


class AlignedRuns:
    """Columns of shape (runs, n): a row for each run of the baseline and one for the run that is judged.

    The cases of that run come first, in its order.

    Attributes:
        ids: of the cases.
        present: whether the run measured the case: of the baseline, not beside a base.
        known: whether it did, with enough rounds to estimate the error.
        ran: as `Baseline.ran`, shape (n,).
        slowed: by how many times as long as on a quiet machine its rounds may have taken at most; 1 on a quiet one.
        threads: cores that computed; -1 where that was not recorded.
        effects: logarithms of seconds per iteration.
        identity: place of the identity of each case's group, shape (n,); the case's own where there is none.
        is_identity: whether a case is one, shape (n,).
    """

    def __init__(self, head: Outline, runs: Sequence[Outline]) -> None:
        self._outlines = [*runs, head]
        places = dict(head.rows)
        for run in runs:
            for case_id in run.ids:
                places.setdefault(case_id, len(places))
        self.ids = list(places)
        self._places = [np.array([places[each] for each in run.ids], dtype=np.intp) for run in self._outlines]
        measured = self._column([run.are(Kind.MEASURED) for run in self._outlines], fill=False)
        beside_a_base = self._column([run.are(Kind.COMPARED) for run in self._outlines], fill=False)
        beside_a_base[HEAD] = False
        says = Kind.MEASURED | Kind.SKIPPED
        has = self._column([run.are(says) for run in self._outlines], fill=False)[:HEAD]
        last = len(runs) - 1 - has[::-1].argmax(axis=0)
        self.ran: Bools = has.any(axis=0) & measured[last, np.arange(len(self.ids))]
        self.present: Bools = measured & ~beside_a_base
        self.known: Bools = self.present & (self._stored("rounds", 0) >= FEWEST_ROUNDS)
        self.slowed: Floats = self._stored("slowed", 1.0)
        self.threads: Rows = self._stored("threads", -1)
        self.effects = EffectColumns(self._stored("log_s", np.nan), self._stored("error", np.nan))
        self.identity, self.is_identity = self._identities()
        own_traits = [[(number, each) for each in range(len(run.traits))] for number, run in enumerate(self._outlines)]
        self._traits, numbers = self._numbers_of("trait", own_traits)
        self._trait_places: list[tuple[int, int]] = list(numbers)
        self._known: dict[int, Mapping[str, Any]] = {}
        self._graphs, graphs = self._numbers_of("graph", [run.graphs for run in self._outlines])
        self._has_graph: Bools = np.array([bool(graph) for graph in graphs], dtype=np.bool_)

    def usable(self) -> Bools:
        """Return which runs of the baseline each case of the judged run is compared with; shape (runs, n)."""
        return self._usable(self.threads[HEAD])

    def beside(self) -> Bools:
        """Return which runs have the identity of a case's group on as many cores, and the case is not it itself."""
        as_many = self.threads[:, self.identity] == self.threads
        found: Bools = self.known[:, self.identity] & as_many & ~self.is_identity & self._has_identity
        return found

    def same_identity(self, runs: Rows) -> Bools:
        """Return which runs surely ran the same code of identity as the run given for each case; shape (runs, n).

        It says nothing where one of the two has no identity.
        """
        traits, graphs = self._traits[:, self.identity], self._graphs[:, self.identity]
        other = runs[None, :], self.identity[None, :]
        base = len(self._trait_places) + 1
        unique, numbers = np.unique((traits + 1) * base + self._traits[other] + 1, return_inverse=True)
        pairs = (divmod(key, base) for key in unique.tolist())
        alike = np.array([self._ran_alike(one - 1, another - 1) for one, another in pairs], dtype=np.bool_)
        same_graph = (graphs == self._graphs[other]) & self._has_graph[graphs]
        found: Bools = same_graph & alike[numbers].reshape(traits.shape)
        return found

    @cached_property
    def priors_of_times(self) -> PriorColumns:
        """How much the times of each case differ from run to run, as `StoredRuns` learns it."""
        return self._priors(self.effects, self._last_alike, np.zeros(len(self.ids), dtype=np.intp))

    @cached_property
    def ratios(self) -> EffectColumns:
        """Logarithms of times over those of identity in the same run."""
        return self.effects.over(self.effects.take(self.identity))

    @cached_property
    def priors_of_ratios(self) -> PriorColumns:
        """How much ratios to identity differ from run to run."""
        beside = self._last_alike & self.beside()[:HEAD]
        runs = len(beside)
        last = np.where(beside.any(axis=0), runs - 1 - beside[::-1].argmax(axis=0), 0)
        alike = beside & ((np.arange(runs)[:, None] == last) | self.same_identity(last)[:HEAD])
        return self._priors(self.ratios, alike, self.identity)

    def _priors(self, effects: EffectColumns, seen: Bools, clusters: Rows) -> PriorColumns:
        several = np.flatnonzero(seen.sum(axis=0) > 1)
        logs, errors = (column[:HEAD, several] for column in effects)
        learned = SpreadBetweenRuns(logs, errors, seen[:, several], clusters[several].tolist())
        others = learned.prior(None)
        spreads, dofs = (np.full(len(self.ids), each) for each in others)
        if len(several):
            spreads[several], dofs[several] = learned.priors()
        return PriorColumns(spreads, dofs, max(1, len(several)))

    @cached_property
    def _last_alike(self) -> Bools:
        """The runs of each case that are like its last one, where there are several."""
        runs = self.present[:HEAD]
        last = len(runs) - 1 - runs[::-1].argmax(axis=0)
        threads = self.threads[last, np.arange(len(self.ids))]
        found: Bools = self._usable(threads) & (runs.sum(axis=0) > 1)
        return found

    def _usable(self, threads: Rows) -> Bools:
        known = self.known[:HEAD]
        alike = known & (self.threads[:HEAD] == threads)
        alike = np.where(alike.any(axis=0), alike, known)
        quiet = alike & (self.slowed[:HEAD] <= 1)
        return np.where(quiet.any(axis=0), quiet, alike)

    def _ran_alike(self, one: int, other: int) -> bool:
        """Return whether records of two traits follow from the same, but for the graph; -1 stands for no record."""
        if min(one, other) < 0:
            return False
        return one == other or ran_alike(self._follows_from(one), self._follows_from(other))

    def _follows_from(self, trait: int) -> Mapping[str, Any]:
        """Return what the records of a trait follow from, as the first of them has it."""
        if trait not in self._known:
            number, own = self._trait_places[trait]
            run = self._outlines[number]
            row = int(np.flatnonzero(run.columns["trait"] == own)[0])
            self._known[trait] = run.record(row).follows_from
        return self._known[trait]

    def _column(self, columns: Sequence[Any], fill: object) -> Any:
        """Return a column of every run, with each case in its place, and `fill` where a run does not have it."""
        found = np.full((len(columns), len(self.ids)), fill, dtype=columns[0].dtype)
        for row, (places, column) in enumerate(zip(self._places, columns, strict=True)):
            found[row, places] = column
        return found

    def _stored(self, name: str, fill: object) -> Any:
        return self._column([run.columns[name] for run in self._outlines], fill)

    def _identities(self) -> tuple[Rows, Bools]:
        groups, _ = self._numbers_of("group", [run.groups for run in self._outlines])
        of_case = groups.max(axis=0)  # it is the same in every run that has the case
        found: Bools = self._column([run.are(Kind.IDENTITY) for run in self._outlines], fill=False).any(axis=0)
        of_group = np.full(of_case.max(initial=-1) + 1, -1)
        of_group[of_case[found]] = np.flatnonzero(found)
        identity = of_group[of_case]
        self._has_identity: Bools = identity >= 0
        return np.where(self._has_identity, identity, np.arange(len(self.ids))), found

    def _numbers_of(self, name: str, texts: Sequence[Sequence[Any]]) -> tuple[Rows, dict[Any, int]]:
        """Return a column of numbers with those that hold for all runs; -1 where a run does not have the case."""
        known: dict[Any, int] = {}
        mapped = [np.array([known.setdefault(text, len(known)) for text in own], dtype=np.intp) for own in texts]
        columns = [own[run.columns[name]] for own, run in zip(mapped, self._outlines, strict=True)]
        return self._column(columns, -1), known
