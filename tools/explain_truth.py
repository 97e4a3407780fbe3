"""Plant changes in known modules of networks, gate them, and count how often the explanation names the module.

    python tools/explain_truth.py [--networks=NAME,...] [--compilers=NAME,...] [--rounds=1,2,3,4,unchanged]
        [--results=FILE] [--cache=DIR] [--write]

Each round is one commit of a test repository: it changes the weights of every network, and plants something behind one
layer of each (`PLANTS`), so that every case is measured beside the commit before. In the round `unchanged` only the
weights differ, and every case is explained. `--results` keeps what was found, so that a later call goes on with what is
missing. `--cache` keeps what was compiled: all rounds have the same base, which is compiled once for all calls with
that folder, and else once for each call. `--write` puts the tables into docs/explain.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

import markdown_output
from explain_trials import planted
from explain_trials.outcomes import Key, Outcome, Plant, keep, outcome, read
from gate_trials.pytest_run import output_of
from gate_trials.repository import AUTHOR, IGNORED, UNCONFIGURED

from pytest_ngraph import compilers, store
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.record import Record

PAGE = markdown_output.ROOT / "docs" / "explain.md"
COMPILERS = ("identity", "torchscript", "inductor", "onnxruntime", "openvino", "tvm", "executorch")
INI = "[pytest]\npythonpath = .\n"
TEST = """import pytest

