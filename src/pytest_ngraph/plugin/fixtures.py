"""The fixtures: one for each stage of a case's road."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.compilers import CompiledModel, InHostTime
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.plugin import items
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.outcomes import COMPILED, require
from pytest_ngraph.plugin.replay import replay

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from pytest_ngraph.record import Agreement, Record
    from pytest_ngraph.worker.prepare import Prepared

COMPILERS = (
    "identity",
    "torchscript",
    "inductor",
    "onnxruntime",
    "openvino",
    "tvm",
    "executorch",
    "tensorrt",
    "tensorrt_rtx",
)
"""Compilers that have a fixture of their own, such as `tvm_model`."""
COMPILER_FIXTURES = {f"{compiler}_model": compiler for compiler in COMPILERS}


@pytest.fixture
def ngraph_case(request: pytest.FixtureRequest) -> Case:
    """The case of this test: workload, compiler, batch size and so on, as plain data."""
    pytest.fail(
        f"{request.node.name} uses a fixture of pytest-ngraph without its mark. "
        "Say what to measure: @pytest.mark.ngraph(workload='resnet18').",
        pytrace=False,
    )


@pytest.fixture
def measurement(request: pytest.FixtureRequest, ngraph_case: Case, benchmark: BenchmarkFixture) -> Record:
    """The record of this test's case, measured in a process of its own beside the other compilers of its group."""
    session = request.config.stash[SESSION]
    if not session.expects(ngraph_case):
        pytest.fail(
            f"{request.node.name} requests the fixture measurement at run time (getfixturevalue), but cases are "
            "planned during collection. Make measurement an argument of the test.",
            pytrace=False,
        )
    try:
        record = session.record_of(ngraph_case)
    except NgraphError as error:  # the base cannot be checked out, the scheduler is gone
        raise _failure(error) from None
    if record.outcome == "measured":
        replay(benchmark, request.node, record)
        return record
    unused = partial(setattr, benchmark, "skipped", True)  # else it warns that nobody used it
    request.addfinalizer(unused)  # noqa: PT021 (what follows may fail before a yield)
    if record.outcome == "unchanged":
        from pytest_ngraph.plugin.unread import UnreadRecord

        return cast("Record", UnreadRecord(record, lambda: _read(ngraph_case, request.node)))
    if _is_for_fixtures(request):
        require(record, request.node)
    return record


def _read(case: Case, item: pytest.Item) -> Record:
    """Measure an unchanged case now. Skips or fails the test where that is not possible."""
    try:
        record = item.config.stash[SESSION].measured(case)
    except NgraphError as error:
        raise _failure(error) from None
    require(record, item)
    return record


def _failure(error: NgraphError) -> BaseException:
    """Return what fails a test with this message alone."""
    return pytest.fail.Exception(str(error), pytrace=False)


def _import_from(folder: str, request: pytest.FixtureRequest) -> None:
    """Import from a folder last, until the test ends, as workers do: plain `pytest` does not."""
    if folder not in sys.path:
        sys.path.append(folder)
        request.addfinalizer(partial(_without, folder))


def _without(folder: str) -> None:
    if folder in sys.path:
        sys.path.remove(folder)


def _is_for_fixtures(request: pytest.FixtureRequest) -> bool:
    """Whether other fixtures of the test take the record: they run before the test can be failed."""
    definitions = request.node._fixtureinfo.name2fixturedefs.values()
    return any(request.fixturename in definition[-1].argnames for definition in definitions)


@pytest.fixture
def compile_case(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Case], CompiledModel]:
    """A function that builds, compiles and verifies a case in this process, and frees it after the test."""
    session = request.config.stash[SESSION]
    compiled: dict[Case, tuple[Prepared, Agreement]] = request.node.stash.setdefault(COMPILED, {})

    def compile_case(case: Case) -> CompiledModel:
        from pytest_ngraph.worker.prepare import prepare
        from pytest_ngraph.workloads import torch_settings
        from pytest_ngraph.workloads.export import export

        device = session.options.inventory[case.device]
        if obstacle := items.why_not_on(case, device):
            pytest.skip(obstacle)
        if device.index:
            pytest.skip(
                f"device {device.name} has index {device.index}, which workers use: take the fixture measurement"
            )
        target = device.target(case)
        _import_from(str(request.config.invocation_params.dir), request)
        folders = (Path(tempfile.mkdtemp(dir=tmp_path)) for _ in range(2))
        request.addfinalizer(torch_settings.undo)
        try:
            artifact = export(case.group, next(folders))
            ready = prepare(case, artifact, target, next(folders))
            request.addfinalizer(ready.model.close)
            agreement = ready.verify()
        except Unsupported as reason:
            pytest.skip(str(reason))
        except NgraphError as error:
            raise _failure(error) from None
        if not agreement.agrees:
            pytest.fail(f"{case.compiler} disagrees with eager PyTorch: {agreement.problem}", pytrace=False)
        compiled[case] = ready, agreement
        model = ready.model
        return InHostTime(model) if device.kind != "cpu" or model.concurrency > 1 else model

    return compile_case


@pytest.fixture
def compiled_model(ngraph_case: Case, compile_case: Callable[[Case], CompiledModel]) -> CompiledModel:
    """This test's case, compiled and verified, as a callable in this process; `.outputs()` gives its outputs.

    What the test measures with `benchmark(compiled_model)` becomes the case's record, unless another test asks for the
    `measurement` of the same case.
    """
    return compile_case(ngraph_case)


def _compiler_fixture(name: str, compiler: str) -> Any:
    @pytest.fixture(name=name)
    def model(ngraph_case: Case, compile_case: Callable[[Case], CompiledModel]) -> CompiledModel:
        return compile_case(dataclasses.replace(ngraph_case, compiler=compiler))

    model.__doc__ = f"Like `compiled_model`, under {compiler}, whatever the case's compiler."
    return model


for _name, _compiler in COMPILER_FIXTURES.items():  # pytest finds fixtures by their names in the module
    globals()[_name] = _compiler_fixture(_name, _compiler)
