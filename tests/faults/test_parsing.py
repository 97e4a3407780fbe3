"""Whatever is parsed, the result is a value or an error that explains. Nothing else is ever raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsing import journal_of, succeeds_or_explains

from pytest_ngraph import compilers, store
from pytest_ngraph.case import split_compilers
from pytest_ngraph.machine.devices import BUILT_IN, load_inventory
from pytest_ngraph.machine.requirement import Requirement, parse_size
from pytest_ngraph.metrics import compute
from pytest_ngraph.plugin.marks import ARGUMENTS, arguments, cases
from pytest_ngraph.plugin.options import parse_batch_size, parse_compiler, parse_thresholds
from pytest_ngraph.report.summary import summary
from pytest_ngraph.session.options import Axis, Options
from pytest_ngraph.settings import Settings
from pytest_ngraph.worker.protocol import Message, parse

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
QUICK = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
"""Anything JSON can hold, including numbers that it should not (NaN, infinity)."""
OBJECTS = JSON | st.binary(max_size=4) | st.tuples(JSON, JSON) | st.sets(st.integers()) | st.just(object)


def mutated(data: Any, draw: Any) -> Any:
    """Return the data with one value replaced, at any depth, or one key removed."""
    if isinstance(data, dict) and data and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(data)))
        if draw(st.integers(0, 5)) == 0:
            return {name: value for name, value in data.items() if name != key}
        return data | {key: mutated(data[key], draw)}
    if isinstance(data, list) and data and draw(st.booleans()):
        index = draw(st.integers(0, len(data) - 1))
        return [*data[:index], mutated(data[index], draw), *data[index + 1 :]]
    return draw(JSON)


@QUICK
@given(data=st.data())
def test_rows_of_a_store(tmp_path: Path, data: st.DataObject) -> None:
    path = journal_of(tmp_path)
    lines = path.read_bytes().splitlines()
    number = data.draw(st.integers(0, len(lines) - 1))
    lines[number] = json.dumps(mutated(json.loads(lines[number]), data.draw)).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")

    def summarise() -> object:
        run = store.read(tmp_path, path.stem)
        return summary(run.records, compute(run.records))

    assert succeeds_or_explains(summarise)
    store.unfinished(tmp_path)
    path.unlink()


@QUICK
@given(content=st.binary(), place=st.integers(0, 5000))
def test_bytes_in_a_store(tmp_path: Path, content: bytes, place: int) -> None:
    path = journal_of(tmp_path)
    text = path.read_bytes()
    path.write_bytes(text[:place] + content + text[place + len(content) :])
    assert succeeds_or_explains(lambda: store.read(tmp_path, path.stem))
    store.unfinished(tmp_path)
    path.unlink()


@QUICK
@given(line=st.binary() | JSON.map(lambda data: json.dumps(data).encode()))
def test_messages_of_a_worker(line: bytes) -> None:
    assert isinstance(parse(line), Message | None)


@QUICK
@given(
    message=st.dictionaries(st.sampled_from(["phase", "progress", "done", "failed", "unsupported"]), JSON, max_size=2)
)
def test_messages_of_a_worker_that_look_right(message: dict[str, Any]) -> None:
    assert isinstance(parse(json.dumps(message).encode()), Message | None)


def test_nesting_without_end(tmp_path: Path) -> None:
    deep = b"[" * 200_000
    assert parse(deep) is None
    journal_of(tmp_path).write_bytes(deep)
    assert store.read(tmp_path).damaged == 1


@QUICK
@given(text=st.text() | st.from_regex(r"[a-z_.]+(\[[a-z=0-9,]*\])?(<|>|:)-?[0-9.]+%?( if [a-z=,*]*)?", fullmatch=True))
def test_thresholds(text: str) -> None:
    assert succeeds_or_explains(lambda: parse_thresholds([text]))


@QUICK
@given(
    text=st.text(alphabet="abz:=,.-_ 09é²\0\n")
    | st.tuples(st.sampled_from(["openvino", "tvm", "inductor", "json:loads", "json:", ":x", ".a:b"]), st.text()).map(
        ":".join
    )
)
def test_compilers_and_their_options(text: str) -> None:
    assert succeeds_or_explains(lambda: [compilers.resolve(parse_compiler(part)) for part in split_compilers(text)])


@QUICK
@given(
    text=st.text()
    | st.from_regex(
        r"\[[a-z]{1,3}\]\n(kind|threads|cores|compilers|x) = (\"[a-z]*\"|-?[0-9]{1,30}|\[[0-9,]*\]|true)\n",
        fullmatch=True,
    )
)
def test_files_of_devices(tmp_path: Path, text: str) -> None:
    path = tmp_path / "devices.toml"
    path.write_text(text, errors="replace")
    assert succeeds_or_explains(lambda: [device.absent() for device in load_inventory(path).values()])


@QUICK
@given(given_=st.dictionaries(st.sampled_from(ARGUMENTS) | st.text(max_size=5), OBJECTS, max_size=4))
def test_arguments_of_the_mark(given_: dict[str, Any]) -> None:
    silent: Axis[Any] = Axis(None, None)
    options = Options(
        inventory=dict(BUILT_IN),
        devices=silent,
        compilers=silent,
        batch_sizes=silent,
        precisions=silent,
        objectives=silent,
        settings=Settings(),
        store=Path("store"),
        thresholds=(),
    )
    mark = pytest.mark.ngraph(**{"workload": "resnet18", "compiler": "identity"} | given_).mark
    assert succeeds_or_explains(lambda: cases(arguments([mark]), options))


@QUICK
@given(
    given_=st.dictionaries(
        st.sampled_from(["kind", "architecture", "instruction_set", "capability", "memory", "library", "x"]), OBJECTS
    )
)
def test_arguments_of_requires_device(given_: dict[str, Any]) -> None:
    assert succeeds_or_explains(lambda: Requirement.parse(given_).unmet(BUILT_IN["cpu"]))


@QUICK
@given(value=OBJECTS | st.from_regex(r"[0-9²٣]{1,6000}(KiB|GB|B)?", fullmatch=True))
def test_sizes(value: object) -> None:
    assert succeeds_or_explains(lambda: parse_size(value))
    assert succeeds_or_explains(lambda: parse_batch_size(value))
