from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import BUILT_IN, Device
from pytest_ngraph.plugin.marks import ARGUMENTS, arguments, cases, generate
from pytest_ngraph.session.options import Axis, Options
from pytest_ngraph.settings import Settings

SILENT: Axis[Any] = Axis(None, None)


def options(**axes: Axis[Any]) -> Options:
    chosen: dict[str, Axis[Any]] = dict.fromkeys(
        ("devices", "compilers", "batch_sizes", "precisions", "objectives"), SILENT
    )
    return Options(inventory=dict(BUILT_IN), settings=Settings(), store=Path("store"), thresholds=(), **(chosen | axes))  # type: ignore[arg-type]  # by name


def test_the_cases_of_a_group_are_neighbours_and_small_batches_come_first() -> None:
    made = cases(
        {"workload": ["conv", "mha"], "compiler": ["identity", "torchscript"], "batch_size": [8, 1]}, options()
    )
    assert [(c.workload, c.batch_size, c.compiler) for c in made] == [
        ("conv", 1, "identity"),
        ("conv", 1, "torchscript"),
        ("conv", 8, "identity"),
        ("conv", 8, "torchscript"),
        ("mha", 1, "identity"),
        ("mha", 1, "torchscript"),
        ("mha", 8, "identity"),
        ("mha", 8, "torchscript"),
    ]


def test_a_number_of_numpys_is_a_size() -> None:
    made = cases({"workload": "conv", "compiler": "identity", "batch_size": 2 ** np.arange(3)}, options())
    assert [type(case.batch_size) for case in made] == [int] * 3
    assert [case.batch_size for case in made] == [1, 2, 4]


def test_compilers_default_to_those_installed_identity_first() -> None:
    made = cases({"workload": "conv"}, options())
    names = [case.compiler for case in made]
    assert names[0] == IDENTITY
    assert {"torchscript", "inductor"} <= set(names)
    assert "tensorrt" not in names


def test_a_device_may_choose_the_compilers() -> None:
    chosen = options()
    chosen.inventory["mine"] = Device(name="mine", compilers=("torchscript",))
    assert [c.compiler for c in cases({"workload": "conv", "device": "mine"}, chosen)] == ["torchscript"]


def test_a_value_given_twice_makes_one_case() -> None:
    assert len(cases({"workload": ["conv", "conv"], "compiler": "identity", "batch_size": [1, 1]}, options())) == 1


def test_a_nearer_mark_overrides_a_farther() -> None:
    near = pytest.mark.ngraph(batch_size=1).mark
    far = pytest.mark.ngraph(workload="conv", batch_size=8).mark
    assert arguments([near, far]) == {"workload": "conv", "batch_size": 1}


def test_nothing_left_names_the_axis() -> None:
    narrowed = options(batch_sizes=Axis((64,), None))
    mark = pytest.mark.ngraph(workload="conv", batch_size=[1, 8]).mark
    found = generate([mark], narrowed)
    assert found.cases == []
    assert found.reason == "the mark allows batch_size 1, 8, and --batch-size=64 asks for others"


values = st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=6) | st.lists(st.integers(0, 3), max_size=2)


@given(st.dictionaries(st.sampled_from([*ARGUMENTS, "other"]), values))
def test_any_mark_is_read_or_refused_in_words(given_: dict[str, Any]) -> None:
    made: list[Case] = []
    with contextlib.suppress(UsageError):  # nothing else may escape
        made = cases(arguments([pytest.mark.ngraph(**given_).mark]), options())
    assert all(case.batch_size >= 1 and case.workload == given_["workload"] for case in made if "workload" in given_)


def test_what_gives_its_values_once_is_refused() -> None:
    """A mark may be that of several tests."""
    with pytest.raises(UsageError, match=r"mark ngraph: generator can be read only once, .* Give a list"):
        cases({"workload": "conv", "batch_size": (2**power for power in range(3))}, options())
