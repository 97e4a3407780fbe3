"""Deployed folders, each made once."""

from __future__ import annotations

import dataclasses
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import served
from compiled import CPU, Compile, Export, require
from forking import TorchServer
from served import WITHOUT_TORCH, Check, Deploy

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.costs import Costs
from pytest_ngraph.deploy.folder import write_sums
from pytest_ngraph.deploy.readme import readme
from pytest_ngraph.record import Record, Round
from pytest_ngraph.serving.written import Written
from pytest_ngraph.store import Run
from pytest_ngraph.worker.deploy import deploy as deployed
from pytest_ngraph.workloads.verify import verify


@pytest.fixture(scope="session")
def deploy(exported: Export, compiled: Compile, tmp_path_factory: pytest.TempPathFactory) -> Deploy:
    """Return a function that compiles a case, deploys it and returns the folder; each case is deployed only once."""
    made: dict[Case, Path] = {}

    def written(case: Case, target: Target, place: Path) -> Written:
        artifact, compiler, folder = exported(case), compilers.resolve(case.compiler), compiled(case, target)
        with closing(compiler.load(artifact, target, folder)) as model:
            agreement = verify(model.outputs(), artifact.reference(), case.precision)
            answer = deployed(case, artifact, target, folder, model.outputs, agreement.tolerance, place)
        assert agreement.agrees, agreement
        return Written.from_answer(answer, place, agreement)

    def deploy_once(case: Case) -> Path:
        require(case.compiler)
        if case not in made:
            target = dataclasses.replace(CPU, precision=case.precision, objective=case.objective)
            place = tmp_path_factory.mktemp("deployed")
            record = Record(case=case, outcome="measured", rounds=(Round(1, 0.5),) * 6, facts={"version": "1"})
            run = Run(id="a-run", environment={"processor": "a processor"}, records=(record,))
            (place / "README.md").write_text(readme(record, run, target, written(case, target, place), Costs()))
            write_sums(place)
            made[case] = place
        return made[case]

    return deploy_once


@pytest.fixture
def check(deploy: Deploy, torch_server: TorchServer) -> Check:
    """Return a function that deploys a case and checks the folder: without PyTorch, or in a fork where that runs it."""

    def check(case: Case) -> subprocess.CompletedProcess[str]:
        if case.compiler in WITHOUT_TORCH:
            return served.check(deploy(case), "torch")
        return served.check(deploy(case), server=torch_server)

    return check
