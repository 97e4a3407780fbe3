from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import case

from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate import Threshold
from pytest_ngraph.gate.threshold_text import KEYS, NUMBERS, OPERATORS, RELATIVE, UNITS, Selector
from pytest_ngraph.metrics import DEFINITIONS, Metric, Scope
from pytest_ngraph.metrics.definitions import SPANNED


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("bsr<0.9", Threshold("bsr", "<", 0.9)),
        (" bsr  <=  .9 ", Threshold("bsr", "<=", 0.9)),
        ("ase[b=16]<0.5", Threshold("ase", "<", 0.5, "", (("batch_size", 16),))),
        ("ase[batch_size=16, d=2]<50%", Threshold("ase", "<", 50, "%", (("batch_size", 16), ("depth", 2)))),
        ("speedup<1.2 if compiler=openvino", Threshold("speedup", "<", 1.2, "", (("compiler", "openvino"),))),
        (
            "throughput<100 if workload=resnet18 and b=8",
            Threshold("throughput", "<", 100, "", (("batch_size", 8), ("workload", "resnet18"))),
        ),
        (
            "ase[compiler=openvino:a=1,hint=x,b=8]>1e-1if device=[xo]*",
            Threshold(
                "ase", ">", 0.1, "", (("batch_size", 8), ("compiler", "openvino:a=1,hint=x"), ("device", "[xo]*"))
            ),
        ),
        ("worker_memory>2GiB", Threshold("worker_memory_bytes", ">", 2, "GiB")),
        ("latency >= 5 ms", Threshold("latency_s", ">=", 5, "ms")),
        ("study.tcr_per_s<-3", Threshold("study.tcr_per_s", "<", -3)),
        ("throughput:5%", Threshold("throughput", ":", 5, "%")),
        (
            "bsr[b=16] : 2.5 % if compiler=openvino",
            Threshold("bsr", ":", 2.5, "%", (("batch_size", 16), ("compiler", "openvino"))),
        ),
        (
            "bsr[compiler=[ot]*:a=[x]:b=2,b=8]:5% if workload=[rs]*",
            Threshold(
                "bsr",
                ":",
                5,
                "%",
                (("batch_size", 8), ("compiler", "[ot]*:a=[x]:b=2"), ("workload", "[rs]*")),
            ),
        ),
        ("friction:.05if compiler=tvm", Threshold("friction", ":", 0.05, "", (("compiler", "tvm"),))),
        ("rank_inversions[b=8]:new", Threshold("rank_inversions", ":", 0, "new", (("batch_size", 8),))),
    ],
)
def test_parse(text: str, threshold: Threshold) -> None:
    assert Threshold.parse(text) == threshold


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("ase<50%", 0.5),
        ("cpu_percent>95%", 95),
        ("compile_s>2min", 120),
        ("latency<5ms", 0.005),
        ("worker_memory>2GiB", 2**31),
        ("worker_memory>3kB", 3000),
        ("friction>1", 1),
        ("worker_memory:5%", 0.05),
        ("friction:0.05", 0.05),
    ],
)
def test_bound_is_in_the_unit_of_the_metric(text: str, bound: float) -> None:
    assert Threshold.parse(text).bound == bound


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at its end: expected the name of a metric; known: throughput, latency_s"),
        ("sped<1", "at 'sped<1': unknown metric 'sped'. Did you mean 'speedup'?"),
        ("speedup", "at its end: expected one of <= >= < > :"),
        ("speedup==1", "at '==1': expected one of"),
        ("speedup<fast", "at 'fast': expected a number"),
        ("speedup<1e999", "at '1e999': the limit is not finite"),
        ("speedup<1s", "at 's': unknown unit 's' of speedup; known: %"),
        ("rank_inversions>1%", "unknown unit '%' of rank_inversions; known: none"),
        ("speedup<1 % when", "at 'when': expected 'if key=value' or the end"),
        ("speedup<1 if", "unknown key ''; known: b, d, w"),
        ("speedup<1 if q=x", "at 'q=x': unknown key 'q'"),
        ("speedup<1 if device", "at 'device': expected a value: device=..."),
        ("speedup<1 if b=8 and batch_size=8", "at 'batch_size=8': batch_size is selected twice"),
        ("ase[b=16]<0.5 if b=8", "at 'b=8': batch_size is selected twice"),
        ("ase[b=x]<1", "at 'b=x]<1': b=x: 'x' is not a whole number"),
        ("ase[b=1<2", "at 'b=1<2': expected selectors and a closing ']'"),
        ("friction[b=8]<2", "friction extends over every batch size, so batch_size cannot select it"),
        ("throughput:5", "at '5': expected a share in percent: throughput:5%, below 100 %"),
        ("throughput:100%", "at '100%': expected a share in percent"),
        ("compile_s:-5%", "at '-5%': expected a share in percent: compile_s:5%. Example"),
        ("bsr:new", "at 'new': expected a share in percent: bsr:5%"),
        ("friction:5%", "at '5%': expected a difference: friction:0.05"),
        ("friction:1000", "at '1000': expected a difference: friction:0.05, below 100."),
        ("rank_inversions:1", "at '1': expected 'new': rank_inversions:new"),
        (
            "break_even:5%",
            "at '5%': break_even cannot be compared with a base; these can: throughput, latency_s, p50_s",
        ),
        ("mine.score:5%", "mine.score cannot be compared with a base"),
    ],
)
def test_error_says_where_the_text_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        Threshold.parse(text)
    assert repr(text) in str(error.value)
    assert said in str(error.value)
    assert "Example: 'ase[b=16]<0.5 if compiler=openvino'" in str(error.value)


