"""What of a project is sent to devices, in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from pytest_ngraph import wording
from pytest_ngraph.cluster.client.local_project import LocalProject
from pytest_ngraph.cluster.files import top
from pytest_ngraph.cluster.project import Packed, pack

MANY = 10
"""How many files a warning names."""


def listed(rootdir: Path, leave_out: Collection[Path], send: Sequence[str]) -> list[str]:
    """Return lines that list what would be sent, and what looks like a secret and would not.

    Args:
        rootdir: pytest's root folder.
        leave_out: files and folders of the project that are not sent.
        send: patterns of the files that are sent; without any, all.

    Raises:
        UsageError: the project cannot be packed.
    """
    root = top(rootdir).resolve()
    return _lines(str(root), LocalProject.read(root, leave_out, send).packed)


def listed_of_base(name: str, tree: Path, send: Sequence[str]) -> list[str]:
    """Return such lines for the base.

    Args:
        name: the base's.
        tree: the top folder of its files.
        send: as in `listed`.

    Raises:
        UsageError: it cannot be packed.
    """
    return _lines(f"the base, {name},", pack(tree, send=send))


def left_out(packed: Packed, of: str = "") -> str:
    """Return a warning that names the files that are not sent because they look like secrets.

    Args:
        packed: the archive.
        of: the base whose archive it is; empty for the project's.
    """
    named = wording.listed([f"{_shown(name)} ({reason})" for name, reason in packed.left_out.items()], MANY)
    return (
        f"not sent to devices{f', of {of}' if of else ''}, since they look like secrets: {named}. One that the "
        "benchmarks need is sent if --ngraph-send (ngraph_send) names it in full"
    )


def _lines(what: str, packed: Packed) -> list[str]:
    lines = [f"{size:>12,}  {_shown(name)}" for name, size in packed.sizes.items()]
    lines += [f"    not sent  {_shown(name)}: {reason}" for name, reason in packed.left_out.items()]
    size = sum(packed.sizes.values())
    lines.append(
        f"{what} would be sent to devices: {wording.counted(len(packed.sizes), 'file')}, {size / 2**20:.1f} MiB, "
        f"{len(packed.content) / 2**20:.1f} MiB compressed, digest {packed.digest[:12]}"
    )
    return lines


def _shown(name: str) -> str:
    """Return a file's name on one line. It may have any bytes but zeros, also such as no terminal can print."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in name)