@pytest.mark.ngraph(workload="planted:network", compiler={compilers}, model_args={{"name": "{network}"}})
def test_{network}(measurement): ...
"""
UNCHANGED = "unchanged"


PLANTS: dict[str, tuple[Plant, ...]] = {
    "resnet18": (
        Plant("layer2.0.conv1", "layer"),
        Plant("layer3.1.conv1", "reorder"),
        Plant("layer1.1.conv2", "activation"),
        Plant("layer1.0.conv1", "cast"),
    ),
    "efficientnet_b0": (
        Plant("blocks.3.1.conv_pw", "wider"),
        Plant("blocks.2.1.conv_pw", "activation"),
        Plant("blocks.1.1.conv_pw", "cast"),
        Plant("blocks.4.1.conv_pw", "reorder"),
    ),
    "deit_tiny_patch16_224": (
        Plant("blocks.5.mlp.fc1", "layer"),
        Plant("blocks.2.attn.proj", "wider"),
        Plant("blocks.8.mlp.fc1", "transpose"),
        Plant("blocks.3.attn.qkv", "activation"),
    ),
    "swin_s3_tiny_224": (
        Plant("layers.2.blocks.3.mlp.fc1", "layer"),
        Plant("layers.0.blocks.1.mlp.fc1", "cast"),
        Plant("layers.1.blocks.0.mlp.fc1", "transpose"),
        Plant("layers.0.blocks.0.attn.qkv", "reorder"),
    ),
    "convnext_atto": (
        Plant("stages.1.blocks.0.mlp.fc1", "wider"),
        Plant("stages.2.blocks.3.mlp.fc1", "reorder"),
        Plant("stages.0.blocks.1.mlp.fc1", "activation"),
        Plant("stages.1.blocks.1.mlp.fc1", "transpose"),
    ),
}
"""What each network has planted in the first round, the second and so on."""


class Repository:
    """A git repository with a test of each network.

    Args:
        folder: exists and is empty.
        names: the compilers.
        cache: where compiled models are kept.
    """

    def __init__(self, folder: Path, networks: Iterable[str], names: Sequence[str], cache: Path) -> None:
        self.folder = folder
        self._cache = cache
        self._networks = tuple(networks)
        shutil.copy(planted.__file__, folder)
        (folder / "pytest.ini").write_text(INI)
        (folder / ".gitignore").write_text(IGNORED)
        for network in self._networks:
            (folder / f"test_{network}.py").write_text(TEST.format(network=network, compilers=list(names)))
        self._git("init", "--quiet")
        self._commit({}, seed=0)

    def run(self, plants: Mapping[str, Plant], seed: int) -> list[Record]:
        """Commit these plants on top of the base, gate the commit, and return its records."""
        self._git("checkout", "--quiet", "--detach", "master")
        self._commit(plants, seed=seed)
        options = ["--ngraph-against=master", "--ngraph-inconclusive=pass", "--ngraph-explain=all"]
        output_of(self.folder, *options, f"--ngraph-cache={self._cache}", environment={})
        return list(store.read(self.folder / ".ngraph").records)

    def _commit(self, plants: Mapping[str, Plant], *, seed: int) -> None:
        nothing = {"module": "", "change": ""}
        revision = {
            network: {"seed": seed, **(plants[network]._asdict() if network in plants else nothing)}
            for network in self._networks
        }
        (self.folder / "plants.json").write_text(json.dumps(revision))
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", f"seed {seed}")

    def _git(self, *arguments: str) -> None:
        configured = ("-c", "init.defaultBranch=master", *AUTHOR)
        subprocess.run(["git", *configured, *arguments], cwd=self.folder, env=os.environ | UNCONFIGURED, check=True)


def by_compiler(outcomes: Sequence[Outcome]) -> str:
    """Return how often the module was found, by compiler, of the cases that the gate calls regressed."""
    rows = []
    for compiler in dict.fromkeys(each.compiler for each in outcomes):
        own = [each for each in outcomes if each.compiler == compiler]
        changed = [each for each in own if each.plant]
        regressed = [each for each in changed if each.verdict == "regressed"]
        explained = [each for each in regressed if each.first is not None]
        bounded = [each for each in explained if each.whole_s]
        summed = [each for each in bounded if each.parts_s]
        same = [each for each in own if not each.plant and each.first is not None]
        rows.append(
            [
                f"`{compiler}`",
                str(len(changed)),
                str(len(regressed)),
                _share([each.is_found for each in explained], len(regressed)),
                _share([each.is_all for each in bounded], len(bounded)),
                _share([each.are_all for each in summed], len(summed)),
                _share([bool(each.first) for each in same], len(same)),
                f"{100 * median(each.coverage for each in explained):.0f} %" if explained else "",
            ]
        )
    heads = ["compiler", "changed", "regressed", "module first", "is the whole", "all parts are"]
    return markdown_output.table([*heads, "named though equal", "coverage"], rows)


def not_found(outcomes: Sequence[Outcome]) -> str:
    """Return the regressed cases whose module was not first, each with what was."""
    rows = [
        [each.network, f"`{each.compiler}`", f"`{each.plant.module}`", each.plant.change, _first(each)]
        for each in outcomes
        if each.plant and each.verdict == "regressed" and not each.is_found
    ]
    return markdown_output.table(["network", "compiler", "planted in", "change", "first"], rows) if rows else ""


def _first(each: Outcome) -> str:
    if each.first is None:
        return "not explained"
    return f"`{each.first}`" if each.first else "no module surely slower"


def _share(true: Sequence[bool], of: int) -> str:
    return f"{sum(true)} of {of}" if of else ""


def tried(
    wanted: Mapping[str, Plant | None], names: Sequence[str], known: Container[Key], cache: Path, seed: int
) -> list[Outcome]:
    """Try a round: the networks of which an outcome is missing under a compiler.

    Args:
        wanted: what is planted in each network; None for nothing.
        names: the compilers.
        known: the keys of the outcomes that there are.
        cache: as in `Repository`.
    """
    missing = [each for each, plant in wanted.items() if any((each, name, plant) not in known for name in names)]
    if not missing:
        return []
    plants = {each: plant for each in missing if (plant := wanted[each])}
    with tempfile.TemporaryDirectory(prefix="ngraph-explain-") as folder:
        records = Repository(Path(folder), missing, names, cache).run(plants, seed)
    return [each for each in (outcome(record, plants) for record in records) if each]


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind, as after Ctrl-C
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rounds = [str(number + 1) for number in range(max(map(len, PLANTS.values())))]
    parser.add_argument("--networks", type=lambda text: text.split(","), default=list(PLANTS))
    parser.add_argument("--compilers", type=lambda text: text.split(","), default=list(COMPILERS))
    parser.add_argument("--rounds", type=lambda text: text.split(","), default=[*rounds, UNCHANGED])
    parser.add_argument("--results", type=Path, metavar="FILE", help="where results are kept")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where compiled models are kept for later calls")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    for name, known in (("networks", [*PLANTS]), ("rounds", [*rounds, UNCHANGED])):
        if unknown := sorted({*getattr(asked, name)} - {*known}):
            parser.error(f"--{name}: there is no {', '.join(unknown)}. Choose of {', '.join(known)}.")
    names = [name for name in asked.compilers if not compilers.missing_library(name)]
    outcomes = read(asked.results)
    with tempfile.TemporaryDirectory(prefix="ngraph-explain-cache-") as scratch:
        cache = (asked.cache or Path(scratch)).resolve()
        for seed, number in enumerate(asked.rounds, start=1):
            wanted = {each: None if number == UNCHANGED else PLANTS[each][int(number) - 1] for each in asked.networks}
            found = tried(wanted, names, outcomes, cache, seed)
            outcomes |= {each.key: each for each in found}
            if asked.results:
                keep(asked.results, found)
    text = "\n\n".join(filter(None, [by_compiler([*outcomes.values()]), not_found([*outcomes.values()])]))
    markdown_output.publish(environment(), text, "explain truth" if asked.write else "", PAGE)


if __name__ == "__main__":
    main()
