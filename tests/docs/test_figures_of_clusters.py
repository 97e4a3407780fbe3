"""The figures that the pages about clusters give are those of the code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pages import ROOT

from pytest_ngraph.cli import cluster, fleet
from pytest_ngraph.cluster import answers, audit, certificate, certs, guard, project, registry, secrets, security
from pytest_ngraph.cluster.client import parts, site, watch
from pytest_ngraph.cluster.device import condition, device, folder, policy, projects, quiet, quotas, unit
from pytest_ngraph.session.options import ClusterOptions, ResumeOptions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KIB, MIB, GIB = 2**10, 2**20, 2**30
WORDS = {2: "two", 4: "four", 5: "five", 7: "seven", 10: "ten"}
KEEPS = quotas.Quotas()
HOLDS = {
    "docs/cluster.md": [
        "The machines know each other by these names. Each has Python {python} or later",
        f"a clock that is more than {fleet.NOTABLE_SKEW_S:g} s off",
        f"for a minute, or for {site.BUSY_S / 60:g} as long as the device measures",
        f"first waits {WORDS[round(policy.COOLING_S / 60)]} minutes to cool down",
        f"`--keep-results` ({KEEPS.results_bytes / GIB:g} GiB), `--keep-projects` ({KEEPS.projects_bytes / GIB:g} GiB)",
        f"`--keep-compiled` ({KEEPS.compiled_bytes / GIB:g} GiB",
        f"From {audit.MOST_BYTES / MIB:g} MiB on the log is begun again",
        f"of data over {secrets.START_BYTES / MIB:g} MiB that are not text",
        f"one archive of at most {project.LIMIT_BYTES / MIB:g} MiB",
        f"in parts of {parts.PART_BYTES / KIB:g} KiB, each of which has {parts.PART_S:g} s",
        f"as long as a part arrives every {quiet.LEASE_S:g} s",
        f"when {WORDS[projects.KEPT]} newer projects have come",
        f"it is named after {watch.SILENT_S:g} s",
        f"after {watch.AWAY_S / 60:g} minutes its cases are skipped",
        f"(`--ngraph-retries={ResumeOptions().retries}`)",
        f"After {WORDS[round(unit.STOP_S / 60)]} minutes it gives back what it measures",
        f"Certificates are valid for {WORDS[certs.CERTIFICATE_DAYS // 365]} years",
        f"the authority for {WORDS[certs.AUTHORITY_DAYS // 365]}",
        f"During the last {certificate.EXPIRES_SOON.days} days, commands and runs warn",
        f"{security.PORT} of the head",
    ],
    "docs/cluster-recipes.md": [
        f"{WORDS[420 // 60]} minutes before the job's time is over: it takes {WORDS[round(unit.STOP_S / 60)]} at most",
    ],
    "docs/security.md": [
        f"a message of over {guard.LIMIT_BYTES / MIB:g} MiB from a device or observer",
        f"of over {guard.PLAIN_BYTES / MIB:g} MiB without what is passed on unread",
        f"one long text, and up to {answers.PARTS:,} parts in it",
        f"reports about itself may have {guard.REPORT_BYTES / KIB:g} KiB and {guard.REPORT_PARTS:,} parts",
        f"At most {registry.DEVICES} devices are there with the same name",
        f"read from `${cluster.PASSPHRASE}`",
    ],
}


def text_of(page: str) -> str:
    """Return a page's text, however its lines are broken."""
    return " ".join((ROOT / page).read_text().split())


@pytest.mark.parametrize(("page", "words"), [(page, words) for page, each in HOLDS.items() for words in each])
def test_a_page_gives_the_figure_of_the_code(page: str, words: str) -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert words.format(python=needed.removeprefix(">=")) in text_of(page)


def test_what_is_half_a_minute_or_a_minute_in_words() -> None:
    page = text_of("docs/cluster.md")
    assert "joins again with a new fingerprint within half a minute" in page
    assert condition.EVERY_S == 30.0
    assert "A session that begins before waits for that: for a minute" in page
    assert site.SETTLE_S == 60.0
    assert "waits up to 300 s for it first" in page
    assert ClusterOptions().wait_s == 0.0


def test_a_job_has_more_time_to_leave_than_systemd_gives() -> None:
    assert "--signal=B:TERM@420" in text_of("docs/cluster-recipes.md")
    assert unit.STOP_S + unit.MARGIN_S + device.FETCH_S < 420


def test_where_a_device_keeps_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert "on its own disk, in `~/.local/state/pytest-ngraph/device-NAME`" in text_of("docs/cluster.md")
    assert folder.default_folder("NAME") == Path("~/.local/state/pytest-ngraph/device-NAME").expanduser()
