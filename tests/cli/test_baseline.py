from __future__ import annotations

from pathlib import Path

import pytest
from synthetic import case, failed, measured

from pytest_ngraph.cli import main
from pytest_ngraph.store import Journal, baselines


@pytest.fixture
def kept(tmp_path: Path) -> str:
    """Return the option `--store` for a store whose baseline `v1` has one run."""
    journal = Journal(tmp_path, {"processor": "Xeon", "fingerprint": "abc"})
    journal.append(measured(case("openvino", 8), 0.25))
    baselines.keep(tmp_path, "v1", journal.id)
    return f"--store={tmp_path}"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["baseline", *arguments]) == 0
    return capsys.readouterr().out


def test_list_and_show(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "list", kept).startswith("v1                      1 run, 1 case, ")
    shown = printed(capsys, "show", "v1", kept)
    assert "Xeon, abc" in shown
    assert "resnet18-openvino-b8-xeon" in shown
    assert "250 ms" in shown


def test_an_empty_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "list", f"--store={tmp_path}").endswith("pytest --ngraph-save=NAME makes one.\n")


def test_bless_and_undo(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is anchored" in printed(capsys, "bless", "v1", kept)
    assert "anchored" in printed(capsys, "list", kept)
    assert "is no longer anchored" in printed(capsys, "bless", "--undo", "v1", kept)
    assert "anchored" not in printed(capsys, "list", kept)


def test_export_and_import(kept: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "release.jsonl"
    assert "1 run of" in printed(capsys, "export", "v1", str(file), kept)
    assert "baseline release: 1 run from" in printed(capsys, "import", str(file), kept)
    assert "baseline other: 1 run from" in printed(capsys, "import", str(file), "other", kept)
    assert main(["baseline", "import", str(file), kept]) == 2
    assert capsys.readouterr().err.startswith("pytest-ngraph: baseline release exists.")


@pytest.mark.parametrize("name", ["release-1.4", "release-1.4.jsonl"])
def test_an_imported_baseline_keeps_its_dots(
    kept: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    printed(capsys, "export", "v1", str(tmp_path / name), kept)
    assert "baseline release-1.4: 1 run" in printed(capsys, "import", str(tmp_path / name), kept)


def test_remove(kept: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "bless", "v1", kept)
    assert main(["baseline", "remove", "v1", kept]) == 2
    assert "release it: pytest-ngraph baseline bless --undo v1" in capsys.readouterr().err
    printed(capsys, "bless", "--undo", "v1", kept)
    assert printed(capsys, "remove", "v1", kept) == "baseline v1 is removed\n"
    assert printed(capsys, "list", kept).startswith("no baselines in ")
    assert len(list(tmp_path.glob("*.jsonl"))) == 1, "the run stays"
    assert main(["baseline", "remove", "v1", kept]) == 2
    assert "unknown baseline 'v1'" in capsys.readouterr().err


def test_an_error_of_the_system_is_one_message(
    kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: object, **keywords: object) -> None:
        raise PermissionError(13, "Permission denied", "/store/.anchored")

    monkeypatch.setattr(baselines, "bless", refused)
    assert main(["baseline", "bless", "v1", kept]) == 2
    assert capsys.readouterr().err == "pytest-ngraph: [Errno 13] Permission denied: '/store/.anchored'\n"


def night(store: Path, fingerprint: str = "abc", **seconds: float) -> str:
    """Store a run of openvino with these seconds at each batch size, and return its id."""
    journal = Journal(store, {"fingerprint": fingerprint, "python": "3.12"})
    for size, value in seconds.items():
        journal.append(measured(case("openvino", int(size[1:])), value))
    journal.end(whole=True)
    journal.close()
    return journal.id


def test_a_stored_run_is_judged_without_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    option = f"--store={tmp_path}"
    first = night(tmp_path, b1=0.1, b2=0.1, b4=0.1)
    baselines.keep(tmp_path, "v1", first)
    second = night(tmp_path, b1=0.1, b2=0.17, b8=0.1)
    assert main(["baseline", "compare", "v1", option]) == 1
    slower, missing, counts = capsys.readouterr().out.splitlines()
    assert slower.startswith("resnet18-openvino-b2-xeon regressed: 70.0 % slower than baseline v1 in time, without")
    assert missing == "not measured, but in baseline v1: resnet18-openvino-b4-xeon"
    assert counts == f"run {second} against baseline v1 (1 run): 1 unchanged, 1 regressed, 1 new"
    assert printed(capsys, "compare", "v1", first, option).endswith(" against baseline v1 (1 run): 3 unchanged\n")
    assert main(["baseline", "compare", "latest", option]) == 1
    assert f"run {second} against run {first}" in capsys.readouterr().out
    assert "regressed" not in printed(capsys, "compare", "v1", "--margin=90%", option)
    night(tmp_path, fingerprint="def", b1=0.1)
    assert main(["baseline", "compare", "v1", option]) == 2
    assert "was measured on another machine" in capsys.readouterr().err
    assert "1 unchanged" in printed(capsys, "compare", "v1", "--foreign-baseline", option)


def test_a_stored_run_whose_cases_failed_is_not_as_good_as_the_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A case that a selection left out is only listed; one that crashed has no verdict, and would pass as well."""
    option = f"--store={tmp_path}"
    baselines.keep(tmp_path, "v1", night(tmp_path, b1=0.1, b2=0.1, b4=0.1))
    for measured_sizes, counts in (((1,), "1 unchanged"), ((), "nothing was measured")):
        journal = Journal(tmp_path, {"fingerprint": "abc", "python": "3.12"})
        for size in measured_sizes:
            journal.append(measured(case("openvino", size), 0.1))
        journal.append(failed(case("openvino", 2)))
        journal.close()
        assert main(["baseline", "compare", "v1", option]) == 1
        shown = capsys.readouterr().out.splitlines()
        assert shown[0] == "failed, but measured in baseline v1: resnet18-openvino-b2-xeon"
        assert shown[1].endswith("resnet18-openvino-b4-xeon")
        assert shown[-1].endswith(f"(1 run): {counts}")
