"""Profile an arm after its rounds, so that its record keeps where its time goes."""

from __future__ import annotations

from collections.abc import Collection

from pytest_ngraph.bench.processes.process import WorkerFailed, in_one_line
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.bench.rounds.profiled import run_in_turn
from pytest_ngraph.case import Case
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.explain.kept import KeptProfile


def keep_profile(arm: Arm, asked: Collection[Case], progress: Progress) -> None:
    """Profile an arm that was measured and whose model is still loaded, if its case is among those asked for.

    Its measurements stand, whatever happens: what stops the profile is kept in its place.
    """
    if arm.case not in asked or not arm.can_run:
        return
    progress.doing(arm.case, "profile")
    try:
        model = arm.instrument()
        run_in_turn([model], lambda share: progress.measuring(arm.case, share))
    except (Unsupported, WorkerFailed) as error:
        arm.note(profile={"problem": in_one_line(error)})
    else:
        arm.note(profile=KeptProfile.of(model.profile).to_dict())
