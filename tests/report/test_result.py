from __future__ import annotations

import json
import math
import re
from pathlib import Path

from judged import judged, result, verdicts
from synthetic import case, measured

from pytest_ngraph.case import Case
from pytest_ngraph.report.result import SCHEMA

DOCS = Path(__file__).parents[2] / "docs" / "gate-in-ci.md"


def test_the_data_have_the_keys_that_are_documented() -> None:
    data = result(*verdicts()).to_dict()
    text = DOCS.read_text().partition("## The data")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE))
    assert list(rows) == list(data)
    assert f"`schema` is {SCHEMA}" in text
    for key in ("verdicts", "results"):
        documented = set(re.findall(r"`(\w+)`", rows[key])) - {"value", "low", "high"}
        assert documented <= set(data[key][0]), key


def test_verdicts_as_data() -> None:
    data = json.loads(json.dumps(result(*verdicts()).to_dict(), allow_nan=False))
    assert data["counts"] == {
        "unchanged": 1,
        "regressed": 2,
        "inconclusive": 1,
        "improved": 1,
        "new": 1,
        "missing": 1,
    }
    slow = next(one for one in data["verdicts"] if one["id"] == "slow-openvino-b8-xeon")
    assert slow["name"] == "regressed"
    assert slow["ratio"]["low"] < slow["ratio"]["value"] == 1.03 < slow["ratio"]["high"]
    assert Case.from_dict(slow["case"]) == case("openvino", 8, workload="slow")
    broken = next(one for one in data["results"] if one["id"] == "broken-tvm-b8-xeon")
    assert (broken["outcome"], broken["throughput"]) == ("failed", None)
    assert broken["problem"] == "failed in compile: RuntimeError: no such operator"


def test_what_is_infinite_is_null() -> None:
    of = case("openvino", 8, workload="a")
    data = result(judged("inconclusive", "a", detectable=math.inf), records=(measured(of, 0.02, rounds=2),)).to_dict()
    assert data["verdicts"][0]["detectable"] is None
    assert data["results"][0]["throughput"]["value"] == 400
    assert data["results"][0]["throughput"]["high"] is None