names = st.from_regex(r"[a-z*?][a-z0-9_*.:/]{0,12}", fullmatch=True)


@st.composite
def thresholds(draw: st.DrawFn) -> Threshold:
    definition = draw(st.sampled_from(list(DEFINITIONS.values())))
    fields = sorted(set(KEYS.values()) - set(SPANNED[definition.extent]))
    chosen = draw(st.lists(st.sampled_from(fields), unique=True))
    sizes: list[Selector] = [(key, draw(st.integers(0, 10**6))) for key in chosen if key in NUMBERS.values()]
    patterns: list[Selector] = [(key, draw(names)) for key in chosen if key not in NUMBERS.values()]
    selectors = tuple(sorted(sizes + patterns))
    if draw(st.booleans()) and definition.change:
        limit = 0.0 if definition.change == "new" else draw(st.floats(0, 99))
        unit = {"share": "%", "difference": "", "new": "new"}[definition.change]
        return Threshold(definition.name, RELATIVE, limit, unit, selectors)
    unit = draw(st.sampled_from(list(UNITS.get(definition.unit, {"": 1}))))
    limit = draw(st.floats(allow_nan=False, allow_infinity=False))
    return Threshold(definition.name, draw(st.sampled_from(list(OPERATORS))), limit, unit, selectors)


@given(thresholds())
def test_text_reads_back(threshold: Threshold) -> None:
    assert Threshold.parse(str(threshold)) == threshold


@given(
    st.text()
    | st.text(alphabet="asebr[]<>=0.9 %,:if*\n")
    | st.builds(lambda t: f"ase{t}", st.text(alphabet="[b=1]<2 if:x"))
)
def test_any_text_is_a_threshold_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        threshold = Threshold.parse(text)
        assert Threshold.parse(str(threshold)) == threshold


@pytest.mark.parametrize(
    ("selectors", "is_selected"),
    [
        ("compiler=openvino", True),
        ("compiler=openvino:streams=4", True),
        ("compiler=openvino:streams=2", False),
        ("compiler=open*", True),
        ("compiler=onnxruntime", False),
        ("workload=swin*", True),
        ("workload=swin_s3", True),
        ("workload=swin_s3,img_size=192", True),
        ("workload=Swin*", False),
        ("device=xe?n", True),
        ("precision=fp32 and objective=latency and b=8", True),
        ("b=16", False),
        ("d=1", False),
    ],
)
def test_selectors(selectors: str, is_selected: bool) -> None:
    of = case("openvino:streams=4", 8, workload="swin_s3", model_args=(("img_size", 192),))
    assert Threshold.parse(f"speedup<1 if {selectors}").selects(Metric("speedup", of)) == is_selected


def test_a_comparison_has_no_workload_but_a_compiler() -> None:
    metric = Metric("rank_inversions", Scope(compiler="openvino", batch_size=8))
    assert Threshold.parse("rank_inversions>0 if compiler=openvino and b=8").selects(metric)
    assert not Threshold.parse("rank_inversions>0 if compiler=tvm").selects(metric)
