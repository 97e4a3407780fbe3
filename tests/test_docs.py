"""Check that the documentation matches the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def code_of(page: str, language: str, containing: str) -> str:
    """Return the only block of a page in this language that contains a text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    (found,) = [block for block in blocks if containing in block]
    return str(found)


def test_tables_from_the_code_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "up to date\n", done.stderr


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))]
)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", path.read_text()):
        file, _, anchor = target.partition("#")
        linked = (path.parent / file) if file else path
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}, target


def test_the_devices_of_the_docs_are_read(tmp_path: Path) -> None:
    from pytest_ngraph.machine.devices import load_inventory

    path = tmp_path / "devices.toml"
    path.write_text(code_of("docs/options.md", "toml", "[runner]"))
    assert load_inventory(path)["runner"].threads == 4


def test_the_pool_of_the_docs_is_read(tmp_path: Path) -> None:
    from pytest_ngraph.machine.devices import load_inventory

    path = tmp_path / "devices.toml"
    path.write_text(code_of("docs/cluster.md", "toml", "[orin.requires]"))
    assert load_inventory(path)["orin"].machines == ("orin-1", "orin-2", "orin-3", "orin")


def test_the_test_of_the_readme_is_collected(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=code_of("README.md", "python", "measurement"))
    result = project.runpytest("--collect-only", "-q", "--compiler=identity,openvino")
    result.stdout.fnmatch_lines(["*8 tests collected*"])
